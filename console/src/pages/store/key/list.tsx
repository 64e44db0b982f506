/** The elements of a list, by windows of LRANGE, from either end. */
import { useState } from "preact/hooks";
import { Field } from "../../../parts/field.tsx";
import { countText } from "../../../parts/format.ts";
import type { Column } from "../../../parts/table.tsx";
import type { Bytes } from "../values/bytes.ts";
import { BytesFormButton } from "../values/bytes-dialog.tsx";
import { BytesText } from "../values/bytes-text.tsx";
import { usePages } from "../values/pages.ts";
import { ask, bytesOf, listOf, script } from "../values/run.ts";
import { windowRows } from "../values/scan.ts";
import { ElementDialog } from "./element-dialog.tsx";
import { ElementTable } from "./element-table.tsx";
import { FilterField } from "./filter-field.tsx";
import type { ValueViewProps } from "./value-view.ts";

interface ElementRow {
  readonly index: number;
  readonly value: Bytes;
}

const pushes = [
  ["Push left", "LPUSH"],
  ["Push right", "RPUSH"],
] as const;

const columns: readonly Column<ElementRow>[] = [
  { title: "Index", width: "6rem", align: "right", cell: ({ index }) => countText(index) },
  { title: "Element", width: "1fr", cell: ({ value }) => <BytesText bytes={value} /> },
];

/** Between the reading and the change, others may have moved the element. */
const SET_IF_SAME = `if redis.call('LINDEX', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[3]) return 1`;
/** A list has no command that removes by index: the element becomes a unique one first, which LREM finds from the nearer end. */
const REMOVE_IF_SAME = `if redis.call('LINDEX', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[3]) return redis.call('LREM', KEYS[1], tonumber(ARGV[1]) < 0 and -1 or 1, ARGV[3])`;

export function ListView({ database, keyName, bytes, length, version, changed }: ValueViewProps) {
  const [isFromEnd, setFromEnd] = useState(false);
  const [first, setFirst] = useState("");
  const [open, setOpen] = useState<ElementRow>();
  const start = firstIndex(first, length, isFromEnd);
  const pages = usePages<ElementRow, number>(
    async (cursor, signal) => {
      const count = windowRows(bytes, length);
      const at = cursor ?? start;
      const [from, to] = isFromEnd ? [Math.max(0, at - count + 1), at] : [at, at + count - 1];
      const values = listOf(await ask(database, ["LRANGE", keyName, from, to], signal)).map(bytesOf);
      const rows = values.map((value, offset) => ({ index: from + offset, value }));
      const next = isFromEnd ? from - 1 : to + 1;
      const isLast = isFromEnd ? next < 0 : rows.length < count || next >= length;
      return { rows: isFromEnd ? rows.reverse() : rows, next: isLast ? undefined : next };
    },
    [keyName, isFromEnd, start, version],
  );
  return (
    <>
      <FilterField
        label="From index"
        action="Go"
        value={first}
        placeholder={isFromEnd ? "the last" : "0"}
        onChange={setFirst}
      >
        <Field label="Order">
          <select
            value={isFromEnd ? "end" : "start"}
            onChange={({ currentTarget }) => {
              setFirst("");
              setFromEnd(currentTarget.value === "end");
            }}
          >
            <option value="start">First to last</option>
            <option value="end">Last to first</option>
          </select>
        </Field>
        {pushes.map(([title, word]) => (
          <BytesFormButton
            key={word}
            title={title}
            action="Push"
            fields={[{ label: "Element", isLong: true }]}
            submit={async (values) => {
              await ask(database, [word, keyName, ...values]);
              changed();
            }}
          />
        ))}
      </FilterField>
      <ElementTable
        label="Elements"
        noun="elements"
        columns={columns}
        pages={pages}
        length={length}
        keyOf={({ index }) => `${index}`}
        onOpen={setOpen}
        empty="No element at this index."
      />
      {open !== undefined && (
        <ElementDialog
          title={`Element ${countText(open.index)}`}
          label="Element"
          bytes={open.value}
          edit={{
            fields: [{ label: "Element", start: open.value, isLong: true }],
            submit: async ([value = ""]) => {
              await change(database, keyName, { text: SET_IF_SAME, row: open, value });
              changed();
            },
          }}
          remove={{
            confirm: "This removes the element; those after it move by one.",
            run: async () => {
              const value = `removed ${crypto.randomUUID()}`;
              await change(database, keyName, { text: REMOVE_IF_SAME, row: open, value });
              changed();
            },
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

async function change(
  database: string,
  keyName: Bytes,
  { text, row, value }: { readonly text: string; readonly row: ElementRow; readonly value: Bytes },
): Promise<void> {
  const isDone = await script(database, text, { keys: [keyName], args: [row.index, row.value, value] });
  if (isDone !== 1) throw new Error("The list has changed meanwhile: refresh it, and try again");
}

function firstIndex(typed: string, length: number, isFromEnd: boolean): number {
  const index = Number.parseInt(typed, 10);
  if (Number.isNaN(index)) return isFromEnd ? length - 1 : 0;
  return index < 0 ? Math.max(0, length + index) : Math.min(index, Math.max(0, length - 1));
}
