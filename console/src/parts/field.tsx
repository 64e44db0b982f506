/** A labelled field of a form. */
import { type ComponentChildren, cloneElement, type VNode } from "preact";
import { useId } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  /** Below the field. */
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  /** An input, a select or a text area: gets the id of the label. */
  readonly children: VNode<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const describes = hint === undefined && error === undefined ? {} : { "aria-describedby": `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, ...describes, ...(error !== undefined && { "aria-invalid": true }) })}
      {(hint !== undefined || error !== undefined) && (
        <span id={`${id}-hint`} class={error === undefined ? "hint" : "hint bad"}>
          {error ?? hint}
        </span>
      )}
    </div>
  );
}
