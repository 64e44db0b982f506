/** Filters of a list, which are in the query of the page's address, so that a view can be linked. */
import "./filters.css";
import { useEffect, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Button } from "./button.tsx";
import { Field } from "./field.tsx";

export interface FilterField {
  /** In the query. */
  readonly name: string;
  readonly label: string;
  /** `time`: Unix ms in the query. A list of words: a choice. Absent: text. */
  readonly kind?: "time" | "number" | readonly (readonly [value: string, label: string])[];
  readonly placeholder?: string;
  /** Shown only with the others that are rarely used. */
  readonly isRare?: boolean;
}

/** The values of these filters in the address; filters without a value are absent. */
export function useFilters(fields: readonly FilterField[]): Readonly<Record<string, string>> {
  const { query } = useLocation();
  return Object.fromEntries(
    fields.flatMap(({ name }) => {
      const value = query[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
}

/** Returns a function that changes the query of the address: values by name, undefined removes one. */
export function useQueryChange(): (changes: Readonly<Record<string, string | undefined>>) => void {
  const { path, query, route } = useLocation();
  return (changes) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === "") next.delete(name);
      else next.set(name, value);
    }
    const text = next.toString();
    route(text === "" ? path : `${path}?${text}`, true);
  };
}

export function Filters({ label, fields }: { label: string; fields: readonly FilterField[] }) {
  const values = useFilters(fields);
  const change = useQueryChange();
  const frequent = fields.filter(({ isRare }) => isRare !== true);
  const rare = fields.filter(({ isRare }) => isRare === true);
  const isRareUsed = rare.some(({ name }) => values[name] !== undefined);
  const form = useRef<HTMLFormElement>(null);
  // The fields keep their elements, and so the keyboard, when the address changes.
  useEffect(() => {
    for (const { name, kind } of fields) {
      const element = form.current?.elements.namedItem(name);
      if (!(element instanceof HTMLInputElement || element instanceof HTMLSelectElement)) continue;
      element.value = kind === "time" ? localText(values[name] ?? "") : (values[name] ?? "");
    }
  }, [JSON.stringify(values)]);
  return (
    <form
      role="search"
      aria-label={label}
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        change(readForm(event.currentTarget, fields));
      }}
    >
      <div class="filters">
        {frequent.map((field) => (
          <FilterInput key={field.name} field={field} />
        ))}
        <Button type="submit">Filter</Button>
        {Object.keys(values).length > 0 && (
          <Button kind="quiet" onClick={() => change(Object.fromEntries(fields.map(({ name }) => [name, undefined])))}>
            Clear
          </Button>
        )}
      </div>
      {rare.length > 0 && (
        <details class="more-filters" open={isRareUsed}>
          <summary>More filters</summary>
          <div class="filters">
            {rare.map((field) => (
              <FilterInput key={field.name} field={field} />
            ))}
          </div>
        </details>
      )}
    </form>
  );
}

function FilterInput({ field: { name, label, kind, placeholder } }: { field: FilterField }) {
  if (typeof kind === "object")
    return (
      <Field label={label}>
        <select name={name} onChange={({ currentTarget }) => currentTarget.form?.requestSubmit()}>
          {kind.map(([word, text]) => (
            <option key={word} value={word}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    );
  const shared = { name, placeholder, spellcheck: false, autocomplete: "off" } as const;
  return (
    <Field label={label}>
      {kind === "time" ? (
        <input {...shared} type="datetime-local" step={1} />
      ) : (
        <input {...shared} inputMode={kind === "number" ? "numeric" : "text"} />
      )}
    </Field>
  );
}

function readForm(form: HTMLFormElement, fields: readonly FilterField[]): Record<string, string | undefined> {
  const data = new FormData(form);
  return Object.fromEntries(
    fields.map(({ name, kind }) => {
      const text = `${data.get(name) ?? ""}`.trim();
      const ms = kind === "time" && text !== "" ? new Date(text).getTime() : Number.NaN;
      return [name, kind === "time" ? (Number.isNaN(ms) ? undefined : `${ms}`) : text];
    }),
  );
}

/** Unix ms as the text of a `datetime-local` input. */
function localText(ms: string): string {
  if (!/^\d{1,15}$/.test(ms)) return "";
  const date = new Date(Number(ms) - new Date(Number(ms)).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19);
}
