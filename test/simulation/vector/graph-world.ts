/**
 * One namespace with a graph, in this process. Plain arrays hold its expected contents.
 */
import assert from "node:assert/strict";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { GraphBuilder } from "../../../src/vector/graph/graph.ts";
import { GraphCache, type GraphFiles } from "../../../src/vector/graph/graph-cache.ts";
import { InlineGraphBuilder } from "../../../src/vector/graph/inline-graph-builder.ts";
import type { IndexDefinition } from "../../../src/vector/index/definition.ts";
import type { ScoredView } from "../../../src/vector/index/record.ts";
import { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import { defaultVectorLimits } from "../../../src/vector/limits.ts";
import { RecordingJournal } from "../../harness/recording-journal.ts";

/**
 * Enough records, with so few dimensions that their rows have no codes (`row-store.ts`), that a search uses the graph
 * rather than a scan (`search/dense.ts`); the planted bug shows if not.
 */
const RECORDS = 4_000;
const DIMENSION = 120;
/** A namespace of this engine has a graph from slightly fewer records on. */
const GRAPH_WORK_MIN = 3_800 * DIMENSION;
const CENTRES = 50;
const WRITES = 60;
const TOP_K = 3;
const INDEX = "graphs";

const definition: IndexDefinition = {
  type: "DENSE",
  dimension: DIMENSION,
  // Every vector has score 1 with itself.
  similarity: "EUCLIDEAN",
  denseModel: undefined,
  sparseModel: undefined,
};

/** Put between the engine and its graphs to plant a bug. */
export type PlantInBuilder = (builder: GraphBuilder) => GraphBuilder;

export class GraphWorld {
  readonly journal = new RecordingJournal();
  /** Vectors by id. */
  readonly vectors = new Map<string, Float32Array>();
  /** The vectors replaced or deleted last. */
  readonly #former: Float32Array[] = [];
  #lastWritten = new Set<string>();
  readonly #random: Random = seededRandom(11);
  readonly #plant: PlantInBuilder;
  readonly #centres: readonly Float32Array[];
  #partRecords: number | undefined;
  #builder = new InlineGraphBuilder();
  #engine: VectorEngine;

  constructor(plant: PlantInBuilder = (builder) => builder) {
    this.#plant = plant;
    this.#centres = Array.from({ length: CENTRES }, () => this.#draw(() => this.#random.below(2) === 0));
    this.#engine = this.#newEngine();
  }

  get builder(): InlineGraphBuilder {
    return this.#builder;
  }

  get engine(): VectorEngine {
    return this.#engine;
  }

  /** Fills the namespace and waits until its graph is built. */
  async fill(): Promise<void> {
    await this.#engine.start();
    const index = this.#engine.define(INDEX, definition, { dense: undefined, sparse: undefined });
    for (let i = 0; i < RECORDS; i += 1) this.vectors.set(`r-${i}`, this.#vector());
    index.upsert(
      "",
      Array.from(this.vectors, ([id, vector]) => ({ id, vector })),
    );
    await this.#whenBuilt();
  }

  /** Upserts, updates and deletes single records, and the graph follows. */
  async write(): Promise<void> {
    const index = this.#index;
    this.#lastWritten = new Set();
    for (let i = 0; i < WRITES; i += 1) {
      const id = `r-${this.#random.below(RECORDS)}`;
      this.#lastWritten.add(id);
      const before = this.vectors.get(id);
      if (before !== undefined) this.#former.push(before);
      const vector = this.#vector();
      if (this.#random.below(4) === 0) {
        index.delete("", { kind: "ids", ids: [id] });
        this.vectors.delete(id);
      } else if (before !== undefined && this.#random.below(2) === 0) {
        index.update("", { id, vector, metadataUpdateMode: "OVERWRITE" });
        this.vectors.set(id, vector);
      } else {
        index.upsert("", [{ id, vector }]);
        this.vectors.set(id, vector);
      }
    }
    await this.#whenBuilt();
  }

  save(files: GraphFiles): Promise<void> {
    return new GraphCache(files, silentLog).save(this.#engine.namespaces, { all: true });
  }

  /**
   * A new engine from the journal, with the graph of its files as far as they are right. It has parts of `partRecords`;
   * only one if undefined.
   */
  async restart(files: GraphFiles, partRecords?: number): Promise<void> {
    this.#partRecords = partRecords;
    this.#engine.close();
    this.#builder = new InlineGraphBuilder();
    this.#engine = this.#newEngine();
    for (const frame of this.journal.frames) this.#engine.replay(Buffer.from(frame));
    await this.#engine.start(new GraphCache(files, silentLog));
  }

  close(): void {
    this.#engine.close();
  }

  /** The number of records that are not in the graph. */
  get pendingCount(): number {
    return this.#index.info().pendingVectorCount;
  }

  /**
   * The engine's faults with about this many records, including those written last: each must be the best hit of its
   * own vector, and a deleted or replaced vector must have no record.
   */
  faults(sampleCount: number): readonly string[] {
    const faults: string[] = [];
    const sample = [...this.vectors].filter(([id]) => {
      return this.#lastWritten.has(id) || this.#random.below(RECORDS) < sampleCount;
    });
    for (const [id, vector] of sample) {
      const [best] = this.#query(vector);
      if (best?.id !== id || best.score !== 1) faults.push(`${id} is found as ${best?.id} with score ${best?.score}`);
    }
    for (const vector of this.#former.slice(-sampleCount)) {
      const [best] = this.#query(vector);
      if (best?.score === 1) faults.push(`${best.id} is found by its former vector`);
    }
    return faults;
  }

  /** For `GraphBuilder.load`. */
  get graphOptions(): Parameters<GraphBuilder["load"]>[0] {
    const { rows, similarity } = this.#namespace;
    assert.ok(rows !== undefined);
    return { dimension: DIMENSION, similarity, read: (record) => rows.read(record) };
  }

  get versions(): Parameters<GraphBuilder["load"]>[2] {
    const { table } = this.#namespace;
    return Array.from(table.order.from(0), (record) => ({ record, version: table.versionOf(record) }));
  }

  get #namespace(): VectorEngine["namespaces"][number]["namespace"] {
    const [placed] = this.#engine.namespaces;
    assert.ok(placed !== undefined);
    return placed.namespace;
  }

  get #index(): NonNullable<ReturnType<VectorEngine["index"]>> {
    const index = this.#engine.index(INDEX);
    assert.ok(index !== undefined);
    return index;
  }

  #query(vector: Float32Array): readonly ScoredView[] {
    const include = { metadata: false, vectors: false, data: false };
    const options = { topK: TOP_K, include, filter: "", weighting: undefined, fusion: "RRF" } as const;
    const answer = this.#index.query("", [{ vector, ...options }]);
    assert.ok(!(answer instanceof Promise), "nothing may wait for its turn while the clock stands still");
    return answer[0] ?? [];
  }

  async #whenBuilt(): Promise<void> {
    await this.#namespace.graph?.whenBuilt();
  }

  #newEngine(): VectorEngine {
    return new VectorEngine({
      journal: this.journal,
      clock: new VirtualClock(),
      random: this.#random,
      limits: { ...defaultVectorLimits, dimensionMax: DIMENSION },
      graphs: this.#plant(this.#builder),
      graphWorkMin: GRAPH_WORK_MIN,
      graphPartRecords: this.#partRecords,
      newHandle: () => "",
    });
  }

  /** Near one of the centres. */
  #vector(): Float32Array {
    const centre = this.#centres[this.#random.below(CENTRES)] as Float32Array;
    const random = seededRandom(this.#random.below(2 ** 32));
    return centre.map((value) => (random.below(8) === 0 ? -value : value));
  }

  #draw(isNegative: () => boolean): Float32Array {
    return Float32Array.from({ length: DIMENSION }, () => (isNegative() ? -1 : 1));
  }
}

/** Graph files in memory. */
export class MemoryFiles implements GraphFiles {
  readonly files = new Map<string, Uint8Array>();

  async names(): Promise<readonly string[]> {
    return [...this.files.keys()];
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    return this.files.get(name);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    this.files.set(name, bytes.slice());
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name);
  }
}
