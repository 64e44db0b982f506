/** Queues: how many messages wait, how many are called at a time. */
import "../messaging.css";
import { request } from "../../../api/client.ts";
import { useFirstRows } from "../../../api/first-rows.ts";
import { Badge } from "../../../parts/badge.tsx";
import { Code } from "../../../parts/code.tsx";
import { Field } from "../../../parts/field.tsx";
import { FormButton, fieldText } from "../../../parts/form-dialog.tsx";
import { countText } from "../../../parts/format.ts";
import { PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { api, page } from "../places.ts";

export interface Queue {
  readonly name: string;
  readonly parallelism: number;
  readonly lag: number;
  readonly paused: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const WATCH_MS = 5_000;

const FIRST = `curl -X POST "$QSTASH_URL/v2/enqueue/orders/https://example.com/hook" \\
  -H "Authorization: Bearer $QSTASH_TOKEN" -d '{"order":17}'`;

export default function Queues({ params: { tenant = "" } }: PageProps) {
  const { rows, error, onEnd, reload } = useFirstRows<Queue>({
    path: api(tenant, "queues"),
    nameOf: ({ name }) => name,
    everyMs: WATCH_MS,
  });
  return (
    <>
      <PageHead
        title="Queues"
        lead="The messages of a queue are delivered in order, as many at a time as its parallelism"
        actions={
          <FormButton
            title="Create a queue"
            kind="main"
            submit="Create"
            run={async (fields) => {
              const queueName = fieldText(fields, "name") ?? "";
              // The list has only its beginning.
              if (await hasQueue(tenant, queueName)) throw new Error(`There is a queue ${queueName} already`);
              await request(api(tenant, "queues"), {
                json: { queueName, parallelism: Number(fieldText(fields, "parallelism") ?? 1) },
              });
              reload();
              return `Created the queue ${queueName}`;
            }}
          >
            <Field label="Name" hint="Letters, digits, - _ .">
              <input name="name" required spellcheck={false} />
            </Field>
            <ParallelismField value={1} />
          </FormButton>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Table
          label="Queues"
          columns={columns}
          rows={rows}
          onEnd={onEnd}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => page(tenant, "queues", name)}
          empty={
            <Empty>
              <p>A queue comes with its first message, or is created here:</p>
              <Code label="A request that publishes through a queue" text={FIRST} />
            </Empty>
          }
        />
      )}
    </>
  );
}

async function hasQueue(tenant: string, name: string): Promise<boolean> {
  const found = await request<Queue[]>(api(tenant, "queues"), { query: { prefix: name, count: "1" } });
  // The first name that begins with a name is that name.
  return found[0]?.name === name;
}

const columns: readonly Column<Queue>[] = [
  { title: "Name", width: "minmax(6rem, 1fr)", cell: ({ name }) => <bdi>{name}</bdi> },
  { title: "Waiting", width: "5.5rem", align: "right", cell: ({ lag }) => countText(lag) },
  { title: "At a time", width: "5.5rem", align: "right", cell: ({ parallelism }) => countText(parallelism) },
  { title: "State", width: "6rem", cell: (queue) => <QueueState queue={queue} /> },
  { title: "Created", width: "9rem", isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function QueueState({ queue: { paused } }: { queue: Queue }) {
  return paused ? <Badge tone="warn">paused</Badge> : <Badge tone="good">running</Badge>;
}

export function ParallelismField({ value }: { value: number }) {
  return (
    <Field label="Parallelism" hint="How many of its messages are called at a time; 1 keeps the order">
      <input name="parallelism" type="number" min="1" required defaultValue={`${value}`} />
    </Field>
  );
}
