/** The choice of a namespace of an index: of the first ones, or of the first that begin with a text. */
import { useRef, useState } from "preact/hooks";
import { useLoad } from "../../api/load.ts";
import { Field } from "../../parts/field.tsx";
import { namespacePage, namespaceText } from "./api.ts";

export interface NamespaceFieldProps {
  readonly index: string;
  readonly value: string;
  readonly onChange: (namespace: string) => void;
}

const OPTIONS_MAX = 50;

export function NamespaceField({ index, value, onChange }: NamespaceFieldProps) {
  const [prefix, setPrefix] = useState("");
  const { value: page } = useLoad(
    (signal) => namespacePage(index, { prefix, count: OPTIONS_MAX }, signal),
    [index, prefix],
  );
  const isCut = page !== undefined && (page.cursor !== undefined || page.rows.length > OPTIONS_MAX);
  // It stays while its text finds fewer.
  const isLong = useRef(false);
  isLong.current ||= isCut;
  // An address may name a namespace that does not exist, or no longer.
  const names = new Set([value, ...(page?.rows.slice(0, OPTIONS_MAX) ?? []).map(({ name }) => name)]);
  return (
    <>
      {isLong.current && (
        <Field label="Namespaces that begin with">
          {/* Of no form: Enter must not send that of a query. */}
          <input form="" value={prefix} onInput={({ currentTarget }) => setPrefix(currentTarget.value)} />
        </Field>
      )}
      <Field label="Namespace" hint={isCut ? `The first ${OPTIONS_MAX}` : undefined}>
        <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {[...names].map((name) => (
            <option key={name} value={name}>
              {namespaceText(name)}
            </option>
          ))}
        </select>
      </Field>
    </>
  );
}
