/**
 * The part `history` of the bench `graph`: what a history of writes does to the
 * recall.
 *
 * Method: N clustered rows (noise of 0.4, as in the other parts; for DOT_PRODUCT,
 * norms between 0.5 and 2 times that) are written, then 15 % more whose norm is
 * smaller, then 15 % are replaced in place by rows like the first ones, then 15 %
 * are deleted. After each of them: the share of 500 of the older records that are
 * the first hit of their own vectors (COSINE, EUCLIDEAN), and the recall of the 10
 * nearest rows of 100 records, found by brute force in float64, with a fixed
 * effort; at once, and after the graph's own checks have ended. Then the recall
 * with the effort that the index chooses, after its recall was measured.
 *
 * Read: the columns of the fixed effort show the graph, the last ones what
 * clients get. All must be 0.99 after the checks. `checks s` is processor time.
 */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { nextTurn } from "../../src/kernel/turn.ts";
import { Turns } from "../../src/kernel/turns.ts";
import type { Effort } from "../../src/vector/api.ts";
import { InlineGraphBuilder } from "../../src/vector/graph/inline-graph-builder.ts";
import type { Similarity } from "../../src/vector/index/definition.ts";
import { VectorEngine } from "../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../src/vector/limits.ts";
import { nearestRows } from "../../test/harness/clustered-rows.ts";
import { figure, table } from "../harness/table.ts";

export interface HistoryOptions {
  readonly rows: number;
  readonly dimension: number;
  readonly similarities: readonly Similarity[];
}

interface Draw {
  readonly name: string;
  readonly clusters: number;
  /** The norm of the new rows. */
  readonly factor: number;
}

const EFFORT = 160;
const CHANGED_SHARE = 0.15;
const NOISE = 0.4;
const OWN_QUERIES = 500;
const QUERIES = 100;
const WANTED = 10;
/** Long enough to measure the recall of one class with the virtual clock. */
const MEASURED_MS = 60_000;
const NO_INCLUDE = { metadata: false, vectors: false, data: false };

function drawsOf(rows: number): readonly Draw[] {
  return [
    { name: "50 rows a cluster, new ones at 0.35 of the norm", clusters: Math.ceil(rows / 50), factor: 0.35 },
    { name: "no clusters, new ones at 0.5 of the norm", clusters: rows, factor: 0.5 },
  ];
}

class History {
  readonly #options: HistoryOptions;
  readonly #similarity: Similarity;
  readonly #random: Random = seededRandom(7);
  readonly #centres: Float32Array;
  readonly #clusters: number;
  readonly #turns: (() => void)[] = [];
  readonly #clock = new VirtualClock();
  readonly #builder = new InlineGraphBuilder();
  readonly #engine: VectorEngine;
  readonly #index: VectorIndex;
  readonly #rows = new Map<number, Float32Array>();
  #spare: number | undefined;

  constructor(options: HistoryOptions, similarity: Similarity, { clusters }: Draw) {
    this.#options = options;
    this.#similarity = similarity;
    this.#clusters = clusters;
    this.#centres = Float32Array.from({ length: clusters * options.dimension }, () => this.#normal());
    const loop = {
      nextTurn: (task: () => void): void => void this.#turns.push(task),
      afterPromises: (task: () => void): void => void this.#turns.push(task),
    };
    this.#engine = new VectorEngine({
      journal: new NullJournal(),
      clock: this.#clock,
      random: seededRandom(4),
      turns: new Turns({ clock: this.#clock, loop }),
      limits: { ...defaultVectorLimits, dimensionMax: options.dimension },
      graphs: this.#builder,
      graphWorkMin: 1,
      newHandle: () => "",
    });
    void this.#engine.start();
    this.#index = this.#engine.define(
      "history",
      { type: "DENSE", dimension: options.dimension, similarity, denseModel: undefined, sparseModel: undefined },
      { dense: undefined, sparse: undefined },
    );
  }

  get records(): readonly number[] {
    return [...this.#rows.keys()];
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }

  async write(records: readonly number[], factor: number): Promise<void> {
    for (const record of records) {
      const vector = this.#draw(factor);
      this.#rows.set(record, vector);
      this.#index.upsert("", [{ id: String(record), vector }]);
    }
    await this.#graph?.whenBuilt();
  }

  async remove(records: readonly number[]): Promise<void> {
    for (const record of records) {
      this.#rows.delete(record);
      this.#index.delete("", { kind: "ids", ids: [String(record)] });
    }
    await this.#graph?.whenBuilt();
  }

  /** Lets the graph check itself until it has nothing to do. Returns the seconds of processor time. */
  async maintain(): Promise<number> {
    const graph = this.#graph;
    const start = process.threadCpuUsage();
    while (graph?.wantsMaintenance === true) {
      const done = graph.maintain();
      this.#builder.runOnce(Number.MAX_SAFE_INTEGER);
      await done;
    }
    await graph?.whenBuilt();
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1_000_000;
  }

  /** Lets the engine measure the recall. */
  async measure(): Promise<void> {
    this.#engine.recall.start();
    for (let passedMs = 0; passedMs < MEASURED_MS; passedMs += 20) {
      this.#clock.advance(20);
      for (let task = this.#turns.shift(); task !== undefined; task = this.#turns.shift()) task();
    }
    await nextTurn();
  }

  /** The share of the first records, those still there, that are the first hit of their own vectors. */
  ownShare(end: number, effort: Effort): number {
    const among = this.records.filter((record) => record < end);
    let found = 0;
    for (let i = 0; i < OWN_QUERIES; i += 1) {
      const record = among[Math.floor((i * among.length) / OWN_QUERIES)] as number;
      if (this.#query(record, 1, effort)[0] === record) found += 1;
    }
    return found / OWN_QUERIES;
  }

  truth(): ReadonlyMap<number, readonly number[]> {
    const { records } = this;
    const rowOf = (record: number): Float32Array => this.#rows.get(record) as Float32Array;
    const queries = Array.from({ length: QUERIES }, (_, i) => records[Math.floor((i * records.length) / QUERIES)]);
    return new Map(
      queries.map((record = 0) => [
        record,
        nearestRows(rowOf(record), { similarity: this.#similarity, count: WANTED, among: records, rowOf }),
      ]),
    );
  }

  recall(truth: ReadonlyMap<number, readonly number[]>, effort: Effort): number {
    let found = 0;
    for (const [record, nearest] of truth) {
      const hits = new Set(this.#query(record, WANTED, effort));
      found += nearest.filter((each) => hits.has(each)).length;
    }
    return found / (truth.size * WANTED);
  }

  close(): void {
    this.#engine.close();
  }

  /** The only part. */
  get #graph() {
    return this.#engine.namespaces[0]?.namespace.graph?.parts[0]?.graph;
  }

  #query(record: number, topK: number, effort: Effort): readonly number[] {
    const vector = this.#rows.get(record) as Float32Array;
    const query = {
      vector,
      topK,
      include: NO_INCLUDE,
      filter: "",
      weighting: undefined,
      fusion: "RRF",
      effort,
    } as const;
    const lists = this.#index.query("", [query]);
    if (lists instanceof Promise) throw new Error("the clock stands still");
    return (lists[0] ?? []).map(({ id }) => Number(id));
  }

  #draw(factor: number): Float32Array {
    const { dimension } = this.#options;
    const centre = this.#random.below(this.#clusters) * dimension;
    const norm = factor * (this.#similarity === "DOT_PRODUCT" ? 0.5 + 1.5 * this.#random.unit() : 1);
    return Float32Array.from(
      { length: dimension },
      (_, i) => norm * ((this.#centres[centre + i] as number) + NOISE * this.#normal()),
    );
  }

  #normal(): number {
    if (this.#spare !== undefined) {
      const number = this.#spare;
      this.#spare = undefined;
      return number;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random.unit()));
    const angle = 2 * Math.PI * this.#random.unit();
    this.#spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}

export async function printHistories(options: HistoryOptions): Promise<void> {
  for (const draw of drawsOf(options.rows)) {
    for (const similarity of options.similarities) await printHistory(options, similarity, draw);
  }
}

async function printHistory(options: HistoryOptions, similarity: Similarity, draw: Draw): Promise<void> {
  const { rows } = options;
  const changed = Math.round(rows * CHANGED_SHARE);
  const history = new History(options, similarity, draw);
  const some = (): number[] => {
    const { records } = history;
    return Array.from({ length: changed }, () => records[history.below(records.length)] as number);
  };
  const upTo = (start: number, count: number): number[] => Array.from({ length: count }, (_, i) => start + i);
  const steps: readonly (readonly [string, () => Promise<void>])[] = [
    ["written", () => history.write(upTo(0, rows), 1)],
    ["15 % of smaller norm", () => history.write(upTo(rows, changed), draw.factor)],
    ["15 % replaced", () => history.write(some(), 1)],
    ["15 % deleted", () => history.remove(some())],
  ];
  const cells: string[][] = [];
  const share = (number: number): string => number.toFixed(4);
  const own = (effort: Effort): string => (similarity === "DOT_PRODUCT" ? "-" : share(history.ownShare(rows, effort)));
  for (const [name, write] of steps) {
    await write();
    const truth = history.truth();
    const atOnce = [own(EFFORT), share(history.recall(truth, EFFORT)), share(history.recall(truth, undefined))];
    const seconds = await history.maintain();
    const after = [own(EFFORT), share(history.recall(truth, EFFORT))];
    await history.measure();
    cells.push([name, ...atOnce, figure(seconds), ...after, own(undefined), share(history.recall(truth, undefined))]);
  }
  history.close();
  const head = ["own", "recall", "chosen effort", "checks s", "own", "recall", "own, chosen effort", "recall"];
  console.log(`\n${rows} x ${options.dimension}, ${similarity}, ${draw.name}; effort ${EFFORT}, then checks\n`);
  console.log(table(["after", ...head], cells));
}
