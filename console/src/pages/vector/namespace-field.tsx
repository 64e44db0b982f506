/** The choice of a namespace of an index. */
import { useLoad } from "../../api/load.ts";
import { Field } from "../../parts/field.tsx";
import { infoOf, namespaceText } from "./api.ts";

export interface NamespaceFieldProps {
  readonly index: string;
  readonly value: string;
  readonly onChange: (namespace: string) => void;
}

export function NamespaceField({ index, value, onChange }: NamespaceFieldProps) {
  const { value: info } = useLoad((signal) => infoOf(index, signal), [index]);
  // An address may name a namespace that does not exist, or no longer.
  const names = new Set([...Object.keys(info?.namespaces ?? {}), value]);
  return (
    <Field label="Namespace">
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {[...names].map((name) => (
          <option key={name} value={name}>
            {namespaceText(name)}
          </option>
        ))}
      </select>
    </Field>
  );
}
