/**
 * One namespace whose graph is a simulation: a brute-force search that misses
 * each hit by a chance that depends on the effort. So the effort that reaches a
 * recall is known, and no graph has to be built. Time is virtual.
 */
import assert from "node:assert/strict";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../../src/kernel/journal.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { Turns } from "../../../src/kernel/turns.ts";
import type { Effort } from "../../../src/vector/api.ts";
import type {
  GraphBuilder,
  GraphHits,
  GraphOptions,
  GraphRequest,
  NamespaceGraph,
} from "../../../src/vector/graph/graph.ts";
import type { Namespace } from "../../../src/vector/index/namespace.ts";
import { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../../src/vector/index/vector-index.ts";
import { defaultVectorLimits, type VectorLimits } from "../../../src/vector/limits.ts";
import type { RecallReport } from "../../../src/vector/recall/namespace-recall.ts";
import { TopHits } from "../../../src/vector/search/top-hits.ts";

/** So many that walks with an effort of up to 500 cost less than a scan, of so few dimensions that a scan is fast. */
export const RECORDS = 12_000;
/** Records from this one on are far from the older ones. */
export const NEW_FROM = 10_000;
const NEW_DISTANCE = 10;
const DIMENSION = 4;
/** Two thirds of the records pass. */
export const FILTER = "third != 0";
/** The simulated walk returns at most this many hits: enough for topK 10. It looks at twice as many. */
const HITS_MAX = 30;

/** A walk with effort e misses a hit with the probability `missed(record) / e`. */
export type Missed = (record: number) => number;

export interface RecallWorldOptions {
  readonly missed: Missed;
  /** The most hits of a walk, if not HITS_MAX: more cost more time. */
  readonly hitsMax?: number;
  readonly limits?: Partial<VectorLimits>;
  /** Replaces the source of chance of the engine. */
  readonly random?: (random: Random) => Random;
}

export class RecallWorld {
  readonly clock = new VirtualClock();
  readonly engine: VectorEngine;
  /** All steps of other tenants and of measuring, which a test runs by `measure`. */
  readonly #turns: (() => void)[] = [];
  readonly #random = seededRandom(3);
  #rows: Float32Array = new Float32Array(0);
  #index: VectorIndex | undefined;

  constructor({ missed, hitsMax = HITS_MAX, limits = {}, random = (same) => same }: RecallWorldOptions) {
    const loop = {
      nextTurn: (task: () => void): void => void this.#turns.push(task),
      afterPromises: (task: () => void): void => void this.#turns.push(task),
    };
    this.engine = new VectorEngine({
      journal: new NullJournal(),
      clock: this.clock,
      random: random(seededRandom(4)),
      turns: new Turns({ clock: this.clock, loop }),
      limits: { ...defaultVectorLimits, ...limits },
      graphs: new SimulatedBuilder({ missed, hitsMax }),
      graphWorkMin: 1,
      newHandle: () => "handle",
    });
  }

  /** Fills the namespace; record r has the metadata `{"third": r % 3}`. */
  async fill(recallTarget?: number): Promise<void> {
    await this.engine.start();
    this.define(recallTarget);
    this.#rows = this.#draw(RECORDS, (record) => record >= NEW_FROM);
    this.index.upsert(
      "",
      Array.from({ length: RECORDS }, (_, record) => ({
        id: String(record),
        vector: this.#rowOf(record).slice(),
        metadata: `{"third":${record % 3}}`,
      })),
    );
  }

  define(recallTarget?: number): void {
    const definition = {
      type: "DENSE",
      dimension: DIMENSION,
      similarity: "EUCLIDEAN",
      denseModel: undefined,
      sparseModel: undefined,
    } as const;
    this.#index = this.engine.define("docs", definition, { dense: undefined, sparse: undefined }, { recallTarget });
  }

  get index(): VectorIndex {
    assert.ok(this.#index !== undefined, "the index is defined");
    return this.#index;
  }

  get namespace(): Namespace {
    const namespace = this.index.state.find("");
    assert.ok(namespace !== undefined);
    return namespace;
  }

  get reports(): readonly RecallReport[] {
    return this.namespace.recall?.reports ?? [];
  }

  report(topK: string, filter = "none"): RecallReport | undefined {
    return this.reports.find((report) => report.topK === topK && report.filter === filter);
  }

  /** Asks random queries and returns the ids of their hits. */
  ask(count: number, { topK = 10, filter = "", effort }: { topK?: number; filter?: string; effort?: Effort } = {}) {
    return Array.from({ length: count }, () => this.query(this.#draw(1), { topK, filter, effort }));
  }

  query(vector: Float32Array, { topK, filter = "", effort }: { topK: number; filter?: string; effort?: Effort }) {
    const include = { metadata: false, vectors: false, data: false };
    const query = { vector, topK, include, filter, weighting: undefined, fusion: "RRF", effort } as const;
    const lists = this.index.query("", [query]);
    assert.ok(!(lists instanceof Promise), "nothing waits for its turn while the clock stands still");
    return (lists[0] ?? []).map(({ id }) => Number(id));
  }

  /** Lets the engine measure for this long, by the virtual clock. */
  async measure(ms: number): Promise<void> {
    this.engine.recall.start();
    for (let passedMs = 0; passedMs < ms; passedMs += 20) {
      this.clock.advance(20);
      for (let task = this.#turns.shift(); task !== undefined; task = this.#turns.shift()) task();
    }
    // A new turn of the event loop, in which searches have time again.
    await nextTurn();
  }

  /** The recall of queries as clients get them, by brute force. */
  recallOf(count: number, { topK, filter = "", effort }: { topK: number; filter?: string; effort?: Effort }): number {
    let found = 0;
    for (let i = 0; i < count; i += 1) {
      const vector = this.#draw(1);
      const truth = this.#nearest(vector, topK, filter);
      const hits = new Set(this.query(vector, { topK, filter, effort }));
      found += truth.filter((record) => hits.has(record)).length / truth.length;
    }
    return found / count;
  }

  close(): void {
    this.engine.close();
  }

  #nearest(vector: Float32Array, topK: number, filter: string): number[] {
    const top = nearest(vector, this.#rows, topK, (record) => filter === "" || record % 3 !== 0);
    return top.sorted().map((hit) => hit.record);
  }

  #rowOf(record: number): Float32Array {
    return this.#rows.subarray(record * DIMENSION, (record + 1) * DIMENSION);
  }

  #draw(count: number, isNew = (_row: number): boolean => this.#random.below(RECORDS) >= NEW_FROM): Float32Array {
    const rows = Float32Array.from({ length: count * DIMENSION }, () => this.#random.unit());
    for (let row = 0; row < count; row += 1) if (isNew(row)) rows[row * DIMENSION] = NEW_DISTANCE;
    return rows;
  }
}

type Walks = Required<Pick<RecallWorldOptions, "missed" | "hitsMax">>;

class SimulatedBuilder implements GraphBuilder {
  readonly #walks: Walks;

  constructor(walks: Walks) {
    this.#walks = walks;
  }

  open(options: GraphOptions): NamespaceGraph {
    return new SimulatedGraph(options, this.#walks);
  }

  load(): never {
    throw new Error("A simulated graph has no file");
  }

  async close(): Promise<void> {}
}

class SimulatedGraph implements NamespaceGraph {
  readonly pending: readonly number[] = [];
  readonly pendingCount = 0;
  readonly byteCount = 0;
  readonly missedShare = 0;
  readonly wantsMaintenance = false;
  readonly #options: GraphOptions;
  readonly #walks: Walks;
  /** One row after the other; NaN for records without one. */
  #rows = new Float32Array(RECORDS * DIMENSION).fill(Number.NaN);

  constructor(options: GraphOptions, walks: Walks) {
    this.#options = options;
    this.#walks = walks;
  }

  get count(): number {
    return this.#rows.length / DIMENSION;
  }

  isPending(): boolean {
    return false;
  }

  maintain(): Promise<number> {
    return Promise.resolve(0);
  }

  insert(record: number): void {
    const row = this.#options.read?.(record);
    if (row !== undefined) this.#rows.set(row, record * DIMENSION);
  }

  remove(record: number): void {
    this.#rows.fill(Number.NaN, record * DIMENSION, (record + 1) * DIMENSION);
  }

  search({ query, count, effort, accepts }: GraphRequest): GraphHits {
    const size = Math.min(count, this.#walks.hitsMax);
    const top = nearest(query, this.#rows, 2 * size, (record) => {
      return accepts === undefined || ((accepts[record >>> 5] ?? 0) & (1 << (record & 31))) !== 0;
    });
    const isFound = ({ record }: { record: number }): boolean =>
      chanceOf(record, query) >= this.#walks.missed(record) / effort;
    const hits = top.sorted().filter(isFound).slice(0, size);
    const records = Uint32Array.from(hits, ({ record }) => record);
    return { records, distances: new Float32Array(records.length), count: records.length, visits: 0, isComplete: true };
  }

  async whenBuilt(): Promise<void> {}

  async save(): Promise<undefined> {}

  close(): void {}
}

/** The nearest of the rows that pass. Rows of NaN are nearer than nothing. */
function nearest(query: Float32Array, rows: Float32Array, count: number, passes: (record: number) => boolean): TopHits {
  const top = new TopHits(count, (record) => record);
  for (let record = 0, at = 0; at < rows.length; record += 1) {
    let sum = 0;
    for (let i = 0; i < DIMENSION; i += 1, at += 1) {
      const difference = (query[i] as number) - (rows[at] as number);
      sum += difference * difference;
    }
    if (-sum >= top.threshold && passes(record)) top.offer(record, -sum);
  }
  return top;
}

/** From 0 to 1, always the same for a record and a query, so that more effort finds all that less effort finds. */
function chanceOf(record: number, query: Float32Array): number {
  const bits = new Uint32Array(query.buffer, query.byteOffset, DIMENSION);
  let hash = record;
  for (const word of bits) {
    hash = Math.imul(hash ^ word, 0x9e37_79b1);
    hash ^= hash >>> 15;
  }
  return (Math.imul(hash, 0x85eb_ca6b) >>> 0) / 2 ** 32;
}
