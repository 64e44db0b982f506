/** The measurements as a page: goals with results, ratios to the peers, every row. */
import { figure, spreadText, table } from "../harness/table.ts";
import type { PendingResult } from "./pending.ts";
import type { ScheduleResult } from "./schedules.ts";
import type { Row } from "./throughput.ts";

export const HEADING = "# Results of the messaging bench";

export interface Results {
  /** One line each. */
  readonly facts: readonly string[];
  readonly rows: readonly Row[];
  readonly schedules: ScheduleResult | undefined;
  readonly pending: PendingResult | undefined;
}

/** Names that goals refer to. */
export const names = {
  secondCore: "larder, history on the second core",
  bullMq: "BullMQ + redis-server",
  pgBoss: "pg-boss + PostgreSQL",
  idle: "idle, one now and then",
  one: "1 publisher",
  many: "64 publishers",
  most: "256 publishers",
  delayedIdle: "delayed by 1 s, idle",
  delayedLoaded: "delayed by 1 s, beside 64 publishers",
} as const;

interface Goal {
  readonly what: string;
  readonly wanted: string;
  /** Undefined: not measured in this run. */
  measure(results: Results): { text: string; isReached: boolean } | undefined;
}

const PER_SECOND_MIN = 18_000;
const P99_MS_MAX = 12;
const IDLE_P50_MS_MAX = 5;
const PENDING_BYTES_MAX = 700 * 1024 * 1024;
const START_MS_MAX = 10_000;
const BULLMQ_TIMES_MIN = 2.5;
const PG_BOSS_TIMES_MIN = 8;

const goals: readonly Goal[] = [
  {
    what: "accepted and delivered per second, 64 publishers, history on the second core",
    wanted: "18 k or more each",
    measure: ({ rows }) => {
      const row = find(rows, names.secondCore, names.many);
      if (row === undefined) return undefined;
      const isReached = row.accepted.median >= PER_SECOND_MIN && row.delivered.median >= PER_SECOND_MIN;
      return { text: `${figure(row.accepted.median)} and ${figure(row.delivered.median)}`, isReached };
    },
  },
  {
    what: "the same: backlog",
    wanted: "does not grow",
    measure: ({ rows }) => {
      const row = find(rows, names.secondCore, names.many);
      if (row === undefined) return undefined;
      const isReached = row.growingRounds === 0;
      return { text: `${isReached ? "steady" : "grows"}, ${row.outstandingMax} at most`, isReached };
    },
  },
  {
    what: "the same: publish to arrival, p99",
    wanted: `below ${P99_MS_MAX} ms`,
    measure: ({ rows }) => msGoal(find(rows, names.secondCore, names.many)?.arrivalP99.median, P99_MS_MAX),
  },
  {
    what: "idle: publish to arrival, p50",
    wanted: `below ${IDLE_P50_MS_MAX} ms`,
    measure: ({ rows }) => msGoal(find(rows, names.secondCore, names.idle)?.arrivalP50.median, IDLE_P50_MS_MAX),
  },
  {
    what: "delivered per second beside BullMQ (appendfsync always)",
    wanted: `${BULLMQ_TIMES_MIN} times`,
    measure: ({ rows }) => timesGoal(rows, names.bullMq, BULLMQ_TIMES_MIN),
  },
  {
    what: "delivered per second beside pg-boss",
    wanted: `${PG_BOSS_TIMES_MIN} times`,
    measure: ({ rows }) => timesGoal(rows, names.pgBoss, PG_BOSS_TIMES_MIN),
  },
  {
    what: "resident memory with 1 M delayed messages of 1 KB",
    wanted: "at most 700 MB",
    measure: ({ pending }) => {
      if (pending === undefined || pending.count < 1_000_000) return undefined;
      const bytes = Math.max(pending.residentBytes ?? Number.NaN, pending.residentAfterStartBytes ?? Number.NaN);
      return { text: megabytes(bytes), isReached: bytes <= PENDING_BYTES_MAX };
    },
  },
  {
    what: "restart with 1 M delayed messages of 1 KB",
    wanted: "below 10 s",
    measure: ({ pending }) => {
      if (pending === undefined || pending.count < 1_000_000) return undefined;
      return { text: `${(pending.answeredMs / 1_000).toFixed(1)} s`, isReached: pending.answeredMs < START_MS_MAX };
    },
  },
];

export function report(results: Results): string {
  const { facts, rows, schedules, pending } = results;
  const parts = [
    HEADING,
    "The head of `bench/messaging.bench.ts` describes the method. Made by `npm run bench -- messaging`.",
    facts.map((fact) => `- ${fact}`).join("\n"),
    "## Goals of messaging",
    goalTable(results),
  ];
  if (rows.length > 0) parts.push("## Publish to delivery", throughputTable(rows), "## Times", timeTable(rows));
  const late = rows.filter(({ delayedP50 }) => delayedP50 !== undefined);
  if (late.length > 0 || schedules !== undefined) parts.push("## Lateness", latenessTable(late, schedules));
  if (pending !== undefined) parts.push("## Messages that wait", pendingTable(pending));
  return `${parts.join("\n\n")}\n`;
}

function goalTable(results: Results): string {
  const cells = goals.map(({ what, wanted, measure }) => {
    const measured = measure(results);
    if (measured === undefined) return [what, wanted, "not measured", ""];
    return [what, wanted, measured.text, measured.isReached ? "yes" : "NO"];
  });
  return table(["goal", "wanted", "measured", "reached"], cells);
}

function throughputTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => {
    const reference = find(rows, names.secondCore, row.workload.name);
    const isDelivering = reference !== undefined && reference.delivered.median > 0;
    const ratio = isDelivering ? row.delivered.median / reference.delivered.median : undefined;
    return [
      `${row.subject}: ${row.workload.name}`,
      spreadText(row.accepted),
      spreadText(row.delivered),
      ratio === undefined ? "" : ratio.toFixed(2),
      row.growingRounds > 0 ? `grows, ${row.outstandingMax}` : `${row.outstandingMax}`,
      `${row.serverCore.toFixed(0)} %`,
      `${row.loadCore.toFixed(0)} %`,
      figure(row.perCpuSecond),
      `${row.faults}`,
    ];
  });
  const head = ["subject: load", "accepted/s", "delivered/s", "ratio", "backlog", "core 0", "load"];
  return table([...head, "delivered per CPU s", "lost, refused, twice"], cells);
}

function timeTable(rows: readonly Row[]): string {
  const cells = rows
    .filter(({ workload }) => workload.publishers > 0)
    .map((row) => [
      `${row.subject}: ${row.workload.name}`,
      ...[row.arrivalP50, row.arrivalP99, row.answerP50, row.answerP99].map(({ median }) => median.toFixed(1)),
    ]);
  return table(["subject: load, ms", "arrival p50", "arrival p99", "answer p50", "answer p99"], cells);
}

function latenessTable(rows: readonly Row[], schedules: ScheduleResult | undefined): string {
  const cells = rows.map(({ subject, workload, delayedP50, delayedP99 }) => [
    `${subject}: ${workload.name}`,
    delayedP50?.toFixed(1) ?? "",
    delayedP99?.toFixed(1) ?? "",
    "",
  ]);
  if (schedules !== undefined) {
    const { count, arrivedCount, lateness } = schedules;
    const what = `${count} schedules of the same minute (${arrivedCount} arrived, ${figure(schedules.createdPerSecond)} created/s)`;
    cells.push([what, ...[lateness.p50Ms, lateness.p99Ms, lateness.maxMs].map((ms) => ms.toFixed(0))]);
  }
  return table(["later than due, ms", "p50", "p99", "max"], cells);
}

function pendingTable(pending: PendingResult): string {
  const { count, residentBytes, emptyBytes, residentAfterStartBytes } = pending;
  const perMessage =
    residentBytes === undefined || emptyBytes === undefined ? Number.NaN : (residentBytes - emptyBytes) / count;
  return table(
    [`${figure(count)} messages of 1 KB with a delay`, "measured"],
    [
      ["accepted in batches of 500", `${figure(pending.acceptedPerSecond)} messages/s`],
      ["resident memory, empty", megabytes(emptyBytes)],
      ["resident memory with all of them", `${megabytes(residentBytes)}, ${perMessage.toFixed(0)} bytes each`],
      ["resident memory after the restart", megabytes(residentAfterStartBytes)],
      ["on disk", megabytes(pending.diskBytes)],
      ["restart to the line `running at`", `${(pending.runningMs / 1_000).toFixed(1)} s`],
      ["restart to the first answer", `${(pending.answeredMs / 1_000).toFixed(1)} s`],
    ],
  );
}

function find(rows: readonly Row[], subject: string, workload: string): Row | undefined {
  return rows.find((row) => row.subject === subject && row.workload.name === workload);
}

function msGoal(ms: number | undefined, msMax: number): { text: string; isReached: boolean } | undefined {
  return ms === undefined ? undefined : { text: `${ms.toFixed(1)} ms`, isReached: ms < msMax };
}

function timesGoal(
  rows: readonly Row[],
  peer: string,
  timesMin: number,
): { text: string; isReached: boolean } | undefined {
  const ours = find(rows, names.secondCore, names.many);
  const theirs = find(rows, peer, names.many);
  if (ours === undefined || theirs === undefined) return undefined;
  const times = ours.delivered.median / theirs.delivered.median;
  const text = `${times.toFixed(2)} times (${figure(ours.delivered.median)} to ${figure(theirs.delivered.median)})`;
  return { text, isReached: times >= timesMin };
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "unknown" : `${(bytes / 1024 / 1024).toFixed(0)} MB`;
}
