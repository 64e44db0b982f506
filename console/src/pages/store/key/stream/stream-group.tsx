/** A group of a stream: its consumers, and its pending entries, which can be acknowledged. */
import { useLoad } from "../../../../api/load.ts";
import { Action } from "../../../../parts/action.tsx";
import { countNoun, countText, durationText } from "../../../../parts/format.ts";
import { Empty, ErrorBox, Loading } from "../../../../parts/states.tsx";
import { type Column, Table, useChosen } from "../../../../parts/table.tsx";
import type { Bytes } from "../../values/bytes.ts";
import { BytesText } from "../../values/bytes-text.tsx";
import { usePages } from "../../values/pages.ts";
import { ask, bytesOf, listOf, mapOf, numberOf, textOfReply } from "../../values/run.ts";
import { PAGE_ROWS } from "../../values/scan.ts";
import { ListFoot } from "../list-foot.tsx";
import type { ValueViewProps } from "../value-view.ts";
import type { GroupRow } from "./stream-groups.tsx";

interface ConsumerRow {
  readonly name: Bytes;
  readonly pending: number;
  readonly idleMs: number;
}

interface PendingRow {
  readonly id: string;
  readonly consumer: Bytes;
  readonly idleMs: number;
  readonly deliveries: number;
}

const pendingColumns: readonly Column<PendingRow>[] = [
  { title: "Id", width: "12rem", cell: ({ id }) => <code>{id}</code> },
  { title: "Consumer", width: "minmax(5rem, 1fr)", cell: ({ consumer }) => <BytesText bytes={consumer} /> },
  { title: "Since", width: "7rem", isWide: true, cell: ({ idleMs }) => durationText(idleMs) },
  { title: "Deliveries", width: "6rem", align: "right", isWide: true, cell: (row) => countText(row.deliveries) },
];

type GroupProps = ValueViewProps & { readonly group: GroupRow };

export function StreamGroup(props: GroupProps) {
  return (
    <>
      <Consumers {...props} />
      <h3>Pending entries</h3>
      <Pending {...props} />
    </>
  );
}

function Consumers({ database, keyName, group, version, changed }: GroupProps) {
  const consumers = useLoad(
    async (signal) => listOf(await ask(database, ["XINFO", "CONSUMERS", keyName, group.name], signal)).map(consumerOf),
    [database, keyName, group.name, version],
  );
  const columns: readonly Column<ConsumerRow>[] = [
    { title: "Consumer", width: "minmax(6rem, 1fr)", cell: ({ name }) => <BytesText bytes={name} /> },
    { title: "Pending", width: "5rem", align: "right", cell: ({ pending }) => countText(pending) },
    { title: "Idle", width: "7rem", isWide: true, cell: ({ idleMs }) => durationText(idleMs) },
    {
      title: "Action",
      width: "6rem",
      cell: ({ name, pending }) => (
        <Action
          kind="danger"
          confirm={`This deletes the consumer with its ${countNoun(pending, "pending entries")}, which the group does not deliver again.`}
          run={async () => {
            await ask(database, ["XGROUP", "DELCONSUMER", keyName, group.name, name]);
            changed();
          }}
        >
          Delete
        </Action>
      ),
    },
  ];
  if (consumers.error !== undefined) return <ErrorBox error={consumers.error} onRetry={consumers.reload} />;
  if (consumers.value === undefined) return <Loading />;
  return (
    <Table
      label="Consumers"
      columns={columns}
      rows={consumers.value}
      keyOf={({ name }) => name}
      empty={<Empty>The group has no consumers yet. XREADGROUP makes them.</Empty>}
    />
  );
}

function Pending({ database, keyName, group, version, changed }: GroupProps) {
  const [chosen, setChosen] = useChosen(group.name);
  const pages = usePages<PendingRow, string>(
    async (cursor, signal) => {
      const words = ["XPENDING", keyName, group.name, cursor ?? "-", "+", PAGE_ROWS];
      const rows = listOf(await ask(database, words, signal)).map(pendingOf);
      const last = rows.at(-1);
      return { rows, next: rows.length < PAGE_ROWS || last === undefined ? undefined : `(${last.id}` };
    },
    [database, keyName, group.name, version],
    ({ id }) => id,
  );
  return (
    <>
      {chosen.size > 0 && (
        <div class="below">
          <span>{countText(chosen.size)} chosen</span>
          <Action
            kind="danger"
            confirm="Acknowledged entries are not delivered again to this group."
            run={async () => {
              const count = numberOf(await ask(database, ["XACK", keyName, group.name, ...chosen]));
              setChosen(new Set());
              changed();
              return `Acknowledged ${countNoun(count, "entries")}`;
            }}
          >
            Acknowledge
          </Action>
        </div>
      )}
      <Table
        label="Pending entries"
        columns={pendingColumns}
        rows={pages.rows}
        keyOf={({ id }) => id}
        onEnd={pages.onEnd}
        chosen={chosen}
        onChoose={setChosen}
        empty={pages.isLoading ? <Loading /> : <Empty>All delivered entries are acknowledged.</Empty>}
      />
      <ListFoot pages={pages} of={group.pending} noun="pending entries" />
    </>
  );
}

function consumerOf(reply: Parameters<typeof mapOf>[0]): ConsumerRow {
  const facts = mapOf(reply);
  return {
    name: bytesOf(facts.get("name")),
    pending: numberOf(facts.get("pending")),
    idleMs: numberOf(facts.get("idle")),
  };
}

function pendingOf(reply: Parameters<typeof listOf>[0]): PendingRow {
  const [id, consumer, idle, deliveries] = listOf(reply);
  return { id: textOfReply(id), consumer: bytesOf(consumer), idleMs: numberOf(idle), deliveries: numberOf(deliveries) };
}
