/** The audit log: starts, stops, log-ins and administrative changes, the newest first. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { type FilterField, Filters, useFilters } from "../../parts/filters.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

interface Entry {
  readonly time: string;
  readonly action: string;
  readonly subject?: string;
  readonly caller: string;
  readonly outcome: "done" | "refused" | "failed";
  readonly reason?: string;
}

interface AuditPage {
  readonly entries: readonly Entry[];
  readonly unreadableLines: number;
  readonly cursor?: string;
}

const fields: readonly FilterField[] = [
  { name: "action", label: "Action", placeholder: "databases." },
  { name: "subject", label: "Tenant or file" },
  {
    name: "outcome",
    label: "Outcome",
    kind: [
      ["", "Any"],
      ["done", "Done"],
      ["refused", "Refused"],
      ["failed", "Failed"],
    ],
  },
  { name: "from", label: "From", kind: "time", isRare: true },
  { name: "to", label: "To", kind: "time", isRare: true },
];

const PAGE_ROWS = 200;
/** The server has no data directory, so it keeps no log. */
const NOT_KEPT_STATUS = 409;

export default function AuditLog() {
  const filters = useFilters(fields);
  const [isKept, setKept] = useState(true);
  const [unreadableLines, setUnreadableLines] = useState(0);
  const pages = usePages(
    async (cursor, signal) => {
      try {
        const query = { ...filters, count: PAGE_ROWS, cursor };
        const page = await request<AuditPage>("admin/v1/audit", { query, signal });
        setUnreadableLines((old) => (cursor === undefined ? 0 : old) + page.unreadableLines);
        return { rows: page.entries, cursor: page.cursor };
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== NOT_KEPT_STATUS) throw error;
        setKept(false);
        return { rows: [] };
      }
    },
    [filters],
    { keyOf: ({ time, action, subject }) => `${time} ${action} ${subject}` },
  );
  if (!isKept)
    return (
      <>
        <PageHead title="Audit log" />
        <Empty>This server has no data directory for an audit log. Start it with --data-dir to keep one.</Empty>
      </>
    );
  return (
    <>
      <PageHead
        title="Audit log"
        lead="Starts, stops, log-ins and administrative changes, the newest first"
        actions={<Button onClick={pages.reload}>Reload</Button>}
      />
      <Filters label="Filters of the audit log" fields={fields} />
      {pages.error !== undefined && <ErrorBox error={pages.error} onRetry={pages.reload} />}
      {unreadableLines > 0 && <p class="hint">Lines of the log that are no entries: {unreadableLines}</p>}
      {pages.isLoading ? (
        <Loading />
      ) : (
        <Table
          label="Audit log"
          rows={pages.rows}
          keyOf={(_, index) => `${index}`}
          columns={columns}
          onEnd={pages.onEnd}
          empty={
            pages.onEnd === undefined ? (
              <Empty>
                {Object.keys(filters).length > 0
                  ? "No entry of the log passes these filters."
                  : "A start of the server, a log-in or a change of a database appears here. The log is empty."}
              </Empty>
            ) : (
              <Loading />
            )
          }
        />
      )}
    </>
  );
}

const tones: Readonly<Record<Entry["outcome"], Tone>> = { done: "good", refused: "warn", failed: "bad" };

const columns: readonly Column<Entry>[] = [
  { title: "Time", width: "minmax(9rem, 13rem)", cell: ({ time }) => <Time at={Date.parse(time)} isExact /> },
  { title: "Action", width: "minmax(7rem, 2fr)", cell: ({ action }) => <code>{action}</code> },
  { title: "Tenant or file", width: "minmax(5rem, 1fr)", cell: ({ subject = "–" }) => <bdi>{subject}</bdi> },
  { title: "Caller", width: "minmax(9rem, 1fr)", isWide: true, cell: ({ caller }) => caller },
  {
    title: "Outcome",
    width: "minmax(6rem, 10rem)",
    cell: ({ outcome }) => <Badge tone={tones[outcome]}>{outcome}</Badge>,
  },
  { title: "Reason", width: "minmax(6rem, 1fr)", isWide: true, cell: ({ reason = "" }) => reason },
];
