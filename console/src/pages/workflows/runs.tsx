/** Workflow runs, the latest first. */
import { usePages } from "../../api/pages.ts";
import { Button } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { type FilterField, Filters, useFilters, useQueryChange } from "../../parts/filters.tsx";
import { durationText } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { StateBadge, stateText } from "../../parts/state.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { page } from "./places.ts";
import { loadRuns, type Run } from "./run-log.ts";

const states = ["RUN_STARTED", "RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED"] as const;

const fields: readonly FilterField[] = [
  { name: "state", label: "State", kind: [["", "Any"], ...states.map((state) => [state, stateText(state)] as const)] },
  { name: "workflowUrl", label: "Workflow", placeholder: "https://…" },
  { name: "workflowRunId", label: "Run", placeholder: "wfr_…" },
  { name: "label", label: "Label" },
  { name: "flowControlKey", label: "Flow-control key", isRare: true },
  { name: "callerIp", label: "Address of its client", isRare: true },
  { name: "fromDate", label: "From", kind: "time", isRare: true },
  { name: "toDate", label: "To", kind: "time", isRare: true },
];

const viewFields: readonly FilterField[] = [{ name: "live", label: "Live" }];

/** The route returns no more in one page. */
const PAGE_ROWS = 10;
const LIVE_MS = 3_000;

export default function Runs({ params: { tenant = "" } }: PageProps) {
  const filters = useFilters(fields);
  const { live } = useFilters(viewFields);
  const change = useQueryChange();
  const isLive = live === "on";
  const pages = usePages(
    async (cursor, signal) => {
      const { runs, cursor: next } = await loadRuns(
        tenant,
        { ...filters, count: PAGE_ROWS, trimBody: 0, cursor },
        signal,
      );
      return { rows: runs, cursor: next };
    },
    [tenant, filters],
    { keyOf: rowKey, everyMs: isLive ? LIVE_MS : undefined },
  );
  const rows = latestOfEach(pages.rows);
  return (
    <>
      <PageHead
        title="Runs"
        lead="The runs of workflows, the latest first"
        actions={
          <>
            <Button aria-pressed={isLive} onClick={() => change({ live: isLive ? undefined : "on" })}>
              {isLive ? "● Live" : "○ Live"}
            </Button>
            <Button onClick={pages.reload}>Reload</Button>
          </>
        }
      />
      <Filters label="Filters of runs" fields={fields} />
      {pages.error !== undefined && <ErrorBox error={pages.error} onRetry={pages.reload} />}
      {pages.isLoading ? (
        <Loading />
      ) : (
        <Table
          label="Runs"
          columns={columns}
          rows={rows}
          keyOf={({ workflowRunId }) => workflowRunId}
          hrefOf={({ workflowRunId }) => page(tenant, "runs", workflowRunId)}
          onEnd={pages.onEnd}
          empty={Object.keys(filters).length > 0 ? <Empty>No run matches these filters.</Empty> : <NoRuns />}
        />
      )}
    </>
  );
}

/** A run whose state has changed is another row for the list that watches. */
function rowKey({ workflowRunId, workflowState }: Run): string {
  return `${workflowRunId} ${workflowState}`;
}

function latestOfEach(runs: readonly Run[]): readonly Run[] {
  const seen = new Set<string>();
  return runs.filter(({ workflowRunId }) => !seen.has(workflowRunId) && seen.add(workflowRunId));
}

const columns: readonly Column<Run>[] = [
  { title: "Run", width: "minmax(5rem, 14rem)", cell: ({ workflowRunId }) => <code>{workflowRunId}</code> },
  { title: "State", width: "7rem", cell: ({ workflowState }) => <StateBadge state={workflowState} /> },
  {
    title: "Workflow",
    width: "minmax(8rem, 2fr)",
    isWide: true,
    cell: ({ workflowUrl }) => (
      <span title={workflowUrl}>
        <bdi>{workflowUrl}</bdi>
      </span>
    ),
  },
  { title: "Label", width: "minmax(4rem, 1fr)", isWide: true, cell: ({ label }) => <bdi>{label}</bdi> },
  {
    title: "Duration",
    width: "6rem",
    align: "right",
    isWide: true,
    cell: ({ workflowRunCreatedAt, workflowRunCompletedAt }) =>
      workflowRunCompletedAt === undefined ? "–" : durationText(workflowRunCompletedAt - workflowRunCreatedAt),
  },
  { title: "Started", width: "7rem", cell: ({ workflowRunCreatedAt }) => <Time at={workflowRunCreatedAt} /> },
];

const FIRST = `curl -X POST "$QSTASH_URL/v2/trigger/http://localhost:3000/api/workflow" \\
  -H "Authorization: Bearer $QSTASH_TOKEN" -d '{"order":1}'`;

function NoRuns() {
  return (
    <Empty>
      <p>
        Runs of workflows appear here, step by step. Serve a workflow with @upstash/workflow, then start its first run:
      </p>
      <Code label="A request that starts a run" text={FIRST} />
    </Empty>
  );
}
