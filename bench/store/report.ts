/**
 * The measurements as a page: every row, the ratios between subjects, and the
 * goals with results.
 */
import { figure, percentText, spreadText, table } from "../harness/table.ts";
import { type DataTypeResult, dataTypeTable, RATE_MIN, rateOf, WEIGHT_MAX, weightOf } from "./data-types.ts";
import type { KeyspaceResult } from "./keyspace-process.ts";
import type { RecoveryResult, StartResult } from "./recovery.ts";
import type { ThroughputRow } from "./throughput.ts";

export const STORE_HEADING = "# Results of the store bench";

export interface Results {
  /** Machine, versions, commit, and how it was measured; one line each. */
  readonly facts: readonly string[];
  readonly throughput: readonly ThroughputRow[];
  readonly starts: StartResult | undefined;
  readonly keyspaces: readonly KeyspaceResult[];
  readonly recovery: RecoveryResult | undefined;
}

/** One goal: the target and the measurement. Undefined: not measured in this run. */
interface Goal {
  readonly what: string;
  readonly wanted: string;
  measure(results: Results): { text: string; isReached: boolean } | undefined;
}

const ONE = "larder, one thread";
const WEBDIS = "webdis + redis-server";
const GATEWAY = "ioredis gateway + redis-server";
const PIPELINE = "/pipeline of 100 SETs";

const BARE = "bare reader";
const REDIS = "redis-server over TCP";
const SET = "SET, POST /";

const goals: readonly Goal[] = [
  {
    what: `${SET} beside a bare reader of HTTP`,
    wanted: "at least 0.85 times",
    measure: ({ throughput }) => ratioGoal(throughput, { workload: SET, peer: BARE, floor: 0.85 }),
  },
  {
    what: `${SET} beside SET of redis-server over TCP`,
    wanted: "at least 0.9 times",
    measure: ({ throughput }) => ratioGoal(throughput, { workload: SET, peer: REDIS, named: "SET", floor: 0.9 }),
  },
  p99Goal(SET, 2.5),
  ...[SET, "GET, POST /"].map((workload) => ({
    what: `${workload} beside webdis + redis-server`,
    wanted: "at least 1.0 times",
    measure: ({ throughput }: Results) => ratioGoal(throughput, { workload, peer: WEBDIS, floor: 1 }),
  })),
  {
    what: `${PIPELINE}, commands per second`,
    wanted: "at least 1.5 M",
    measure: ({ throughput }) => {
      const row = find(throughput, { subject: ONE, workload: PIPELINE });
      return row && { text: figure(row.commandsPerSecond), isReached: row.commandsPerSecond >= 1.5e6 };
    },
  },
  {
    what: `${PIPELINE} beside the ioredis gateway`,
    wanted: "at least 5 times",
    measure: ({ throughput }) => ratioGoal(throughput, { workload: PIPELINE, peer: GATEWAY, floor: 5 }),
  },
  ...[
    { workload: "SET 10 KB", perSecond: 22_000 },
    { workload: "GET 10 KB", perSecond: 30_000 },
  ].flatMap(({ workload, perSecond }) => [
    {
      what: `${workload}, requests per second`,
      wanted: `at least ${figure(perSecond)}`,
      measure: ({ throughput }: Results) => {
        const rate = find(throughput, { subject: ONE, workload })?.requestsPerSecond.median;
        return rate === undefined ? undefined : { text: figure(rate), isReached: rate >= perSecond };
      },
    },
    {
      what: `${workload} beside the ioredis gateway`,
      wanted: "at least 1.0 times",
      measure: ({ throughput }: Results) => ratioGoal(throughput, { workload, peer: GATEWAY, floor: 1 }),
    },
    p99Goal(workload, 8),
  ]),
  ...[
    { name: "one thread", msMax: 140, read: (starts: StartResult) => starts.oneThreadMs },
    { name: "a thread for each area", msMax: 200, read: (starts: StartResult) => starts.answeredMs },
  ].map(({ name, msMax, read }) => ({
    what: `empty start to the first answer, ${name}`,
    wanted: `at most ${msMax} ms`,
    measure: ({ starts }: Results) =>
      starts && { text: `${spreadText(read(starts))} ms`, isReached: read(starts).median <= msMax },
  })),
  {
    what: "start with 1 M keys in a snapshot",
    wanted: "at most 800 ms",
    measure: ({ recovery }) =>
      recovery === undefined || recovery.count < 1_000_000
        ? undefined
        : { text: `${figure(recovery.loadMs)} ms`, isReached: recovery.loadMs <= 800 },
  },
  {
    what: "memory of a small string key",
    wanted: "below 250 bytes",
    measure: ({ keyspaces }) => {
      const [first] = keyspaces;
      return first && { text: `${first.bytesPerKey} bytes`, isReached: first.bytesPerKey < 250 };
    },
  },
];

export function report(results: Results): string {
  const { facts, throughput, starts, keyspaces, recovery } = results;
  const parts = [
    STORE_HEADING,
    "The head of `bench/store.bench.ts` describes the method. Made by `npm run bench -- store`.",
    facts.map((fact) => `- ${fact}`).join("\n"),
    "## Goals",
    goalTable(results),
  ];
  if (throughput.length > 0)
    parts.push("## Ratios", ratioTable(throughput), "## Throughput", throughputTable(throughput));
  if (keyspaces.length > 0) parts.push("## Resident keys", keyspaceTable(keyspaces));
  if (starts !== undefined || recovery !== undefined) parts.push("## Starts", startTable(starts, recovery));
  return `${parts.join("\n\n")}\n`;
}

const DATA_TYPES_HEADING = "## Data types";

/**
 * The page with its results of the data types replaced. They are its last part and state when
 * they were measured, since that may be at another time than the rest.
 */
export function withDataTypes(
  page: string,
  { facts, results }: { facts: readonly string[]; results: readonly DataTypeResult[] },
): string {
  const rates = results.map((result) => {
    const value = rateOf(result);
    return { name: result.name, value, isReached: value !== undefined && value >= RATE_MIN };
  });
  const weights = results.map((result) => {
    const value = weightOf(result);
    return { name: result.name, value, isReached: value !== undefined && value <= WEIGHT_MAX };
  });
  const [before = ""] = page.split(`${DATA_TYPES_HEADING}\n`);
  const parts = [
    before.trimEnd(),
    DATA_TYPES_HEADING,
    "The head of `bench/data-types.bench.ts` describes the method. This part is measured separately:",
    facts
      .filter((fact) => /^(?:date|commit|node|redis-server|load):/.test(fact))
      .map((fact) => `- ${fact}`)
      .join("\n"),
    table(
      ["goal", "wanted", "measured", "reached"],
      [
        goalOfRows("rate beside redis-server", `at least ${RATE_MIN}`, rates),
        goalOfRows("weight beside redis-server", `at most ${WEIGHT_MAX}`, weights),
      ],
    ),
    dataTypeTable(results),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** The rows that reach a goal: all, or all except the named ones. */
function goalOfRows(
  what: string,
  wanted: string,
  figures: readonly { name: string; value: number | undefined; isReached: boolean }[],
): readonly string[] {
  const missed = figures.filter(({ value, isReached }) => value !== undefined && !isReached);
  const names = missed.map(({ name, value }) => `${name} ${value?.toFixed(2)}`).join(", ");
  return [what, wanted, names === "" ? "all rows" : `all but ${names}`, names === "" ? "yes" : "NO"];
}

function goalTable(results: Results): string {
  const rows = goals.map(({ what, wanted, measure }) => {
    const measured = measure(results);
    const verdict = measured === undefined ? "" : measured.isReached ? "yes" : "NO";
    return [what, wanted, measured?.text ?? "not measured", verdict];
  });
  return table(["goal", "wanted", "measured", "reached"], rows);
}

/** Requests per second of each workload, as multiples of the first subject that has it. */
function ratioTable(throughput: readonly ThroughputRow[]): string {
  const subjects = [...new Set(throughput.map(({ subject }) => subject))].filter((name) => !name.includes("TCP"));
  const workloads = [...new Set(throughput.map(({ workload }) => workload))];
  const rows = workloads.flatMap((workload) => {
    const rates = subjects.map((subject) => find(throughput, { subject, workload })?.requestsPerSecond.median);
    const [base] = rates;
    if (base === undefined) return [];
    return [[workload, ...rates.map((rate) => (rate === undefined ? "" : (rate / base).toFixed(2)))]];
  });
  return table(["requests/s as multiples", ...subjects], rows);
}

function throughputTable(throughput: readonly ThroughputRow[]): string {
  return table(
    ["subject: workload", "requests/s", "commands/s", "p50 ms", "p99 ms", "core 0", "failed"],
    throughput.map((row) => [
      `${row.subject}: ${row.workload}`,
      spreadText(row.requestsPerSecond),
      figure(row.commandsPerSecond),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      percentText(row.serverShare),
      String(row.failed),
    ]),
  );
}

function keyspaceTable(keyspaces: readonly KeyspaceResult[]): string {
  return table(
    ["keys", "bytes/key", "resident/key", "longest command ms", "longest collection ms", "inserts/s"],
    keyspaces.map((row) => [
      figure(row.count),
      String(row.bytesPerKey),
      String(row.residentBytesPerKey),
      row.longestInsertMs.toFixed(1),
      Object.entries(row.pausesMs)
        .map(([kind, ms]) => `${kind} ${ms.toFixed(1)}`)
        .join(", "),
      figure(row.insertsPerSecond),
    ]),
  );
}

function startTable(starts: StartResult | undefined, recovery: RecoveryResult | undefined): string {
  const rows: string[][] = [];
  if (starts !== undefined) {
    rows.push(["empty: to the line `running at`", `${spreadText(starts.runningMs)} ms`]);
    rows.push(["empty: to the first answer", `${spreadText(starts.answeredMs)} ms`]);
    rows.push(["empty: to the first answer, one thread", `${spreadText(starts.oneThreadMs)} ms`]);
  }
  if (recovery !== undefined) {
    const { count, journalBytes, replayMs, snapshotMs, snapshotBytes, loadMs } = recovery;
    // The time of an empty start is not work on keys.
    const emptyMs = starts?.runningMs.median ?? 0;
    const perSecond = (ms: number): string => `${figure((count / Math.max(1, ms - emptyMs)) * 1_000)} keys/s`;
    rows.push([`${figure(count)} keys through /pipeline of 1,000`, `${figure(recovery.pipelinedPerSecond)} keys/s`]);
    rows.push(["resident memory of the server per key after that", `${figure(recovery.residentBytesPerKey)} bytes`]);
    rows.push([`start from the journal (${figure(journalBytes)}B)`, `${figure(replayMs)} ms, ${perSecond(replayMs)}`]);
    rows.push([`process that writes the snapshot`, `${figure(snapshotMs)} ms, ${perSecond(snapshotMs)}`]);
    rows.push([`start from the snapshot (${figure(snapshotBytes)}B)`, `${figure(loadMs)} ms, ${perSecond(loadMs)}`]);
  }
  return `${table(["start", "measured"], rows)}\n\nKeys per second exclude the time of an empty start.`;
}

/** The 99th percentile of a workload, beside that of the bare reader in the same run. */
function p99Goal(workload: string, msMax: number): Goal {
  return {
    what: `${workload}: p99`,
    wanted: `at most ${msMax} ms`,
    measure: ({ throughput }) => {
      const ours = find(throughput, { subject: ONE, workload })?.p99Ms;
      const bare = find(throughput, { subject: BARE, workload })?.p99Ms;
      if (ours === undefined) return undefined;
      const beside = bare === undefined ? "" : ` (bare reader ${figure(bare)} ms)`;
      return { text: `${figure(ours)} ms${beside}`, isReached: ours <= msMax };
    },
  };
}

/** `named`: the peer's name of the workload, if it is another. */
function ratioGoal(
  throughput: readonly ThroughputRow[],
  { workload, peer, named = workload, floor }: { workload: string; peer: string; named?: string; floor: number },
): { text: string; isReached: boolean } | undefined {
  const ours = find(throughput, { subject: ONE, workload })?.requestsPerSecond.median;
  const theirs = find(throughput, { subject: peer, workload: named })?.requestsPerSecond.median;
  if (ours === undefined || theirs === undefined) return undefined;
  const ratio = ours / theirs;
  return { text: `${ratio.toFixed(2)} times (${figure(ours)} to ${figure(theirs)})`, isReached: ratio >= floor };
}

function find(
  throughput: readonly ThroughputRow[],
  { subject, workload }: { subject: string; workload: string },
): ThroughputRow | undefined {
  return throughput.find((row) => row.subject === subject && row.workload === workload);
}
