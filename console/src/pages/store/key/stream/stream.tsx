/** A stream: its entries from either end, or its groups. */
import { useState } from "preact/hooks";
import { Button } from "../../../../parts/button.tsx";
import { Field } from "../../../../parts/field.tsx";
import { Empty, Loading } from "../../../../parts/states.tsx";
import { type Column, Table } from "../../../../parts/table.tsx";
import { Time } from "../../../../parts/time.tsx";
import { type Bytes, bytesOfText, shownBytes } from "../../values/bytes.ts";
import { usePages } from "../../values/pages.ts";
import { ask, bytesOf, listOf, type Reply, textOfReply } from "../../values/run.ts";
import { windowRows } from "../../values/scan.ts";
import { ElementDialog } from "../element-dialog.tsx";
import { FilterField } from "../filter-field.tsx";
import { ListFoot } from "../list-foot.tsx";
import type { ValueViewProps } from "../value-view.ts";
import { StreamAdd } from "./stream-add.tsx";
import { StreamGroups } from "./stream-groups.tsx";

export interface EntryRow {
  readonly id: string;
  readonly fields: readonly (readonly [name: Bytes, value: Bytes])[];
}

export const entryColumns: readonly Column<EntryRow>[] = [
  { title: "Id", width: "12rem", cell: ({ id }) => <code>{id}</code> },
  { title: "Time", width: "9.5rem", isWide: true, cell: ({ id }) => <Time at={timeOfId(id)} /> },
  {
    title: "Fields",
    width: "1fr",
    cell: ({ fields }) => (
      <bdi class="bytes">
        {fields
          .slice(0, 8)
          .map(([name, value]) => `${shownBytes(name, 40)}=${shownBytes(value, 60)}`)
          .join("  ")}
      </bdi>
    ),
  },
];

export function StreamView(props: ValueViewProps) {
  const [isGroups, setGroups] = useState(false);
  return (
    <>
      <div class="actions choice" role="group" aria-label="Show">
        <Button aria-pressed={!isGroups} onClick={() => setGroups(false)}>
          Entries
        </Button>
        <Button aria-pressed={isGroups} onClick={() => setGroups(true)}>
          Groups
        </Button>
      </div>
      {isGroups ? <StreamGroups {...props} /> : <Entries {...props} />}
    </>
  );
}

function Entries({ database, keyName, bytes, length, version, changed }: ValueViewProps) {
  const [isOldestFirst, setOldestFirst] = useState(false);
  const [from, setFrom] = useState("");
  const [isAdding, setAdding] = useState(false);
  const [open, setOpen] = useState<EntryRow>();
  const pages = usePages<EntryRow, string>(
    async (cursor, signal) => {
      const count = windowRows(bytes, length);
      const start = cursor ?? bytesOfText(from.trim() || (isOldestFirst ? "-" : "+"));
      const words = isOldestFirst ? ["XRANGE", keyName, start, "+"] : ["XREVRANGE", keyName, start, "-"];
      const rows = entriesOf(await ask(database, [...words, "COUNT", count], signal));
      const last = rows.at(-1);
      return { rows, next: rows.length < count || last === undefined ? undefined : `(${last.id}` };
    },
    [keyName, isOldestFirst, from, version],
    ({ id }) => id,
  );
  return (
    <>
      <FilterField label="From id" action="Go" value={from} placeholder="id or Unix time in ms" onChange={setFrom}>
        <Field label="Order">
          <select
            value={isOldestFirst ? "old" : "new"}
            onChange={({ currentTarget }) => setOldestFirst(currentTarget.value === "old")}
          >
            <option value="new">Newest first</option>
            <option value="old">Oldest first</option>
          </select>
        </Field>
        <Button onClick={() => setAdding(true)}>Add entry</Button>
      </FilterField>
      <Table
        label="Entries"
        columns={entryColumns}
        rows={pages.rows}
        keyOf={({ id }) => id}
        onOpen={setOpen}
        onEnd={pages.onEnd}
        empty={pages.isLoading ? <Loading /> : <Empty>No entries here.</Empty>}
      />
      <ListFoot pages={pages} of={length} noun="entries" />
      {isAdding && (
        <StreamAdd database={database} keyName={keyName} changed={changed} onClose={() => setAdding(false)} />
      )}
      {open !== undefined && (
        <EntryDialog
          entry={open}
          remove={async () => {
            await ask(database, ["XDEL", keyName, open.id]);
            changed();
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

interface EntryDialogProps {
  readonly entry: EntryRow;
  readonly remove: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** The fields of an entry, one of them whole. */
function EntryDialog({ entry: { id, fields }, remove, onClose }: EntryDialogProps) {
  const [shown, setShown] = useState(0);
  const [name = "", value = ""] = fields[shown] ?? [];
  return (
    <ElementDialog
      key={shown}
      title={`Entry ${id}`}
      label={`Field ${shownBytes(name, 60)}`}
      bytes={value}
      remove={{ confirm: "This removes the entry from the stream. Groups may still have it pending.", run: remove }}
      onClose={onClose}
    >
      <p>
        <Time at={timeOfId(id)} isExact />
      </p>
      {fields.length > 1 && (
        <Field label="Field">
          <select value={`${shown}`} onChange={({ currentTarget }) => setShown(Number(currentTarget.value))}>
            {fields.map(([field], index) => (
              <option key={`${index} ${field}`} value={`${index}`}>
                {shownBytes(field, 60)}
              </option>
            ))}
          </select>
        </Field>
      )}
    </ElementDialog>
  );
}

export function entriesOf(reply: Reply): EntryRow[] {
  return listOf(reply).map((entry) => {
    const [id, pairs] = listOf(entry);
    const words = listOf(pairs).map(bytesOf);
    const fields: [Bytes, Bytes][] = [];
    for (let at = 0; at + 1 < words.length; at += 2) fields.push([words[at] ?? "", words[at + 1] ?? ""]);
    return { id: textOfReply(id), fields };
  });
}

/** The Unix time in ms that an id begins with. */
export function timeOfId(id: string): number | undefined {
  const ms = Number(id.split("-")[0]);
  return ms > 0 ? ms : undefined;
}
