/** A field for any bytes: as text, in hex where text would lose some of them, or from a file. */
import { useId, useState } from "preact/hooks";
import { bytesText } from "../../../parts/format.ts";
import { type Bytes, bytesOfArray, bytesOfHex, bytesOfText, hexOfBytes, textOfBytes } from "./bytes.ts";

export interface BytesFieldProps {
  readonly label: string;
  /** Where the field starts. */
  readonly start?: Bytes;
  /** Undefined while what is typed is not bytes in hex. */
  readonly onChange: (bytes: Bytes | undefined) => void;
  readonly hint?: string;
  /** Several lines; such a value may also come from a file. */
  readonly isLong?: boolean;
}

/** A longer value is not typed: it is replaced by a file. */
export const TYPED_BYTES_MAX = 256 * 1_024;

type Form = "text" | "hex" | "file";

export function BytesField({ label, start = "", onChange, hint, isLong = false }: BytesFieldProps) {
  const id = useId();
  const [form, setForm] = useState<Form>(() => firstForm(start, isLong));
  const [typed, setTyped] = useState(() => {
    if (start.length > TYPED_BYTES_MAX) return "";
    return typableText(start, isLong) ?? hexOfBytes(start);
  });
  const bytes = form === "hex" ? bytesOfHex(typed) : bytesOfText(typed);
  const asText = bytes === undefined ? undefined : typableText(bytes, isLong);
  const type = (text: string): void => {
    setTyped(text);
    onChange(form === "hex" ? bytesOfHex(text) : bytesOfText(text));
  };
  const change = (next: Form): void => {
    if (next === form) return;
    setForm(next);
    if (next === "file") {
      onChange(undefined);
      return;
    }
    const kept = form === "file" ? "" : (bytes ?? "");
    setTyped(next === "hex" ? hexOfBytes(kept) : (typableText(kept, isLong) ?? ""));
    onChange(kept);
  };
  const common = {
    id,
    value: typed,
    spellcheck: false,
    autocomplete: "off",
    "aria-invalid": bytes === undefined,
    "aria-describedby": `${id}-hint`,
  };
  const note = form === "hex" && bytes === undefined ? "Type pairs of hex digits, such as 00 ff" : hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="bytes-field">
        {form === "file" ? (
          <input
            id={id}
            type="file"
            aria-describedby={`${id}-hint`}
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              void file?.arrayBuffer().then((buffer) => onChange(bytesOfArray(new Uint8Array(buffer))));
            }}
          />
        ) : isLong ? (
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
          {isLong && <option value="file">File</option>}
        </select>
      </div>
      <span id={`${id}-hint`} class={bytes === undefined ? "hint bad" : "hint"}>
        {form === "file" && start.length > TYPED_BYTES_MAX
          ? `The value has ${bytesText(start.length)}: too long to type here, a file replaces it`
          : note}
      </span>
    </div>
  );
}

function firstForm(start: Bytes, isLong: boolean): Form {
  if (start.length > TYPED_BYTES_MAX) return isLong ? "file" : "hex";
  return typableText(start, isLong) === undefined ? "hex" : "text";
}

/** The text of bytes that an element keeps as they are; undefined for others. An element changes line ends and NUL. */
export function typableText(bytes: Bytes, isLong: boolean): string | undefined {
  if (isLong ? /[\r\0]/.test(bytes) : /[\r\n\0]/.test(bytes)) return undefined;
  return textOfBytes(bytes);
}
