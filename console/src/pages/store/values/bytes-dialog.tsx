/** A dialog with fields for bytes, and one action. */
import { useState } from "preact/hooks";
import { Button } from "../../../parts/button.tsx";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import type { Bytes } from "./bytes.ts";
import { BytesField } from "./bytes-field.tsx";

export interface FormField {
  readonly label: string;
  readonly start?: Bytes;
  readonly isLong?: boolean;
  readonly hint?: string;
}

export interface BytesFormProps {
  readonly title: string;
  /** The name of the action. */
  readonly action: string;
  readonly fields: readonly FormField[];
  /** Gets the values in the order of the fields. A text that it resolves with is shown. The dialog closes after a success. */
  readonly submit: (values: readonly Bytes[]) => Promise<unknown>;
}

export function BytesDialog({ title, action, fields, submit, onClose }: BytesFormProps & { onClose: () => void }) {
  const [values, setValues] = useState<readonly (Bytes | undefined)[]>(() => fields.map(({ start = "" }) => start));
  return (
    <FormDialog
      title={title}
      submit={action}
      isReady={!values.includes(undefined)}
      run={() => submit(values.map((value) => value ?? ""))}
      onClose={onClose}
    >
      {fields.map((field, index) => (
        <BytesField
          key={field.label}
          {...field}
          onChange={(value) => setValues((old) => old.map((one, at) => (at === index ? value : one)))}
        />
      ))}
    </FormDialog>
  );
}

/** A button with the title of the dialog that it opens. */
export function BytesFormButton(form: BytesFormProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{form.title}</Button>
      {isOpen && <BytesDialog {...form} onClose={() => setOpen(false)} />}
    </>
  );
}
