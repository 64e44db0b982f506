/** The log of messages: each state of each message, or each message once with its latest state. */
import "./messaging.css";
import { useMemo } from "preact/hooks";
import { request } from "../../api/client.ts";
import { type Pages, usePages } from "../../api/pages.ts";
import { Button } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { type FilterField, Filters, useFilters, useQueryChange } from "../../parts/filters.tsx";
import { PageHead } from "../../parts/page.tsx";
import { StateBadge, stateText } from "../../parts/state.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { entryKey, type LogEntry } from "./message-facts.tsx";
import { api, page } from "./places.ts";

const states = [
  ...["CREATED", "ACTIVE", "RETRY", "ERROR", "IN_PROGRESS", "DELIVERED", "FAILED", "CANCEL_REQUESTED", "CANCELLED"],
] as const;

const fields: readonly FilterField[] = [
  {
    name: "state",
    label: "State",
    kind: [["", "Any"], ...states.map((state) => [state, stateText(state)] as const)],
  },
  { name: "url", label: "URL", placeholder: "https://…" },
  { name: "messageId", label: "Message", placeholder: "msg_…" },
  { name: "label", label: "Label" },
  { name: "host", label: "Host", isRare: true },
  { name: "path", label: "Path", placeholder: "/…", isRare: true },
  { name: "queueName", label: "Queue", isRare: true },
  { name: "scheduleId", label: "Schedule", isRare: true },
  { name: "topicName", label: "URL group", isRare: true },
  { name: "flowControlKey", label: "Flow-control key", isRare: true },
  { name: "workflowRunId", label: "Workflow run", placeholder: "wfr_…", isRare: true },
  { name: "callerIp", label: "Publisher's address", isRare: true },
  { name: "fromDate", label: "From", kind: "time", isRare: true },
  { name: "toDate", label: "To", kind: "time", isRare: true },
];

/** Choices of the view, in the query too. */
const viewFields: readonly FilterField[] = [
  { name: "view", label: "View" },
  { name: "order", label: "Order" },
  { name: "live", label: "Live" },
];

const PAGE_ROWS = 100;
const LIVE_MS = 2_000;

export default function Log({ params: { tenant = "" } }: PageProps) {
  const filters = useFilters(fields);
  const { view = "messages", order = "latestFirst", live } = useFilters(viewFields);
  const change = useQueryChange();
  const isLive = live === "on" && order === "latestFirst";
  const pages = usePages(
    async (cursor, signal) => {
      const { logs, cursor: next } = await request<{ logs: LogEntry[]; cursor?: string }>(api(tenant, "logs"), {
        query: { ...filters, order, count: PAGE_ROWS, trimBody: 0, cursor },
        signal,
      });
      return { rows: logs, cursor: next };
    },
    [tenant, filters, order],
    { keyOf: entryKey, everyMs: isLive ? LIVE_MS : undefined },
  );
  const isGrouped = view === "messages" && order === "latestFirst";
  const rows = useMemo(() => (isGrouped ? latestOfEach(pages.rows) : pages.rows), [pages.rows, isGrouped]);
  return (
    <>
      <PageHead
        title="Messages"
        lead={
          isGrouped
            ? "Each message with its latest state, the latest first"
            : `Each state of each message, the ${order === "latestFirst" ? "latest" : "earliest"} first`
        }
        actions={
          <>
            <Button
              aria-pressed={isLive}
              disabled={order !== "latestFirst"}
              onClick={() => change({ live: isLive ? undefined : "on" })}
            >
              {isLive ? "● Live" : "○ Live"}
            </Button>
            <Button onClick={pages.reload}>Reload</Button>
            <a class="button main" href={page(tenant, "publish")}>
              Publish
            </a>
          </>
        }
      />
      <Filters label="Filters of messages" fields={fields} />
      <div class="filters">
        <label class="inline">
          <input
            type="checkbox"
            checked={isGrouped}
            disabled={order !== "latestFirst"}
            onChange={({ currentTarget }) => change({ view: currentTarget.checked ? undefined : "entries" })}
          />{" "}
          One row for each message
        </label>
        <label class="inline">
          <input
            type="checkbox"
            checked={order === "earliestFirst"}
            onChange={({ currentTarget }) => change({ order: currentTarget.checked ? "earliestFirst" : undefined })}
          />{" "}
          Earliest first
        </label>
      </div>
      <Rows tenant={tenant} pages={pages} rows={rows} isFiltered={Object.keys(filters).length > 0} />
    </>
  );
}

/** Entries are the latest first, so the first one of a message has its latest state. */
function latestOfEach(entries: readonly LogEntry[]): readonly LogEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ messageId }) => {
    if (seen.has(messageId)) return false;
    seen.add(messageId);
    return true;
  });
}

interface RowsProps {
  readonly tenant: string;
  readonly pages: Pages<LogEntry>;
  readonly rows: readonly LogEntry[];
  readonly isFiltered: boolean;
}

function Rows({ tenant, pages, rows, isFiltered }: RowsProps) {
  if (pages.isLoading) return <Loading />;
  return (
    <>
      {pages.error !== undefined && <ErrorBox error={pages.error} onRetry={pages.reload} />}
      <Table
        label="Messages"
        columns={columns}
        rows={rows}
        keyOf={entryKey}
        hrefOf={({ messageId }) => page(tenant, "messages", messageId)}
        onEnd={pages.onEnd}
        empty={isFiltered ? <Empty>No entry of the log matches these filters.</Empty> : <NoMessages />}
      />
    </>
  );
}

const columns: readonly Column<LogEntry>[] = [
  { title: "Message", width: "minmax(5rem, 13.5rem)", cell: ({ messageId }) => <code>{messageId}</code> },
  { title: "State", width: "minmax(5.5rem, 8.5rem)", cell: ({ state }) => <StateBadge state={state} /> },
  {
    title: "Destination",
    width: "minmax(8rem, 2.5fr)",
    isWide: true,
    cell: ({ method, url }) => (
      <span title={url}>
        {method} <bdi>{url}</bdi>
      </span>
    ),
  },
  { title: "Detail", width: "minmax(6rem, 1.5fr)", isWide: true, cell: (entry) => <Detail entry={entry} /> },
  { title: "Time", width: "8.5rem", cell: ({ time }) => <Time at={time} /> },
];

function Detail({
  entry: { nextDeliveryTime, responseStatus, error, queueName, topicName, scheduleId },
}: {
  entry: LogEntry;
}) {
  if (nextDeliveryTime !== undefined)
    return (
      <>
        next attempt <Time at={nextDeliveryTime} />
      </>
    );
  if (error !== undefined)
    return (
      <span title={error}>
        {responseStatus === undefined || responseStatus === 0 ? error : `status ${responseStatus}`}
      </span>
    );
  const origin = queueName ?? topicName ?? scheduleId;
  return origin === undefined ? null : <bdi>{origin}</bdi>;
}

const FIRST = `curl -X POST "$QSTASH_URL/v2/publish/https://example.com/hook" \\
  -H "Authorization: Bearer $QSTASH_TOKEN" -d '{"hello":"world"}'`;

function NoMessages() {
  return (
    <Empty>
      <p>Messages that were published appear here, with each attempt to deliver them. Publish the first one:</p>
      <Code label="A request that publishes a message" text={FIRST} />
    </Empty>
  );
}
