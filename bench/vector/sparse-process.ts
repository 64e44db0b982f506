/**
 * Sparse and hybrid searches in the engine, compared with plain inverted lists in
 * TypeScript, in a separate process. Prints its result as JSON.
 *
 * Words are drawn so that the first are common: the number of one of VOCABULARY
 * words is proportional to the square of a uniform draw. Queries have 10 words,
 * like a question, or 60, like a document. The dense half of a hybrid index
 * has clusters like other sets.
 *
 * node --expose-gc bench/vector/sparse-process.ts <documents> <queries> <seconds>
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { threadGraphBuilder } from "../../src/program/workers/graph-threads.ts";
import type { VectorQuery } from "../../src/vector/api.ts";
import type { SparseVector } from "../../src/vector/index/record.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { makeSet, readQueries, readRows } from "./data-set.ts";
import { openEngine, plainQuery } from "./larder-subject.ts";
import { HIT_COUNT } from "./truth.ts";

export interface SparseRow {
  readonly what: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** For plain inverted lists; undefined: not supported. */
  readonly plainPerSecond: number | undefined;
}

export interface SparseResult {
  readonly count: number;
  readonly upsertsPerSecond: number;
  readonly bytesPerDocument: number;
  readonly rows: readonly SparseRow[];
}

const VOCABULARY = 30_000;
const DOCUMENT_WORDS = 60;
const QUESTION_WORDS = 10;
const DIMENSION = 384;
const ROWS_PER_CLUSTER = 50;
const BATCH = 1_000;
const COMPARED = 20;
const TOLERANCE = 1e-5;

const [documentCount = 0, queryCount = 0, seconds = 0] = process.argv.slice(2).map(Number);
const random = seededRandom(11);

const documents = Array.from({ length: documentCount }, () => draw(DOCUMENT_WORDS));
const questions = Array.from({ length: queryCount }, () => draw(QUESTION_WORDS));
const long = Array.from({ length: queryCount }, () => draw(DOCUMENT_WORDS));
const plain = new Map<number, { documents: number[]; values: number[] }>();
for (const [document, { indices, values }] of documents.entries()) {
  for (const [i, index] of indices.entries()) {
    const list = plain.get(index) ?? { documents: [], values: [] };
    plain.set(index, list);
    list.documents.push(document);
    list.values.push(values[i] as number);
  }
}

const log = createLog({
  level: "warn",
  format: "text",
  clock: systemClock,
  sink: (line) => process.stderr.write(line),
});
const graphs = threadGraphBuilder({ log });
const engine = await openEngine(graphs);
const sparse = define("sparse", "SPARSE");
globalThis.gc?.();
const before = process.memoryUsage();
const beganMs = performance.now();
await fill(sparse, undefined);
const upsertsPerSecond = (documentCount * 1_000) / (performance.now() - beganMs);
globalThis.gc?.();
const after = process.memoryUsage();
const bytesPerDocument = (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / documentCount;

const rows: SparseRow[] = [];
const scores = new Float64Array(documentCount);
for (const [name, queries] of [
  ["sparse, 10 words", questions],
  ["sparse, 60 words", long],
] as const) {
  for (const query of queries.slice(0, COMPARED)) await compare(query);
  const plainPerSecond = (await timed(queries.length, (i) => void plainSearch(queries[i] as SparseVector))).perSecond;
  const ask = (i: number) => sparse.query("", [{ ...plainQuery, topK: HIT_COUNT, sparseVector: queries[i] }]);
  rows.push({ what: name, ...(await timed(queries.length, ask)), plainPerSecond });
}
const byIdf = (i: number) =>
  sparse.query("", [{ ...plainQuery, topK: HIT_COUNT, sparseVector: questions[i], weighting: "IDF" }]);
rows.push({ what: "sparse, 10 words, IDF", ...(await timed(queryCount, byIdf)), plainPerSecond: undefined });

const folder = mkdtempSync(join(tmpdir(), "larder-bench-"));
const set = makeSet(folder, {
  rowCount: documentCount,
  dimension: DIMENSION,
  clusterCount: Math.ceil(documentCount / ROWS_PER_CLUSTER),
  queryCount,
});
const dense = readRows(set);
const denseQueries = readQueries(set);
rmSync(folder, { recursive: true });
const hybrid = define("hybrid", "HYBRID");
await fill(hybrid, dense);
await hybrid.state.find("")?.graph?.whenBuilt();
for (const fusion of ["RRF", "DBSF"] as const) {
  const ask = (i: number) => {
    const query: VectorQuery = { ...plainQuery, topK: HIT_COUNT, fusion, vector: denseQueries[i] };
    return hybrid.query("", [{ ...query, sparseVector: questions[i] }]);
  };
  rows.push({ what: `hybrid, 10 words, ${fusion}`, ...(await timed(queryCount, ask)), plainPerSecond: undefined });
}
const result: SparseResult = { count: documentCount, upsertsPerSecond, bytesPerDocument, rows };
console.log(JSON.stringify(result));
process.exit(0);

function draw(count: number): SparseVector {
  const words = new Set<number>();
  while (words.size < count) words.add(Math.floor(VOCABULARY * random.unit() ** 2));
  return { indices: Int32Array.from(words), values: Float32Array.from(words, () => 0.1 + random.unit()) };
}

function define(name: string, type: "SPARSE" | "HYBRID"): VectorIndex {
  return engine.define(
    name,
    {
      type,
      dimension: type === "SPARSE" ? 0 : DIMENSION,
      similarity: "COSINE",
      denseModel: undefined,
      sparseModel: undefined,
    },
    { dense: undefined, sparse: undefined },
  );
}

async function fill(index: VectorIndex, vectors: Float32Array | undefined): Promise<void> {
  for (let first = 0; first < documentCount; first += BATCH) {
    const records = documents.slice(first, first + BATCH).map((sparseVector, i) => ({
      id: String(first + i),
      sparseVector,
      vector: vectors?.slice((first + i) * DIMENSION, (first + i + 1) * DIMENSION),
    }));
    index.upsert("", records);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The hits of the engine must equal those of the plain lists. */
async function compare(query: SparseVector): Promise<void> {
  const [hits = []] = await sparse.query("", [{ ...plainQuery, topK: HIT_COUNT, sparseVector: query }]);
  for (const [place, score] of plainSearch(query).entries()) {
    const found = hits[place]?.score ?? Number.NaN;
    if (Math.abs(found - score) > TOLERANCE * score) throw new Error(`hit ${place} has ${found} instead of ${score}`);
  }
}

/** The scores of the best, best first. */
function plainSearch({ indices, values }: SparseVector): readonly number[] {
  scores.fill(0);
  for (const [i, index] of indices.entries()) {
    const list = plain.get(index);
    if (list === undefined) continue;
    const weight = values[i] as number;
    for (let at = 0; at < list.documents.length; at += 1) {
      const document = list.documents[at] as number;
      scores[document] = (scores[document] as number) + weight * (list.values[at] as number);
    }
  }
  const best: number[] = [];
  for (const score of scores) {
    if (score === 0 || (best.length === HIT_COUNT && score <= (best.at(-1) as number))) continue;
    const place = best.findIndex((other) => other < score);
    best.splice(place < 0 ? best.length : place, 0, score);
    if (best.length > HIT_COUNT) best.pop();
  }
  return best;
}

async function timed(
  count: number,
  ask: (i: number) => unknown,
): Promise<{ perSecond: number; p50Ms: number; p99Ms: number }> {
  const takenMs: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let atMs = startMs;
  for (let i = 0; atMs < endMs; i = (i + 1) % count) {
    const answer = ask(i);
    if (answer instanceof Promise) await answer;
    const nowMs = performance.now();
    takenMs.push(nowMs - atMs);
    atMs = nowMs;
  }
  const sorted = Float64Array.from(takenMs).sort();
  const percentile = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { perSecond: (sorted.length * 1_000) / (atMs - startMs), p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}
