/** The field for a pattern of elements, and the buttons beside it. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "../../../parts/button.tsx";
import { Field } from "../../../parts/field.tsx";

export interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  /** The name of the button. */
  readonly action?: string;
  readonly onChange: (value: string) => void;
  readonly children?: ComponentChildren;
}

export function FilterField({
  label,
  value,
  placeholder = "",
  action = "Search",
  onChange,
  children,
}: FilterFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(input.current?.value ?? "");
      }}
    >
      <Field label={label}>
        <input ref={input} key={value} defaultValue={value} placeholder={placeholder} spellcheck={false} />
      </Field>
      <Button type="submit">{action}</Button>
      {children}
    </form>
  );
}
