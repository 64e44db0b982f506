/** A button that does something on the server: it asks before it deletes, shows that it works, and says how it went. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { textOf } from "../api/load.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { toast } from "./toast.tsx";

export interface ActionProps {
  readonly kind?: ButtonProps["kind"];
  readonly disabled?: boolean;
  /** A question; absent: the action runs at once. */
  readonly confirm?: ComponentChildren;
  /** A text that it resolves with is shown to the user. */
  readonly run: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

export function Action({ kind = "plain", disabled = false, confirm, run, children }: ActionProps) {
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const start = async (): Promise<void> => {
    setAsking(false);
    setBusy(true);
    try {
      const note = await run();
      if (typeof note === "string") toast(note);
    } catch (error) {
      toast(textOf(error), { isError: true });
    }
    setBusy(false);
  };
  return (
    <>
      <Button
        kind={kind}
        disabled={disabled}
        isBusy={isBusy}
        onClick={() => (confirm === undefined ? void start() : setAsking(true))}
      >
        {children}
      </Button>
      {isAsking && (
        <Dialog
          title={children}
          onClose={() => setAsking(false)}
          actions={
            <Button kind={kind === "danger" ? "danger" : "main"} onClick={() => void start()}>
              {children}
            </Button>
          }
        >
          {confirm}
        </Dialog>
      )}
    </>
  );
}
