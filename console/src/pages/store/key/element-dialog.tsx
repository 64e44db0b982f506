/** One element of a value: its bytes, and what can be done with it. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Action } from "../../../parts/action.tsx";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { bytesText } from "../../../parts/format.ts";
import type { Bytes } from "../values/bytes.ts";
import { BytesDialog, type FormField } from "../values/bytes-dialog.tsx";
import { BytesView } from "../values/bytes-view.tsx";

export interface ElementDialogProps {
  readonly title: string;
  /** The name of what is shown: Value, Member. */
  readonly label: string;
  readonly bytes: Bytes;
  /** Above the bytes. */
  readonly children?: ComponentChildren;
  /** Absent: it cannot be changed. */
  readonly edit?: {
    readonly fields: readonly FormField[];
    readonly submit: (values: readonly Bytes[]) => Promise<unknown>;
  };
  readonly remove: { readonly confirm: ComponentChildren; readonly run: () => Promise<unknown> };
  readonly onClose: () => void;
}

export function ElementDialog({ title, label, bytes, children, edit, remove, onClose }: ElementDialogProps) {
  const [isEditing, setEditing] = useState(false);
  if (isEditing && edit !== undefined)
    return <BytesDialog title={title} action="Save" fields={edit.fields} submit={edit.submit} onClose={onClose} />;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Action
            kind="danger"
            confirm={remove.confirm}
            run={async () => {
              const note = await remove.run();
              onClose();
              return note;
            }}
          >
            Remove
          </Action>
          {edit !== undefined && (
            <Button kind="main" onClick={() => setEditing(true)}>
              Edit
            </Button>
          )}
        </>
      }
    >
      {children}
      <p class="hint">
        {label}, {bytesText(bytes.length)}
      </p>
      <BytesView label={label} bytes={bytes} />
    </Dialog>
  );
}
