/**
 * Question: how fast is an exact search over dense rows compared with a plain
 * TypeScript loop, and from which share of matching records on is it better to
 * score whole blocks than only the matching rows?
 *
 * Method: N random rows of a dimension are in a row store, and in one
 * Float32Array for the loop, which also stores squared lengths and sums in
 * four accumulators (the fastest of the plain forms). Both put their ranks into
 * the same heap. A search returns the best ten by cosine, with ties in the order of
 * the record's number; the best of several runs counts, since the machine may be
 * busy. For shares, random records match, and both ways are forced in turn.
 *
 * Read: milliseconds per search, and billions of multiplications with their
 * addition per second (GMAC/s). Data beyond the cache is bound by memory:
 * 8 GMAC/s there are 32 GB/s. A change is worthwhile if no row falls by a
 * tenth; the kernel must stay at 5 GMAC/s and four times the loop at 384 and 784
 * dimensions. `alone` and `whole` cross where GATHER_FACTOR in
 * `src/vector/rows/exact-scan.ts` predicts: at a share of one divided by that factor.
 *
 * Run: npm run bench -- row-kernel
 */
import { performance } from "node:perf_hooks";
import { type Random, seededRandom } from "../src/kernel/random.ts";
import type { Similarity } from "../src/vector/index/definition.ts";
import { ExactScan, type ExactScanOptions } from "../src/vector/rows/exact-scan.ts";
import { RowMemory } from "../src/vector/rows/row-memory.ts";
import { RowStore } from "../src/vector/rows/row-store.ts";
import { TopHits } from "../src/vector/search/top-hits.ts";

const RUNS = 15;
const PLAIN_RUNS = 10;
const HIT_COUNT = 10;
const SLICE_WORK = 4_000_000;

const sizes = [
  { dimension: 384, rows: 100_000 },
  { dimension: 784, rows: 10_000 },
  { dimension: 1_536, rows: 10_000 },
  { dimension: 3, rows: 100_000 },
];
const shares = [0.01, 0.1, 0.2, 0.25, 0.3, 0.5, 0.9];

const order = (record: number): number => record;
const memory = new RowMemory();

function bestMs(runs: number, call: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i += 1) {
    const startMs = performance.now();
    call();
    best = Math.min(best, performance.now() - startMs);
  }
  return best;
}

function randomVector(random: Random, dimension: number): Float32Array {
  return Float32Array.from({ length: dimension }, () => random.unit() - 0.5);
}

/** The rows one after the other, as a program without a kernel would store them. */
class PlainRows {
  readonly values: Float32Array;
  readonly #dimension: number;
  readonly #lengths: Float32Array;

  constructor(dimension: number, count: number) {
    this.#dimension = dimension;
    this.values = new Float32Array(dimension * count);
    this.#lengths = new Float32Array(count);
  }

  set(row: number, vector: Float32Array): void {
    this.values.set(vector, row * this.#dimension);
    this.#lengths[row] = dotOf(vector, vector, 0);
  }

  search(query: Float32Array): TopHits {
    const hits = new TopHits(HIT_COUNT, order);
    let squared = 0;
    for (const value of query) squared += value * value;
    for (let row = 0; row < this.#lengths.length; row += 1) {
      const cosine =
        dotOf(query, this.values, row * this.#dimension) / Math.sqrt(squared * (this.#lengths[row] as number));
      const rank = Math.fround((1 + cosine) / 2);
      if (rank >= hits.threshold) hits.offer(row, rank);
    }
    return hits;
  }
}

function dotOf(vector: Float32Array, values: Float32Array, start: number): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  const whole = vector.length & ~3;
  let at = start;
  for (let i = 0; i < whole; i += 4, at += 4) {
    first += (vector[i] as number) * (values[at] as number);
    second += (vector[i + 1] as number) * (values[at + 1] as number);
    third += (vector[i + 2] as number) * (values[at + 2] as number);
    fourth += (vector[i + 3] as number) * (values[at + 3] as number);
  }
  for (let i = whole; i < vector.length; i += 1) first += (vector[i] as number) * (values[start + i] as number);
  return first + second + third + fourth;
}

function search(store: RowStore, options: ExactScanOptions): void {
  const scan = new ExactScan(store, options);
  while (!scan.step(SLICE_WORK));
  scan.hits();
}

function matchesOf(random: Random, { rows, share }: { rows: number; share: number }): Uint32Array {
  const matches = new Uint32Array((rows + 31) >>> 5);
  for (let row = 0; row < rows; row += 1) {
    if (random.unit() < share) matches[row >>> 5] = (matches[row >>> 5] as number) | (1 << (row & 31));
  }
  return matches;
}

const speeds: Record<string, string | number>[] = [];
const ways: Record<string, string | number>[] = [];
for (const { dimension, rows } of sizes) {
  const random = seededRandom(dimension);
  const store = new RowStore(memory, dimension);
  const plain = new PlainRows(dimension, rows);
  store.ensure(rows - 1);
  for (let row = 0; row < rows; row += 1) {
    const vector = randomVector(random, dimension);
    store.set(row, vector);
    plain.set(row, vector);
  }
  const query = randomVector(random, dimension);
  const what = `${rows} x ${dimension}`;
  const giga = (ms: number): string => ((rows * dimension) / ms / 1e6).toFixed(2);
  const timeOf = (similarity: Similarity): number =>
    bestMs(RUNS, () => search(store, { query, similarity, count: HIT_COUNT, order }));

  const cosineMs = timeOf("COSINE");
  const plainMs = bestMs(PLAIN_RUNS, () => plain.search(query));
  speeds.push({
    rows: what,
    kernelMs: cosineMs.toFixed(2),
    kernelGmacs: giga(cosineMs),
    euclideanGmacs: giga(timeOf("EUCLIDEAN")),
    dotProductGmacs: giga(timeOf("DOT_PRODUCT")),
    plainMs: plainMs.toFixed(2),
    plainGmacs: giga(plainMs),
    times: (plainMs / cosineMs).toFixed(1),
  });
  for (const share of shares) {
    const matches = matchesOf(random, { rows, share });
    const options: ExactScanOptions = { query, similarity: "COSINE", count: HIT_COUNT, order, matches };
    // So few that they are scored alone, and so many that codes are used.
    const aloneMs = bestMs(RUNS, () => search(store, { ...options, matchCount: Math.floor(rows / 5) }));
    const wholeMs = bestMs(RUNS, () => search(store, { ...options, matchCount: rows }));
    ways.push({ rows: what, share, aloneMs: aloneMs.toFixed(3), wholeMs: wholeMs.toFixed(3) });
  }
  store.clear();
}
console.table(speeds);
console.table(ways);
