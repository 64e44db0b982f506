/** The measurements as a page: the goals with results, and every row. */
import { figure, spreadText, table } from "../harness/table.ts";
import type { DataSet } from "./data-set.ts";
import type { DenseResult, DenseRow } from "./dense.ts";
import { GOAL_PER_SECOND, type HttpResult } from "./http.ts";
import type { SparseResult } from "./sparse-process.ts";
import { type StartResult, startNames } from "./starts.ts";
import { names } from "./subjects.ts";

export interface Results {
  /** Machine, versions, commit, and how it was measured; one line each. */
  readonly facts: readonly string[];
  /** Goals refer to searches in this one. */
  readonly goalSet: DataSet;
  readonly dense: readonly DenseResult[];
  readonly http: HttpResult | undefined;
  readonly starts: StartResult | undefined;
  readonly sparse: SparseResult | undefined;
}

/** One goal: the target and the measurement. Undefined: not measured in this run. */
interface Goal {
  readonly what: string;
  readonly wanted: string;
  measure(results: Results): { text: string; isReached: boolean } | undefined;
}

const goals: readonly Goal[] = [
  {
    what: "recall@10",
    wanted: "at least 0.99",
    measure: (results) => {
      const row = asItComes(goalResult(results), names.larder);
      return row && { text: recallText(row.recall), isReached: row.recall >= 0.99 };
    },
  },
  {
    what: "searches per second beside hnswlib-node at the same recall",
    wanted: "at least 1.0 times, aim 1.5",
    measure: (results) => {
      const times = timesAtSameRecall(goalResult(results));
      return times === undefined ? undefined : { text: times.text, isReached: times.times >= 1 };
    },
  },
  {
    what: "recall@10 of filters that up to 10 % pass",
    wanted: "1.0",
    measure: ({ dense }) => {
      const rows = dense.flatMap((result) => result.rows).filter(isLarderUpToTenth);
      if (rows.length === 0) return undefined;
      const recall = Math.min(...rows.map((row) => row.recall));
      return { text: recallText(recall), isReached: recall === 1 };
    },
  },
  ...[100, 10].map((modulus) => ({
    what: `the same: ${100 / modulus} % pass, beside hnswlib-node's callback`,
    wanted: "at least 10 times",
    measure: (results: Results) => {
      const rows = goalResult(results)?.rows.filter((row) => row.point.modulus === modulus) ?? [];
      return timesOf(rateOf(rows, names.larder), rateOf(rows, names.hnswlib), 10);
    },
  })),
  {
    what: "exact search beside a plain TypeScript loop",
    wanted: "at least 4 times",
    measure: (results) => {
      const rows = goalResult(results)?.rows.filter(isUnfiltered) ?? [];
      return timesOf(rateOf(rows, names.exact), rateOf(rows, names.plain), 4);
    },
  },
  {
    what: "upserts over HTTP, 1000 in a request, everysec, beside a query and the graph's building",
    wanted: "12 k vectors/s",
    measure: ({ http }) => {
      const [row] = http?.upserts ?? [];
      return row && { text: `${figure(row.vectorsPerSecond)}/s`, isReached: row.vectorsPerSecond >= GOAL_PER_SECOND };
    },
  },
  {
    what: "beside 12 k vectors/s: p99 of the query",
    wanted: "below 30 ms",
    measure: ({ http }) => {
      const row = http?.upserts.find(({ vectorsPerSecondMax }) => vectorsPerSecondMax === GOAL_PER_SECOND);
      return row && { text: `${row.query.p99Ms.toFixed(1)} ms`, isReached: row.query.p99Ms < 30 };
    },
  },
  {
    what: "event-loop delay p99 while queried at full load",
    wanted: "below 50 ms",
    measure: ({ http }) => {
      if (http === undefined) return undefined;
      const worstMs = Math.max(...http.queries.map((row) => row.loopDelayMs));
      return { text: `${worstMs.toFixed(1)} ms`, isReached: worstMs < 50 };
    },
  },
  ...Object.values(startNames).map((name) => ({
    what: `start from the ${name}, to the first answer`,
    wanted: "below 2 s",
    measure: ({ starts }: Results) => {
      const ms = starts?.rows.find((row) => row.what === name)?.answeredMs.median;
      return ms === undefined ? undefined : { text: `${(ms / 1_000).toFixed(2)} s`, isReached: ms < 2_000 };
    },
  })),
];

export function report(results: Results): string {
  const { facts, dense, http, starts, sparse } = results;
  const parts = [
    "# Results of the vector bench",
    "The head of `bench/vector.bench.ts` describes the method. Made by `npm run bench -- vector`.",
    facts.map((fact) => `- ${fact}`).join("\n"),
    "## Goals of the vector index",
    goalTable(results),
  ];
  for (const result of dense) {
    parts.push(`## ${titleOf(result)}`);
    if (result.rows.some(isUnfiltered)) parts.push(denseTable(result));
    if (!result.rows.every(isUnfiltered)) parts.push(filteredTable(result));
    parts.push(buildTable(result));
  }
  if (http !== undefined) parts.push(`## ${http.set.name} over HTTP`, upsertTable(http), queryTable(http));
  if (sparse !== undefined) parts.push("## Sparse and hybrid", sparseTable(sparse));
  if (starts !== undefined) parts.push(`## Starts with ${starts.set.name}`, startTable(starts));
  return `${parts.join("\n\n")}\n`;
}

function goalTable(results: Results): string {
  const rows = goals.map(({ what, wanted, measure }) => {
    const measured = measure(results);
    const verdict = measured === undefined ? "" : measured.isReached ? "yes" : "NO";
    return [what, wanted, measured?.text ?? "not measured", verdict];
  });
  return table(["goal", "wanted", "measured", "reached"], rows);
}

function denseTable(result: DenseResult): string {
  const times = timesAtSameRecall(result);
  const rows = table(
    ["one caller in the process", "effort", "recall@10", "searches/s", "p50 ms", "p99 ms"],
    result.rows
      .filter(isUnfiltered)
      .map((row) => [
        row.subject,
        row.point.effort === undefined ? "as it comes" : String(row.point.effort),
        recallText(row.recall),
        spreadText(row.perSecond),
        row.p50Ms.toFixed(3),
        row.p99Ms.toFixed(3),
      ]),
  );
  return times === undefined ? rows : `${rows}\n\nAt the recall of larder as it comes: ${times.text} hnswlib-node.`;
}

function filteredTable({ rows }: DenseResult): string {
  return table(
    ["one caller in the process", "pass", "effort", "recall@10", "searches/s", "beside hnswlib", "p50 ms", "p99 ms"],
    rows
      .filter((row) => !isUnfiltered(row))
      .toSorted((a, b) => b.point.modulus - a.point.modulus)
      .map((row) => {
        const peer = rateOf(
          rows.filter(({ point }) => point.modulus === row.point.modulus),
          names.hnswlib,
        );
        return [
          row.subject,
          `${100 / row.point.modulus} %`,
          row.point.effort === undefined ? "as it comes" : String(row.point.effort),
          recallText(row.recall),
          spreadText(row.perSecond),
          peer === undefined ? "" : (row.perSecond.median / peer).toFixed(1),
          row.p50Ms.toFixed(3),
          row.p99Ms.toFixed(3),
        ];
      }),
  );
}

function buildTable({ set, builds }: DenseResult): string {
  return table(
    ["building", "seconds", "vectors/s", "resident bytes per vector", "its own figure"],
    builds.map((build) => [
      build.subject,
      (build.buildMs / 1_000).toFixed(1),
      figure((set.rowCount * 1_000) / build.buildMs),
      figure(build.residentBytes / set.rowCount),
      build.ownBytes === undefined ? "" : figure(build.ownBytes / set.rowCount),
    ]),
  );
}

function upsertTable({ upserts }: HttpResult): string {
  return table(
    [
      "upserts, values with",
      "vectors/s",
      "answer p50 ms",
      "p99 ms",
      "query beside p50 ms",
      "p99 ms",
      "max ms",
      "loop delay p99 ms",
      "pending at the end",
      "graph whole after s",
    ],
    upserts.map((row) => [
      row.vectorsPerSecondMax === undefined
        ? row.digits
        : `${row.digits}, ${figure(row.vectorsPerSecondMax)}/s at most`,
      figure(row.vectorsPerSecond),
      row.answer.p50Ms.toFixed(1),
      row.answer.p99Ms.toFixed(1),
      row.query.p50Ms.toFixed(1),
      row.query.p99Ms.toFixed(1),
      row.query.maxMs.toFixed(1),
      row.loopDelayMs.toFixed(1),
      figure(row.pendingCount),
      (row.builtMs / 1_000).toFixed(1),
    ]),
  );
}

function queryTable({ queries, recall, memory, set }: HttpResult): string {
  const rows = table(
    ["queries over", "queries/s", "p50 ms", "p99 ms", "loop delay p99 ms"],
    queries.map((row) => [
      row.connections === 1 ? "1 connection" : `${row.connections} connections`,
      spreadText(row.perSecond),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      row.loopDelayMs.toFixed(1),
    ]),
  );
  const each = (bytes: number | undefined): string => (bytes === undefined ? "unknown" : figure(bytes / set.rowCount));
  const bytes = `${each(memory.residentBytes)} (rows ${each(memory.rowBytes)}, graph ${each(memory.graphBytes)})`;
  return `${rows}\n\nrecall@10 of these answers: ${recallText(recall)}. Resident bytes of the process per vector: ${bytes}.`;
}

function sparseTable({ count, upsertsPerSecond, bytesPerDocument, rows }: SparseResult): string {
  const searches = table(
    ["one caller in the process", "searches/s", "p50 ms", "p99 ms", "plain lists, searches/s"],
    rows.map((row) => [
      row.what,
      figure(row.perSecond),
      row.p50Ms.toFixed(3),
      row.p99Ms.toFixed(3),
      row.plainPerSecond === undefined ? "" : figure(row.plainPerSecond),
    ]),
  );
  const text = `${figure(count)} documents of 60 values: ${figure(upsertsPerSecond)} upserts/s, ${figure(bytesPerDocument)} bytes each.`;
  return `${text}\n\n${searches}`;
}

function startTable(starts: StartResult): string {
  const rows = starts.rows.map((row) => [
    row.what,
    `${spreadText(row.runningMs)} ms`,
    `${spreadText(row.answeredMs)} ms`,
    `${spreadText(row.builtMs)} ms`,
    `${figure(row.residentBytes)}B`,
  ]);
  const files = `Journal ${figure(starts.journalBytes)}B, snapshot ${figure(starts.snapshotBytes)}B (written in ${starts.snapshotMs.toFixed(0)} ms), graph file ${figure(starts.graphFileBytes)}B.`;
  return `${table(["start from", "to the line `running at`", "to the first answer", "until the graph is whole", "resident"], rows)}\n\n${files}`;
}

function titleOf({ set }: DenseResult): string {
  return `${set.name}, ${set.similarity.toLowerCase()}`;
}

function goalResult({ goalSet, dense }: Results): DenseResult | undefined {
  return dense.find(({ set }) => set === goalSet);
}

function isUnfiltered({ point }: DenseRow): boolean {
  return point.modulus === 1;
}

function isLarderUpToTenth({ subject, point }: DenseRow): boolean {
  return subject === names.larder && point.modulus >= 10;
}

function asItComes(result: DenseResult | undefined, subject: string): DenseRow | undefined {
  return result?.rows.find((row) => row.subject === subject && row.point.effort === undefined && isUnfiltered(row));
}

/** The default rate of larder divided by that of hnswlib-node at its recall, interpolated between its nearest efforts. */
function timesAtSameRecall(result: DenseResult | undefined): { text: string; times: number } | undefined {
  const ours = asItComes(result, names.larder);
  const theirs = result?.rows.filter((row) => row.subject === names.hnswlib && isUnfiltered(row)) ?? [];
  if (ours === undefined || theirs.length === 0) return undefined;
  const enough = theirs.findIndex((row) => row.recall >= ours.recall);
  const above = theirs[enough];
  const below = theirs[enough - 1];
  if (above === undefined) {
    const best = theirs.reduce((left, right) => (left.recall > right.recall ? left : right));
    const times = ours.perSecond.median / best.perSecond.median;
    return { text: `${times.toFixed(2)} times (its recall stops at ${recallText(best.recall)})`, times };
  }
  const share = below === undefined ? 1 : (ours.recall - below.recall) / (above.recall - below.recall);
  const rate = (below?.perSecond.median ?? 0) * (1 - share) + above.perSecond.median * share;
  const times = ours.perSecond.median / rate;
  return { text: `${times.toFixed(2)} times (${figure(ours.perSecond.median)} to ${figure(rate)})`, times };
}

function rateOf(rows: readonly DenseRow[], subject: string): number | undefined {
  return rows.find((row) => row.subject === subject)?.perSecond.median;
}

function timesOf(
  ours: number | undefined,
  theirs: number | undefined,
  timesMin: number,
): { text: string; isReached: boolean } | undefined {
  if (ours === undefined || theirs === undefined) return undefined;
  const times = ours / theirs;
  return { text: `${times.toFixed(1)} times (${figure(ours)} to ${figure(theirs)})`, isReached: times >= timesMin };
}

function recallText(recall: number): string {
  return recall.toFixed(4);
}
