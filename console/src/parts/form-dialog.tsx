/** A button that opens a small form: it shows why the form was refused, and closes when it was accepted. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { textOf } from "../api/load.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorBox } from "./states.tsx";
import { toast } from "./toast.tsx";

export interface FormDialogProps {
  /** Of the button, and the title of the dialog. */
  readonly title: string;
  readonly kind?: ButtonProps["kind"];
  /** The button that sends the form; the title if it is absent. */
  readonly submit?: string;
  /** A text that it resolves with is shown to the user. */
  readonly run: (fields: FormData) => Promise<unknown>;
  /** Fields with names. */
  readonly children: ComponentChildren;
}

export function FormDialog({ title, kind = "plain", submit = title, run, children }: FormDialogProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const send = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const note = await run(new FormData(form));
      if (typeof note === "string") toast(note);
      setOpen(false);
    } catch (failure) {
      setError(textOf(failure));
    }
    setBusy(false);
  };
  return (
    <>
      <Button kind={kind} onClick={() => setOpen(true)}>
        {title}
      </Button>
      {isOpen && (
        <Dialog
          title={title}
          onClose={() => {
            setOpen(false);
            setError(undefined);
          }}
          actions={
            <Button type="submit" kind="main" form={id} disabled={isBusy}>
              {submit}
            </Button>
          }
        >
          <form
            id={id}
            onSubmit={(event) => {
              event.preventDefault();
              void send(event.currentTarget);
            }}
          >
            {children}
            {error !== undefined && <ErrorBox error={error} />}
          </form>
        </Dialog>
      )}
    </>
  );
}

/** A field of a form as text without surrounding blanks; undefined if it is empty. */
export function fieldText(fields: FormData, name: string): string | undefined {
  const text = `${fields.get(name) ?? ""}`.trim();
  return text === "" ? undefined : text;
}
