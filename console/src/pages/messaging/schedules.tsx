/** Schedules: messages that are published at the times of a cron expression. */
import "./messaging.css";
import { useFirstRows } from "../../api/first-rows.ts";
import { Badge } from "../../parts/badge.tsx";
import { Code } from "../../parts/code.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import type { MessageFields } from "./message-facts.tsx";
import { api, page } from "./places.ts";

export interface Schedule extends Omit<MessageFields, "messageId" | "url" | "maxRetries"> {
  readonly scheduleId: string;
  readonly cron: string;
  readonly createdAt: number;
  readonly destination: string;
  readonly retries: number;
  /** Seconds. */
  readonly delay?: number;
  readonly isPaused: boolean;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly redactFields?: string;
  readonly lastScheduleTime?: number;
  readonly nextScheduleTime?: number;
  readonly lastScheduleStates?: Readonly<Record<string, string>>;
  readonly error?: string;
}

const WATCH_MS = 10_000;

const FIRST = `curl -X POST "$QSTASH_URL/v2/schedules/https://example.com/report" \\
  -H "Authorization: Bearer $QSTASH_TOKEN" -H "Upstash-Cron: 0 4 * * *"`;

export default function Schedules({ params: { tenant = "" } }: PageProps) {
  const { rows, error, onEnd, reload } = useFirstRows<Schedule>({
    path: api(tenant, "schedules"),
    nameOf: ({ scheduleId }) => scheduleId,
    everyMs: WATCH_MS,
  });
  return (
    <>
      <PageHead
        title="Schedules"
        lead="Messages that are published at the times of a cron expression"
        actions={
          <a class="button main" href={page(tenant, "new-schedule")}>
            Create a schedule
          </a>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Table
          label="Schedules"
          columns={columns}
          rows={rows}
          onEnd={onEnd}
          keyOf={({ scheduleId }) => scheduleId}
          hrefOf={({ scheduleId }) => page(tenant, "schedules", scheduleId)}
          empty={
            <Empty>
              <p>A schedule publishes its message each time it is due. Create the first one:</p>
              <Code label="A request that creates a schedule" text={FIRST} />
            </Empty>
          }
        />
      )}
    </>
  );
}

const columns: readonly Column<Schedule>[] = [
  { title: "Id", width: "minmax(6rem, 1fr)", cell: ({ scheduleId }) => <bdi>{scheduleId}</bdi> },
  {
    title: "Cron",
    width: "minmax(6rem, 1fr)",
    cell: ({ cron }) => (
      <code>
        <bdi>{cron}</bdi>
      </code>
    ),
  },
  { title: "State", width: "6.5rem", isWide: true, cell: (schedule) => <ScheduleState schedule={schedule} /> },
  {
    title: "Destination",
    width: "minmax(8rem, 2fr)",
    isWide: true,
    cell: ({ method, destination }) => (
      <span title={destination}>
        {method} <bdi>{destination}</bdi>
      </span>
    ),
  },
  { title: "Last", width: "8.5rem", isWide: true, cell: ({ lastScheduleTime }) => <Time at={lastScheduleTime} /> },
  {
    title: "Next",
    width: "8.5rem",
    cell: ({ isPaused, nextScheduleTime }) => (isPaused ? "paused" : <Time at={nextScheduleTime} />),
  },
];

export function ScheduleState({ schedule: { isPaused, error } }: { schedule: Schedule }) {
  if (isPaused) return <Badge tone="warn">paused</Badge>;
  return error === undefined ? <Badge tone="good">active</Badge> : <Badge tone="bad">refused</Badge>;
}
