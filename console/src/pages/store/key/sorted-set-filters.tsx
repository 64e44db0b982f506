import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../../parts/button.tsx";
import { Field } from "../../../parts/field.tsx";

/** `low`: the lowest scores first. */
export type Order = "low" | "high";

export interface View {
  readonly order: Order;
  /** Bounds of scores as in ZRANGE BYSCORE; empty: none. */
  readonly min: string;
  readonly max: string;
  /** A pattern of members; the order and the bounds have no effect then. */
  readonly match: string;
}

export interface SortedSetFiltersProps {
  readonly view: View;
  readonly onChange: (view: View) => void;
  readonly children: ComponentChildren;
}

export function SortedSetFilters({ view, onChange, children }: SortedSetFiltersProps) {
  const [typed, setTyped] = useState(view);
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(typed);
      }}
    >
      <Field label="Order">
        <select
          value={typed.order}
          onChange={({ currentTarget }) => {
            const next = { ...typed, order: currentTarget.value as Order };
            setTyped(next);
            onChange(next);
          }}
        >
          <option value="low">Lowest first</option>
          <option value="high">Highest first</option>
        </select>
      </Field>
      <Field label="Score from">
        <input
          class="short"
          value={typed.min}
          placeholder="-inf"
          onInput={({ currentTarget }) => setTyped({ ...typed, min: currentTarget.value.trim() })}
        />
      </Field>
      <Field label="to">
        <input
          class="short"
          value={typed.max}
          placeholder="+inf"
          onInput={({ currentTarget }) => setTyped({ ...typed, max: currentTarget.value.trim() })}
        />
      </Field>
      <Field label="Members that match">
        <input
          value={typed.match}
          placeholder="*"
          spellcheck={false}
          onInput={({ currentTarget }) => setTyped({ ...typed, match: currentTarget.value })}
        />
      </Field>
      <Button type="submit">Search</Button>
      {children}
    </form>
  );
}
