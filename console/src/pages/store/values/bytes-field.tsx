/** A field for any bytes: as text, or in hex where text would lose some of them. */
import { useId, useState } from "preact/hooks";
import { type Bytes, bytesOfHex, bytesOfText, hexOfBytes, textOfBytes } from "./bytes.ts";

export interface BytesFieldProps {
  readonly label: string;
  /** Where the field starts. */
  readonly start?: Bytes;
  /** Undefined while what is typed is not bytes in hex. */
  readonly onChange: (bytes: Bytes | undefined) => void;
  readonly hint?: string;
  /** Several lines. */
  readonly isLong?: boolean;
}

type Form = "text" | "hex";

export function BytesField({ label, start = "", onChange, hint, isLong = false }: BytesFieldProps) {
  const id = useId();
  const [form, setForm] = useState<Form>(() => (typableText(start, isLong) === undefined ? "hex" : "text"));
  const [typed, setTyped] = useState(() => typableText(start, isLong) ?? hexOfBytes(start));
  const bytes = form === "hex" ? bytesOfHex(typed) : bytesOfText(typed);
  const asText = bytes === undefined ? undefined : typableText(bytes, isLong);
  const type = (text: string): void => {
    setTyped(text);
    onChange(form === "hex" ? bytesOfHex(text) : bytesOfText(text));
  };
  const change = (next: Form): void => {
    if (bytes === undefined || next === form) return;
    setForm(next);
    setTyped(next === "hex" ? hexOfBytes(bytes) : (asText ?? ""));
  };
  const common = {
    id,
    value: typed,
    spellcheck: false,
    autocomplete: "off",
    "aria-invalid": bytes === undefined,
    "aria-describedby": `${id}-hint`,
  };
  const note = bytes === undefined ? "Type pairs of hex digits, such as 00 ff" : hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="bytes-field">
        {isLong ? (
          <textarea {...common} rows={6} onInput={({ currentTarget }) => type(currentTarget.value)} />
        ) : (
          <input {...common} onInput={({ currentTarget }) => type(currentTarget.value)} />
        )}
        <select
          aria-label={`Form of ${label}`}
          value={form}
          onChange={({ currentTarget }) => change(currentTarget.value as Form)}
        >
          <option value="text" disabled={form === "hex" && asText === undefined}>
            Text
          </option>
          <option value="hex">Hex</option>
        </select>
      </div>
      <span id={`${id}-hint`} class={bytes === undefined ? "hint bad" : "hint"}>
        {note}
      </span>
    </div>
  );
}

/** The text of bytes that an element keeps as they are; undefined for others. An element changes line ends and NUL. */
export function typableText(bytes: Bytes, isLong: boolean): string | undefined {
  if (isLong ? /[\r\0]/.test(bytes) : /[\r\n\0]/.test(bytes)) return undefined;
  return textOfBytes(bytes);
}
