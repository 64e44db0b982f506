/**
 * The filter of a query: rows of conditions make its text, and it can be typed. Typing makes the rows a part of the text, so
 * that nothing is lost; rows that follow are added to it. An error of larder is marked at its place in the text.
 */
import "./filter.css";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../../parts/button.tsx";
import { Field } from "../../../parts/field.tsx";
import { type Condition, errorPlace, type FilterParts, filterOperators, filterText } from "./filter-text.ts";

/** A filter that larder has refused. */
export interface RefusedFilter {
  readonly filter: string;
  readonly error: string;
}

export interface FilterFieldProps {
  /** Of the text, in the form around it. */
  readonly name: string;
  readonly refused: RefusedFilter | undefined;
  /** Fields to choose from. */
  readonly suggestions: readonly string[];
}

const NEW: Condition = { field: "", words: "=", value: "" };

const placeholders = {
  literal: "Oslo, 100000, true or '5'",
  string: "?slo*",
  list: "Oslo, Bergen",
  none: "",
} as const;

export function FilterField({ name, refused, suggestions }: FilterFieldProps) {
  const [parts, setParts] = useState<FilterParts>({ typed: "", conditions: [], joint: "AND" });
  const input = useRef<HTMLInputElement>(null);
  const text = filterText(parts);
  const shown = refused?.filter === text ? refused : undefined;
  const place = shown === undefined ? undefined : errorPlace(shown.error, text);
  // The keyboard goes to the place.
  useEffect(() => {
    if (place === undefined) return;
    input.current?.focus();
    input.current?.setSelectionRange(place.start, place.end);
  }, [refused]);
  return (
    <div class="filter">
      <Field label="Filter" hint="Such as: city = 'Oslo' AND population >= 100000" error={shown?.error}>
        <input
          ref={input}
          name={name}
          value={text}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => setParts({ ...parts, typed: currentTarget.value, conditions: [] })}
        />
      </Field>
      {place !== undefined && (
        <pre class="filter-error" aria-hidden="true">
          {text.slice(0, place.start)}
          <mark>{text.slice(place.start, place.end) || " "}</mark>
          {text.slice(place.end)}
        </pre>
      )}
      <Conditions parts={parts} suggestions={suggestions} onChange={setParts} />
    </div>
  );
}

interface ConditionsProps {
  readonly parts: FilterParts;
  readonly suggestions: readonly string[];
  readonly onChange: (parts: FilterParts) => void;
}

function Conditions({ parts, suggestions, onChange }: ConditionsProps) {
  const { conditions, joint } = parts;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const add = useRef<HTMLButtonElement>(null);
  const count = useRef(0);
  // A new row has the keyboard, and the button after the last row has it when a row goes.
  useLayoutEffect(() => {
    if (conditions.length > count.current)
      [...(box.current?.querySelectorAll<HTMLInputElement>(".condition > :first-child") ?? [])].at(-1)?.focus();
    count.current = conditions.length;
  }, [conditions.length]);
  const change = (at: number, changes: Partial<Condition>): void =>
    onChange({ ...parts, conditions: conditions.map((one, index) => (index === at ? { ...one, ...changes } : one)) });
  return (
    <div ref={box} role="group" aria-label="Conditions">
      <datalist id={id}>
        {suggestions.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      {conditions.map(({ field, words, value }, at) => {
        const operand = filterOperators.find((one) => one.words === words)?.operand ?? "literal";
        return (
          <div key={at} class="condition">
            <input
              aria-label={`Field of condition ${at + 1}`}
              placeholder="city"
              list={id}
              value={field}
              spellcheck={false}
              autocomplete="off"
              onInput={({ currentTarget }) => change(at, { field: currentTarget.value })}
            />
            <select
              aria-label={`Operator of condition ${at + 1}`}
              value={words}
              onChange={({ currentTarget }) => change(at, { words: currentTarget.value })}
            >
              {filterOperators.map((one) => (
                <option key={one.words}>{one.words}</option>
              ))}
            </select>
            <input
              aria-label={`Value of condition ${at + 1}`}
              placeholder={placeholders[operand]}
              disabled={operand === "none"}
              value={operand === "none" ? "" : value}
              spellcheck={false}
              autocomplete="off"
              onInput={({ currentTarget }) => change(at, { value: currentTarget.value })}
            />
            <Button
              kind="quiet"
              label={`Remove condition ${at + 1}`}
              onClick={() => {
                onChange({ ...parts, conditions: conditions.filter((_, index) => index !== at) });
                add.current?.focus();
              }}
            >
              ✕
            </Button>
          </div>
        );
      })}
      <div class="actions">
        <Button ref={add} onClick={() => onChange({ ...parts, conditions: [...conditions, NEW] })}>
          Add condition
        </Button>
        {conditions.length > 1 && (
          <select
            aria-label="How the conditions are joined"
            value={joint}
            onChange={({ currentTarget }) => onChange({ ...parts, joint: currentTarget.value === "OR" ? "OR" : "AND" })}
          >
            <option value="AND">all of them hold</option>
            <option value="OR">one of them holds</option>
          </select>
        )}
      </div>
    </div>
  );
}
