/** Forms in dialogs: they show why they were refused, and close when they were accepted. Enter in a field sends them. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { textOf } from "../api/load.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorBox } from "./states.tsx";
import { toast } from "./toast.tsx";

export interface FormDialogProps {
  readonly title: string;
  /** The button that sends the form. */
  readonly submit: string;
  /** Whether the form can be sent. */
  readonly isReady?: boolean;
  /** A text that it resolves with is shown to the user. */
  readonly run: (fields: FormData) => Promise<unknown>;
  readonly onClose: () => void;
  /** Fields; those with names are in the argument of `run`. */
  readonly children: ComponentChildren;
}

export function FormDialog({ title, submit, isReady = true, run, onClose, children }: FormDialogProps) {
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const send = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const note = await run(new FormData(form));
      if (typeof note === "string") toast(note);
      onClose();
    } catch (failure) {
      setError(textOf(failure));
    }
    setBusy(false);
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <Button type="submit" kind="main" form={id} disabled={!isReady} isBusy={isBusy}>
          {submit}
        </Button>
      }
    >
      <form
        id={id}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy && isReady) void send(event.currentTarget);
        }}
      >
        {children}
        {error !== undefined && <ErrorBox error={error} />}
      </form>
    </Dialog>
  );
}

export interface FormButtonProps {
  /** Of the button, and the title of the dialog. */
  readonly title: string;
  readonly kind?: ButtonProps["kind"];
  /** The button that sends the form; the title if it is absent. */
  readonly submit?: string;
  readonly run: FormDialogProps["run"];
  readonly children: ComponentChildren;
}

/** A button that opens a small form. */
export function FormButton({ title, kind = "plain", submit = title, run, children }: FormButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind={kind} onClick={() => setOpen(true)}>
        {title}
      </Button>
      {isOpen && (
        <FormDialog title={title} submit={submit} run={run} onClose={() => setOpen(false)}>
          {children}
        </FormDialog>
      )}
    </>
  );
}

/** A field of a form as text without surrounding blanks; undefined if it is empty. */
export function fieldText(fields: FormData, name: string): string | undefined {
  const text = `${fields.get(name) ?? ""}`.trim();
  return text === "" ? undefined : text;
}
