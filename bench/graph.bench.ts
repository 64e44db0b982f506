/**
 * Question: what is the effect of the parameters of the approximate graph? Recall
 * and cost by the effort of a search, by the selectivity of a
 * filter, by the dead share of the graph, and by the effort of
 * building. (Comparison with other indexes: `npm run bench -- vector`.)
 *
 * Method: N clustered rows of a dimension (test/harness/clustered-rows.ts: noise of 0.4
 * of the distance between centres, 50 rows for each), and 100 queries from the
 * same clusters, by cosine, in this thread alone. Recall is the share of the 10
 * nearest rows, found by brute force in float64, among the hits, which
 * the engine scores again by their float32 rows. Times are processor time of the
 * thread, the best of three runs, so that a busy machine has little influence.
 * Filters match random records. For `dead`, random records are removed and
 * nothing is rebuilt. `file` is saving and loading.
 *
 * Read: `visits` are distances computed, `us` microseconds per search. A change
 * is worthwhile if `us` falls and recall does not. Recall at effort 48 must
 * stay above 0.99 without a filter; `unreached` (rows that no walk can reach)
 * must be 0.
 *
 * Run: npm run bench -- graph [--rows <n>] [--dimension <n>]
 *      npm run bench -- graph --part history [--rows <n>] [--dimension <n>] [--similarity <name>]
 * (bench/vector/graph-history.ts: the recall after inserts, replacements and deletes)
 */
import { parseArgs } from "node:util";
import { type Random, seededRandom } from "../src/kernel/random.ts";
import type { GraphRequest, NamespaceGraph } from "../src/vector/graph/graph.ts";
import { GROUND_LINKS, GraphKernel, NO_NODE } from "../src/vector/graph/graph-kernel.ts";
import { GraphSearcher } from "../src/vector/graph/graph-searcher.ts";
import { InlineGraphBuilder } from "../src/vector/graph/inline-graph-builder.ts";
import { similarities } from "../src/vector/index/definition.ts";
import { clusteredRows, nearestRows } from "../test/harness/clustered-rows.ts";
import { figure, table } from "./harness/table.ts";
import { printHistories } from "./vector/graph-history.ts";

const { values: options } = parseArgs({
  options: {
    rows: { type: "string", default: "20000" },
    dimension: { type: "string", default: "384" },
    part: { type: "string", default: "parameters" },
    similarity: { type: "string" },
  },
});
if (options.part === "history") {
  const { rows, dimension, similarity } = options;
  const chosen = similarities.filter((name) => similarity === undefined || name === similarity);
  await printHistories({ rows: Number(rows), dimension: Number(dimension), similarities: chosen });
  process.exit(0);
}
const ROWS = Number(options.rows);
const DIMENSION = Number(options.dimension);
const QUERIES = 100;
const RUNS = 3;
/** Processor time is counted in steps of some milliseconds, so a run lasts at least this long. */
const RUN_MS = 60;
const WANTED = 10;
const EFFORTS = [16, 32, 48, 64, 96, 128];
const SHARES = [0.5, 0.2, 0.1, 0.05, 0.01];
const DEAD_SHARES = [0.2, 0.33, 0.5];
const BUILD_EFFORTS = [64, 96, 128, 200];
/** The constant of the graph: each level has one in this many nodes of the level below. */
const LEVEL_NODES = 16;

const all = clusteredRows(seededRandom(7), {
  count: ROWS + QUERIES,
  dimension: DIMENSION,
  clusters: Math.ceil(ROWS / 50),
  noise: 0.4,
});
const rowOf = (record: number): Float32Array => all.subarray(record * DIMENSION, (record + 1) * DIMENSION);
const queries = Array.from({ length: QUERIES }, (_, i) => rowOf(ROWS + i));
const everyRecord = Array.from({ length: ROWS }, (_, record) => record);

function processorMs(work: () => void): number {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1_000;
}

function truthOf(among: readonly number[]): number[][] {
  return queries.map((query) => nearestRows(query, { similarity: "COSINE", count: WANTED, among, rowOf }));
}

type Searches = Pick<NamespaceGraph, "search">;

/** Recall, visits and microseconds of a search. */
function measure(graph: Searches, truth: readonly number[][], request: Omit<GraphRequest, "query">): string[] {
  let found = 0;
  let visits = 0;
  for (const [i, query] of queries.entries()) {
    const hits = graph.search({ ...request, query });
    const known = new Set(hits.records.subarray(0, hits.count));
    visits += hits.visits;
    found += truth[i]?.filter((record) => known.has(record)).length ?? 0;
  }
  let bestMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run += 1) bestMs = Math.min(bestMs, runMs(graph, request));
  const wanted = truth.reduce((sum, rows) => sum + rows.length, 0);
  return [(found / wanted).toFixed(4), figure(visits / QUERIES), figure((bestMs * 1_000) / QUERIES)];
}

/** Milliseconds for all queries together. */
function runMs(graph: Searches, request: Omit<GraphRequest, "query">): number {
  let ms = 0;
  let passes = 0;
  for (; ms < RUN_MS; passes += 1) {
    ms += processorMs(() => {
      for (const query of queries) graph.search({ ...request, query });
    });
  }
  return ms / passes;
}

const HEAD = ["recall", "visits", "us"];

function openGraph(): NamespaceGraph {
  const graph = new InlineGraphBuilder().open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf });
  for (const record of everyRecord) graph.insert(record, record);
  return graph;
}

function bitsOf(records: readonly number[]): Uint32Array {
  const bits = new Uint32Array(Math.ceil(ROWS / 32));
  for (const record of records) bits[record >> 5] = (bits[record >> 5] ?? 0) | (1 << (record & 31));
  return bits;
}

/** Rows that cannot be reached from the start of searches. */
function unreachedCount({ words, code, nodeCount, linksAt }: ReadGraph): number {
  const isSeen = new Uint8Array(nodeCount);
  const entry = (code.entry() >>> 0) - 1;
  const stack = [entry];
  isSeen[entry] = 1;
  let left = nodeCount - 1;
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    const start = linksAt(node);
    for (let at = start; at < start + GROUND_LINKS && words[at] !== 0; at += 1) {
      const next = (words[at] as number) - 1;
      if (isSeen[next] === 1) continue;
      isSeen[next] = 1;
      left -= 1;
      stack.push(next);
    }
  }
  return left;
}

type ReadGraph = Pick<GraphKernel, "words" | "code" | "nodeCount"> & { linksAt(node: number): number };

function levelOf(random: Random): number {
  return Math.floor(-Math.log(1 - random.unit()) / Math.log(LEVEL_NODES));
}

const truth = truthOf(everyRecord);
console.log(`\n${ROWS} x ${DIMENSION}\n`);

const graph = openGraph();
const buildMs = processorMs(() => void graph.whenBuilt());
console.log(`built in ${figure(buildMs / 1_000)} s, ${figure(graph.byteCount / ROWS)} bytes a row\n`);
const byEffort = EFFORTS.map((effort) => [`${effort}`, ...measure(graph, truth, { count: effort, effort })]);
console.log(table(["effort", ...HEAD], byEffort));

const bySelectivity = SHARES.map((share) => {
  const random = seededRandom(8);
  const passing = everyRecord.filter(() => random.unit() < share);
  const request = { count: 64, effort: 64, accepts: bitsOf(passing), acceptsStamp: 1 };
  return [`${share * 100} %`, ...measure(graph, truthOf(passing), request)];
});
console.log(`\n${table(["passing, effort 64", ...HEAD], bySelectivity)}`);

const bytes = await graph.save();
if (bytes === undefined) throw new Error("a graph with rows has a file");
const records = everyRecord.map((record) => ({ record, version: record }));
const loadMs = processorMs(() => {
  new InlineGraphBuilder().load({ dimension: DIMENSION, similarity: "COSINE", read: rowOf }, bytes, records);
});
console.log(`\nfile: ${figure(bytes.length / ROWS)} bytes a row, loaded in ${figure(loadMs)} ms`);

const byBuilding = BUILD_EFFORTS.map((effort) => {
  const kernel = GraphKernel.create(DIMENSION, "COSINE");
  if (kernel === undefined) throw new Error("there is no memory");
  const random = seededRandom(9);
  const ms = processorMs(() => {
    for (const record of everyRecord) {
      kernel.putRow(rowOf(record));
      const node = kernel.code.insert(record, levelOf(random), effort, NO_NODE) >>> 0;
      if (node === NO_NODE) throw new Error("there is no memory");
      kernel.code.setLive(node, 1);
    }
  });
  const { words, code, nodeCount } = kernel;
  const unreached = unreachedCount({ words, code, nodeCount, linksAt: (node) => kernel.linksAt(node, 0) });
  const costs = measure(new GraphSearcher(kernel), truth, { count: 48, effort: 48 });
  return { kernel, cells: [`${effort}`, figure(ms / 1_000), `${unreached}`, ...costs] };
});
console.log(
  `\n${table(
    ["effort of building", "s", "unreached", ...HEAD],
    byBuilding.map(({ cells }) => cells),
  )}`,
);

const [worn] = byBuilding.slice(2, 3);
if (worn !== undefined) {
  const byDeath = DEAD_SHARES.map((share) => {
    const random = seededRandom(10);
    const isDead = everyRecord.map(() => random.unit() < share);
    for (const record of everyRecord) worn.kernel.code.setLive(record, isDead[record] ? 0 : 1);
    const live = everyRecord.filter((record) => !isDead[record]);
    const costs = measure(new GraphSearcher(worn.kernel), truthOf(live), { count: 48, effort: 48 });
    return [`${share * 100} %`, ...costs];
  });
  console.log(`\n${table(["dead, effort 48", ...HEAD], byDeath)}`);
}
