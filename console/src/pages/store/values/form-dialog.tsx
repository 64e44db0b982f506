/** A dialog with fields for bytes, and one action. */
import { useState } from "preact/hooks";
import { Action } from "../../../parts/action.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import type { Bytes } from "./bytes.ts";
import { BytesField } from "./bytes-field.tsx";

export interface FormField {
  readonly label: string;
  readonly start?: Bytes;
  readonly isLong?: boolean;
  readonly hint?: string;
}

export interface FormDialogProps {
  readonly title: string;
  /** The name of the action. */
  readonly action: string;
  readonly fields: readonly FormField[];
  /** Gets the values in the order of the fields. A text that it resolves with is shown. The dialog closes after a success. */
  readonly submit: (values: readonly Bytes[]) => Promise<unknown>;
  readonly onClose: () => void;
}

export function FormDialog({ title, action, fields, submit, onClose }: FormDialogProps) {
  const [values, setValues] = useState<readonly (Bytes | undefined)[]>(() => fields.map(({ start = "" }) => start));
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <Action
          kind="main"
          disabled={values.includes(undefined)}
          run={async () => {
            const note = await submit(values.map((value) => value ?? ""));
            onClose();
            return note;
          }}
        >
          {action}
        </Action>
      }
    >
      {fields.map((field, index) => (
        <BytesField
          key={field.label}
          {...field}
          onChange={(value) => setValues((old) => old.map((one, at) => (at === index ? value : one)))}
        />
      ))}
    </Dialog>
  );
}
