/** The clients that are connected over RESP: who they are and what they do, and the end of a connection. */
import "../store.css";
import { useMemo, useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Badge } from "../../../parts/badge.tsx";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { type FilterField, Filters, useFilters } from "../../../parts/filters.tsx";
import { bytesText, countText, durationText } from "../../../parts/format.ts";
import { Facts, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import type { PageProps } from "../../pages.ts";
import { CLIENTS_MAX, type Client, killClient, type Order, readClients, sortedBy } from "./clients.ts";

const EVERY_MS = 5_000;

/** The value of the filter for all databases. */
const ALL = "all";

function fieldsOf(database: string): readonly FilterField[] {
  return [
    {
      name: "of",
      label: "Database",
      kind: [
        ["", database],
        [ALL, "All databases"],
      ],
    },
    { name: "user", label: "User", placeholder: "default" },
    { name: "name", label: "Name begins with" },
    {
      name: "order",
      label: "Order",
      kind: [
        ["", "Longest connected"],
        ["idle", "Longest idle"],
        ["memory", "Most memory"],
      ],
    },
  ];
}

function orderOf(word: string | undefined): Order {
  return word === "idle" || word === "memory" ? word : "age";
}

export default function ClientsPage({ params: { tenant: database = "" } }: PageProps) {
  const fields = useMemo(() => fieldsOf(database), [database]);
  const { of, user, name, order } = useFilters(fields);
  const [open, setOpen] = useState<Client>();
  const filters = { database: of === ALL ? undefined : database, user, name };
  const clients = useLoad((signal) => readClients(filters, signal), [filters], { everyMs: EVERY_MS });
  const { value, error, reload } = clients;
  const node = value?.node;
  return (
    <>
      <PageHead
        title="Clients"
        lead={`Connections over RESP${node === undefined ? "" : ` to databases of node ${node}`}. Requests and streams over HTTP are not among them.`}
        actions={<Button onClick={reload}>Reload</Button>}
      />
      <Filters label="Filters of the clients" fields={fields} />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value !== undefined && (
        <>
          <Table
            label="Clients"
            columns={[...whoColumns, ...(of === ALL ? [databaseColumn] : []), ...whatColumns]}
            rows={sortedBy(orderOf(order), value.rows)}
            keyOf={({ id }) => `${id}`}
            onOpen={setOpen}
            empty={<NoClients isFiltered={user !== undefined || name !== undefined} />}
          />
          {value.rows.length > 0 && (
            <p class="below">
              {countText(value.rows.length)} {value.rows.length === 1 ? "client" : "clients"}
              {value.hasMore &&
                `: those with the lowest ids. The page lists at most ${countText(CLIENTS_MAX)}; filter them.`}
            </p>
          )}
        </>
      )}
      {open !== undefined && <ClientDialog client={open} onClose={() => setOpen(undefined)} ended={reload} />}
    </>
  );
}

const whoColumns: readonly Column<Client>[] = [
  { title: "Address", width: "minmax(9rem, 1fr)", cell: ({ address }) => <bdi class="bytes">{address}</bdi> },
  { title: "Name", width: "minmax(5rem, 1.5fr)", cell: ({ name }) => <bdi>{name || "–"}</bdi> },
];

const databaseColumn: Column<Client> = {
  title: "Database",
  width: "minmax(4.5rem, 7rem)",
  isWide: true,
  cell: ({ database }) => <bdi>{database}</bdi>,
};

const whatColumns: readonly Column<Client>[] = [
  { title: "User", width: "minmax(4rem, 1fr)", isWide: true, cell: ({ user }) => <bdi>{user}</bdi> },
  { title: "Library", width: "minmax(4rem, 1fr)", isWide: true, cell: (each) => <bdi>{libraryOf(each) || "–"}</bdi> },
  { title: "State", width: "minmax(5rem, 7rem)", isWide: true, cell: ({ states }) => <States states={states} /> },
  {
    title: "Command",
    width: "minmax(6rem, 8rem)",
    isWide: true,
    cell: ({ lastCommand = "–" }) => <code>{lastCommand}</code>,
  },
  { title: "Age", width: "5rem", align: "right", isWide: true, cell: ({ ageSeconds }) => secondsText(ageSeconds) },
  { title: "Idle", width: "5rem", align: "right", cell: ({ idleSeconds }) => secondsText(idleSeconds) },
  { title: "Memory", width: "5rem", align: "right", isWide: true, cell: ({ memoryBytes }) => bytesText(memoryBytes) },
];

function States({ states }: { states: readonly string[] }) {
  const [first, ...others] = states;
  if (first === undefined) return <>–</>;
  return (
    <span title={states.join(", ")}>
      <Badge tone="busy">{first}</Badge>
      {others.length > 0 && ` +${others.length}`}
    </span>
  );
}

function NoClients({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty>No client passes these filters.</Empty>;
  return (
    <Empty>
      No client is connected over RESP. <code>larder serve --resp-port 6379</code> opens that port, and{" "}
      <code>redis-cli -u redis://default:TOKEN@127.0.0.1:6379</code> connects to it; the password is the token of the
      database.
    </Empty>
  );
}

interface ClientDialogProps {
  readonly client: Client;
  readonly onClose: () => void;
  readonly ended: () => void;
}

function ClientDialog({ client, onClose, ended }: ClientDialogProps) {
  const { id, database, user, name, address, localAddress, respVersion, states, lastCommand } = client;
  return (
    <Dialog
      title={`Client ${id}`}
      onClose={onClose}
      actions={
        <Action
          kind="danger"
          confirm={`This ends the connection from ${address} at once. A command that waits is given up. Most clients connect again.`}
          run={async () => {
            await killClient(client);
            onClose();
            ended();
            return `Ended the connection of client ${id}`;
          }}
        >
          Kill
        </Action>
      }
    >
      <Facts
        rows={[
          ["Address", <bdi key="address">{address}</bdi>],
          ["Port", <bdi key="port">{localAddress}</bdi>],
          ["Database", <bdi key="database">{database}</bdi>],
          ["User", <bdi key="user">{user}</bdi>],
          ["Name", name && <bdi key="name">{name}</bdi>],
          ["Library", libraryOf(client) && <bdi key="library">{libraryOf(client)}</bdi>],
          ["RESP version", respVersion],
          ["State", states.join(", ")],
          ["Last command", lastCommand && <code key="command">{lastCommand}</code>],
          ["Commands", countText(client.commands)],
          ["Connected for", secondsText(client.ageSeconds)],
          ["Idle for", secondsText(client.idleSeconds)],
          ["Subscriptions", countIfAny(client.subscriptions)],
          ["Queued commands", countIfAny(client.queuedCommands)],
          ["Watched keys", countIfAny(client.watchedKeys)],
          ["Memory", bytesText(client.memoryBytes)],
          ["Received", bytesText(client.receivedBytes)],
          ["Sent", bytesText(client.sentBytes)],
        ]}
      />
    </Dialog>
  );
}

function libraryOf({ libraryName, libraryVersion }: Client): string {
  return `${libraryName} ${libraryVersion}`.trim();
}

/** Rows of facts without a value are left out. */
function countIfAny(count: number): string | undefined {
  return count === 0 ? undefined : countText(count);
}

/** Whole seconds. */
function secondsText(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : durationText(seconds * 1_000);
}
