/** Flow-control keys: their limits, what is under way, what waits. */
import "../messaging.css";
import { request } from "../../../api/client.ts";
import { useFirstRows } from "../../../api/first-rows.ts";
import { useLoad } from "../../../api/load.ts";
import { Badge } from "../../../parts/badge.tsx";
import { Code } from "../../../parts/code.tsx";
import { type FilterField, Filters, useFilters } from "../../../parts/filters.tsx";
import { countText } from "../../../parts/format.ts";
import { PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import type { PageProps } from "../../pages.ts";
import { limitsText } from "../message-facts.tsx";
import { api, page } from "../places.ts";

export interface FlowKey {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  readonly parallelismMax: number;
  readonly parallelismCount: number;
  readonly rateMax: number;
  readonly rateCount: number;
  /** Seconds. */
  readonly ratePeriod: number;
  /** Unix seconds. */
  readonly ratePeriodStart: number;
  readonly isPaused: boolean;
  readonly isPinnedParallelism: boolean;
  readonly isPinnedRate: boolean;
}

const fields: readonly FilterField[] = [{ name: "search", label: "Part of the name" }];

const WATCH_MS = 5_000;

const FIRST = `curl -X POST "$QSTASH_URL/v2/publish/https://example.com/hook" \\
  -H "Authorization: Bearer $QSTASH_TOKEN" \\
  -H "Upstash-Flow-Control-Key: customer-1" \\
  -H "Upstash-Flow-Control-Value: parallelism=2, rate=10, period=1m"`;

export default function FlowControl({ params: { tenant = "" } }: PageProps) {
  const { search } = useFilters(fields);
  const { rows, error, onEnd, reload } = useFirstRows<FlowKey>({
    path: api(tenant, "flowControl"),
    nameOf: ({ flowControlKey }) => flowControlKey,
    query: { search },
    everyMs: WATCH_MS,
  });
  const { value: total } = useLoad(
    (signal) =>
      request<{ parallelismMax: number; parallelismCount: number }>(api(tenant, "globalParallelism"), { signal }),
    [tenant],
    { everyMs: WATCH_MS },
  );
  return (
    <>
      <PageHead
        title="Flow control"
        lead={
          total === undefined
            ? "Keys whose messages share limits"
            : `${countText(total.parallelismCount)} of at most ${countText(total.parallelismMax)} calls of this user are under way`
        }
      />
      <Filters label="Filter of keys" fields={fields} />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Table
          label="Flow-control keys"
          columns={columns}
          rows={rows}
          onEnd={onEnd}
          keyOf={({ flowControlKey }) => flowControlKey}
          hrefOf={({ flowControlKey }) => page(tenant, "flow-control", flowControlKey)}
          empty={
            search === undefined ? (
              <Empty>
                <p>A key comes with its first message, which may set its limits:</p>
                <Code label="A request with a flow-control key" text={FIRST} />
              </Empty>
            ) : (
              <Empty>No key has a name with this text.</Empty>
            )
          }
        />
      )}
    </>
  );
}

const columns: readonly Column<FlowKey>[] = [
  { title: "Key", width: "minmax(6rem, 1fr)", cell: ({ flowControlKey }) => <bdi>{flowControlKey}</bdi> },
  { title: "Waiting", width: "5.5rem", align: "right", cell: ({ waitListSize }) => countText(waitListSize) },
  {
    title: "Under way",
    width: "5.5rem",
    align: "right",
    isWide: true,
    cell: ({ parallelismCount }) => countText(parallelismCount),
  },
  { title: "Limits", width: "minmax(8rem, 1.5fr)", isWide: true, cell: (key) => limitsOf(key) },
  { title: "State", width: "minmax(6rem, 1fr)", cell: (key) => <KeyState of={key} /> },
];

export function limitsOf({ parallelismMax, rateMax, ratePeriod }: FlowKey): string {
  return limitsText({ parallelism: parallelismMax, rate: rateMax, period: ratePeriod });
}

export function KeyState({ of: { isPaused, isPinnedParallelism, isPinnedRate } }: { of: FlowKey }) {
  return (
    <>
      {isPaused ? <Badge tone="warn">paused</Badge> : <Badge tone="good">running</Badge>}
      {(isPinnedParallelism || isPinnedRate) && (
        <>
          {" "}
          <Badge>pinned</Badge>
        </>
      )}
    </>
  );
}
