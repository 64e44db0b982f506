/** Dead letters: messages that failed permanently, to be published again or deleted, one by one or by filter. */
import "./messaging.css";
import { useState } from "preact/hooks";
import { request } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { Action } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { type FilterField, Filters, useFilters } from "../../parts/filters.tsx";
import { countText } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { deleteLetters, retryLetters } from "./dead-letter-actions.ts";
import type { MessageFields } from "./message-facts.tsx";
import { api, page } from "./places.ts";

export interface DeadLetter extends MessageFields {
  readonly dlqId: string;
  readonly createdAt: number;
  readonly responseStatus: number;
  readonly responseHeader: Readonly<Record<string, readonly string[]>>;
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly bodyError?: string;
  readonly workflowRunId?: string;
  readonly failureFunctionState?: string;
}

/** The id of a dead letter begins with the moment of the failure. */
export function failedAt({ dlqId }: Pick<DeadLetter, "dlqId">): number {
  return Number(dlqId.split("-")[0]);
}

const fields: readonly FilterField[] = [
  { name: "url", label: "URL", placeholder: "https://…" },
  { name: "responseStatus", label: "Status", kind: "number", placeholder: "500; 0: no response" },
  { name: "label", label: "Label" },
  { name: "messageId", label: "Message", placeholder: "msg_…" },
  { name: "queueName", label: "Queue", isRare: true },
  { name: "scheduleId", label: "Schedule", isRare: true },
  { name: "topicName", label: "URL group", isRare: true },
  { name: "flowControlKey", label: "Flow-control key", isRare: true },
  { name: "callerIp", label: "Publisher's address", isRare: true },
  { name: "fromDate", label: "Failed from", kind: "time", isRare: true },
  { name: "toDate", label: "Failed to", kind: "time", isRare: true },
  {
    name: "source",
    label: "Source",
    isRare: true,
    kind: [
      ["", "All"],
      ["workflow", "Workflow runs only"],
    ],
  },
  { name: "workflowRunId", label: "Workflow run", placeholder: "wfr_…", isRare: true },
  { name: "workflowUrl", label: "Workflow URL", placeholder: "https://…", isRare: true },
  // The filter is of the exact millisecond, which a field for times has not.
  { name: "workflowCreatedAt", label: "Run started", kind: "number", placeholder: "Unix ms", isRare: true },
  {
    name: "failureFunctionState",
    label: "Failure function",
    isRare: true,
    kind: [
      ["", "Any"],
      ["CALLBACK_INPROGRESS", "in progress"],
      ["CALLBACK_SUCCESS", "success"],
      ["CALLBACK_FAIL", "failed"],
      ["CALLBACK_CANCELED", "cancelled"],
    ],
  },
];

const PAGE_ROWS = 100;

export default function DeadLetters({ params: { tenant = "" } }: PageProps) {
  const filters = useFilters(fields);
  const pages = usePages(
    async (cursor, signal) => {
      const { messages, cursor: next } = await request<{ messages: DeadLetter[]; cursor?: string }>(
        api(tenant, "dlq"),
        {
          query: { ...filters, order: "latestFirst", count: PAGE_ROWS, trimBody: 0, cursor },
          signal,
        },
      );
      return { rows: messages, cursor: next };
    },
    [tenant, filters],
    { keyOf: ({ dlqId }) => dlqId },
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const known = new Set(pages.rows.map(({ dlqId }) => dlqId));
  const ids = [...chosen].filter((id) => known.has(id));
  const after = (note: string): string => {
    setChosen(new Set());
    pages.reload();
    return note;
  };
  const isFiltered = Object.keys(filters).length > 0;
  const which = isFiltered ? "all that match" : "all";
  return (
    <>
      <PageHead
        title="Dead letters"
        lead="Messages that failed permanently, the latest first"
        actions={
          <>
            <Button onClick={pages.reload}>Reload</Button>
            <Action
              disabled={pages.rows.length === 0}
              confirm={`Publishes ${which} again as new messages, oldest first. Those of workflow runs stay: resume their runs.`}
              run={async () => after(await retryLetters(tenant, filters))}
            >
              {`Retry ${which}`}
            </Action>
            <Action
              kind="danger"
              disabled={pages.rows.length === 0}
              confirm={
                isFiltered
                  ? "Deletes every dead letter that matches the filters, also those that are not shown yet."
                  : "Deletes every dead letter of this user, also those of workflow runs, which cannot be resumed then."
              }
              run={async () => after(await deleteLetters(tenant, filters))}
            >
              {`Delete ${which}`}
            </Action>
          </>
        }
      />
      <Filters label="Filters of dead letters" fields={fields} />
      {ids.length > 0 && (
        <div class="filters" role="group" aria-label="Chosen dead letters">
          <span>{countText(ids.length)} chosen</span>
          <Action run={async () => after(await retryLetters(tenant, { dlqIds: ids }))}>Retry chosen</Action>
          <Action
            kind="danger"
            confirm={`Deletes ${countText(ids.length)} dead letters.`}
            run={async () => after(await deleteLetters(tenant, { dlqIds: ids }))}
          >
            Delete chosen
          </Action>
        </div>
      )}
      {pages.error !== undefined && <ErrorBox error={pages.error} onRetry={pages.reload} />}
      {pages.isLoading ? (
        <Loading />
      ) : (
        <Table
          label="Dead letters"
          columns={columns}
          rows={pages.rows}
          keyOf={({ dlqId }) => dlqId}
          hrefOf={({ dlqId }) => page(tenant, "dlq", dlqId)}
          onEnd={pages.onEnd}
          chosen={chosen}
          onChoose={setChosen}
          empty={
            <Empty>
              {isFiltered
                ? "No dead letter matches these filters."
                : "A message whose last attempt failed appears here, with the last response, to be retried or deleted. No message has failed."}
            </Empty>
          }
        />
      )}
    </>
  );
}

const columns: readonly Column<DeadLetter>[] = [
  { title: "Id", width: "minmax(5rem, 11rem)", cell: ({ dlqId }) => <code>{dlqId}</code> },
  { title: "Status", width: "7rem", cell: (letter) => <Status letter={letter} /> },
  {
    title: "Destination",
    width: "minmax(8rem, 2fr)",
    isWide: true,
    cell: ({ method, url }) => (
      <span title={url}>
        {method} <bdi>{url}</bdi>
      </span>
    ),
  },
  {
    title: "Origin",
    width: "minmax(5rem, 1fr)",
    isWide: true,
    cell: ({ workflowRunId, queueName, topicName, scheduleId }) => (
      <bdi>{workflowRunId ?? queueName ?? topicName ?? scheduleId ?? ""}</bdi>
    ),
  },
  { title: "Failed", width: "8.5rem", cell: (letter) => <Time at={failedAt(letter)} /> },
];

export function Status({ letter: { responseStatus } }: { letter: DeadLetter }) {
  return <Badge tone="bad">{responseStatus === 0 ? "no response" : `status ${responseStatus}`}</Badge>;
}
