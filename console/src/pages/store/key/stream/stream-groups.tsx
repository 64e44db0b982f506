/** The groups of a stream; of one of them, the consumers and the pending entries. */
import { useState } from "preact/hooks";
import { useLoad } from "../../../../api/load.ts";
import { Action } from "../../../../parts/action.tsx";
import { Button } from "../../../../parts/button.tsx";
import { Code } from "../../../../parts/code.tsx";
import { countText } from "../../../../parts/format.ts";
import { Card } from "../../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../../parts/states.tsx";
import { type Column, Table } from "../../../../parts/table.tsx";
import { type Bytes, shownBytes } from "../../values/bytes.ts";
import { BytesDialog } from "../../values/bytes-dialog.tsx";
import { BytesText } from "../../values/bytes-text.tsx";
import { ask, bytesOf, listOf, mapOf, numberOf, textOfReply } from "../../values/run.ts";
import type { ValueViewProps } from "../value-view.ts";
import { StreamGroup } from "./stream-group.tsx";

export interface GroupRow {
  readonly name: Bytes;
  readonly consumers: number;
  readonly pending: number;
  readonly lastId: string;
  /** Entries that it has not read; undefined if the store does not know. */
  readonly lag: number | undefined;
}

const columns: readonly Column<GroupRow>[] = [
  { title: "Group", width: "minmax(6rem, 1fr)", cell: ({ name }) => <BytesText bytes={name} /> },
  { title: "Consumers", width: "7rem", align: "right", isWide: true, cell: ({ consumers }) => countText(consumers) },
  { title: "Pending", width: "6rem", align: "right", cell: ({ pending }) => countText(pending) },
  {
    title: "Unread",
    width: "6rem",
    align: "right",
    cell: ({ lag }) => (lag === undefined ? "unknown" : countText(lag)),
  },
  { title: "Last delivered", width: "12rem", isWide: true, cell: ({ lastId }) => <code>{lastId}</code> },
];

export function StreamGroups(props: ValueViewProps) {
  const { database, keyName, version, changed } = props;
  const [isCreating, setCreating] = useState(false);
  const [open, setOpen] = useState<Bytes>();
  const groups = useLoad(
    async (signal) => listOf(await ask(database, ["XINFO", "GROUPS", keyName], signal)).map(groupOf),
    [database, keyName, version],
  );
  if (groups.error !== undefined) return <ErrorBox error={groups.error} onRetry={groups.reload} />;
  if (groups.value === undefined) return <Loading />;
  const group = groups.value.find(({ name }) => name === open);
  return (
    <>
      <div class="below">
        <Button onClick={() => setCreating(true)}>New group</Button>
      </div>
      <Table
        label="Groups"
        columns={columns}
        rows={groups.value}
        keyOf={({ name }) => name}
        onOpen={({ name }) => setOpen(name)}
        empty={
          <Empty>
            <p>The stream has no groups. Make one here or from a program:</p>
            <Code label="The first group" text={`XGROUP CREATE ${shownBytes(keyName, 60)} workers $`} />
          </Empty>
        }
      />
      {group !== undefined && (
        <Card
          title={`Group ${shownBytes(group.name, 60)}`}
          actions={
            <Action
              kind="danger"
              confirm="This deletes the group with its consumers and pending entries. The entries of the stream stay."
              run={async () => {
                await ask(database, ["XGROUP", "DESTROY", keyName, group.name]);
                changed();
              }}
            >
              Delete group
            </Action>
          }
        >
          <StreamGroup {...props} group={group} />
        </Card>
      )}
      {isCreating && (
        <BytesDialog
          title="New group"
          action="Create"
          fields={[
            { label: "Name" },
            { label: "Reads after", start: "$", hint: "An id; $: new entries only; 0: all entries" },
          ]}
          submit={async (values) => {
            await ask(database, ["XGROUP", "CREATE", keyName, ...values]);
            changed();
          }}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}

function groupOf(reply: Parameters<typeof mapOf>[0]): GroupRow {
  const facts = mapOf(reply);
  const lag = facts.get("lag");
  return {
    name: bytesOf(facts.get("name")),
    consumers: numberOf(facts.get("consumers")),
    pending: numberOf(facts.get("pending")),
    lastId: textOfReply(facts.get("last-delivered-id")),
    lag: typeof lag === "number" ? lag : undefined,
  };
}
