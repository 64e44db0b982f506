/**
 * Random histories of a graph: records of other norms, replaced and removed ones,
 * whole clusters that go. After each step, when the graph has checked itself:
 *
 * (1) Walks with the lowest effort of searches find SHARE_MIN of the records by
 *     their own vectors.
 * (2) The recall of the 10 nearest records, beside brute force, is SHARE_MIN.
 * (3) The graph has exactly the records of the history, and none is pending.
 *
 * And always: (4) nothing is linked to a place that a new node takes.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { NamespaceGraph } from "../../../src/vector/graph/graph.ts";
import { type GraphKernel, NO_NODE } from "../../../src/vector/graph/graph-kernel.ts";
import { InlineGraphBuilder } from "../../../src/vector/graph/inline-graph-builder.ts";
import { type Similarity, similarities } from "../../../src/vector/index/definition.ts";
import { clusteredRows, nearestRows } from "../../harness/clustered-rows.ts";

/** Changes the code of a graph's writer to plant a bug. */
export type PlantInCode = (code: GraphKernel["code"], kernel: GraphKernel) => Partial<GraphKernel["code"]>;

/** Records that are written first; later ones have higher numbers. */
export const FIRST_RECORDS = 2_000;
const DIMENSION = 64;
const STEPS = 4;
const CHANGED = 300;
const NORMS = [0.35, 0.5, 1, 2];
/** More than can be drawn. */
const ROWS = FIRST_RECORDS + (1 + STEPS) * 2 * CHANGED;
const WALK_EFFORT = 80;
const EFFORT = 160;
const QUERIES = 100;
const WANTED = 10;
const SHARE_MIN = 0.99;

class History {
  readonly #random: Random;
  readonly #similarity: Similarity;
  readonly #clusters: number;
  readonly #drawn: Float32Array;
  #drawnCount = 0;
  readonly #builder: InlineGraphBuilder;
  readonly #graph: NamespaceGraph;
  readonly #rows = new Map<number, Float32Array>();
  #nextRecord = 0;
  #version = 0;
  readonly #steps: string[] = [];
  /** A place that was taken while something was linked to it. */
  #takenPlace: string | undefined;

  constructor(seed: number, plant: PlantInCode) {
    this.#random = seededRandom(seed);
    this.#similarity = similarities[seed % similarities.length] as Similarity;
    this.#clusters = this.#random.below(2) === 0 ? ROWS : 40;
    const noise = this.#clusters === ROWS ? 0 : 0.4;
    this.#drawn = clusteredRows(seededRandom(seed), {
      count: ROWS,
      dimension: DIMENSION,
      clusters: this.#clusters,
      noise,
    });
    this.#builder = new InlineGraphBuilder({
      random: this.#random,
      onOpen: (kernel) => {
        const code = { ...kernel.code, ...plant(kernel.code, kernel) };
        const insert: typeof code.insert = (record, level, effort, place) => {
          if (place !== NO_NODE && linksTo(place, kernel) > 0)
            this.#takenPlace ??= `node ${place} was used again, and ${linksTo(place, kernel)} links led to it`;
          return code.insert(record, level, effort, place);
        };
        Object.defineProperty(kernel, "code", { value: { ...code, insert } });
      },
    });
    const read = (record: number): Float32Array => this.#rows.get(record) as Float32Array;
    this.#graph = this.#builder.open({ dimension: DIMENSION, similarity: this.#similarity, read });
  }

  async run(): Promise<string | undefined> {
    this.#write(FIRST_RECORDS, 1);
    let fault = await this.#settle();
    for (let i = 0; i < STEPS && fault === undefined; i += 1) {
      // Records of smaller norm hide the others, whatever follows.
      if (i === 0) this.#write(CHANGED, 0.4);
      else this.#drawStep();
      fault = await this.#settle();
    }
    await this.#builder.close();
    return fault && `${this.#similarity}, ${this.#clusters} clusters, after ${this.#steps.join(", ")}: ${fault}`;
  }

  #drawStep(): void {
    const norm = NORMS[this.#random.below(NORMS.length)] as number;
    const kind = this.#random.below(4);
    if (kind === 0) this.#write(CHANGED, norm);
    else if (kind === 1) this.#replace(CHANGED, norm);
    else if (kind === 2) this.#remove(this.#some(CHANGED));
    else this.#remove(this.#near(CHANGED));
  }

  #write(count: number, norm: number): void {
    this.#steps.push(`${count} written with norm ${norm}`);
    for (let i = 0; i < count; i += 1) {
      this.#set(this.#nextRecord, norm);
      this.#nextRecord += 1;
    }
  }

  #replace(count: number, norm: number): void {
    this.#steps.push(`${count} replaced with norm ${norm}`);
    for (const record of this.#some(count)) this.#set(record, norm);
  }

  #remove(records: readonly number[]): void {
    this.#steps.push(`${records.length} removed`);
    for (const record of records) {
      this.#rows.delete(record);
      this.#graph.remove(record);
    }
  }

  #set(record: number, norm: number): void {
    const row = this.#drawn.subarray(this.#drawnCount * DIMENSION, (this.#drawnCount + 1) * DIMENSION);
    this.#drawnCount += 1;
    this.#version += 1;
    this.#rows.set(
      record,
      row.map((value) => value * norm),
    );
    this.#graph.insert(record, this.#version);
  }

  get #records(): readonly number[] {
    return [...this.#rows.keys()];
  }

  /** Random records, each once. */
  #some(count: number): readonly number[] {
    const records = this.#records;
    return [...new Set(Array.from({ length: count }, () => records[this.#random.below(records.length)] as number))];
  }

  /** The records nearest to a random one. */
  #near(count: number): readonly number[] {
    const [record] = this.#some(1) as [number];
    return this.#nearest(record, count);
  }

  #nearest(record: number, count: number): readonly number[] {
    const rowOf = (each: number): Float32Array => this.#rows.get(each) as Float32Array;
    return nearestRows(rowOf(record), { similarity: this.#similarity, count, among: this.#records, rowOf });
  }

  /** Builds and checks until nothing is left to do, and returns a broken rule. */
  async #settle(): Promise<string | undefined> {
    await this.#graph.whenBuilt();
    while (this.#graph.wantsMaintenance && this.#takenPlace === undefined) {
      const done = this.#graph.maintain();
      this.#builder.runOnce(Number.MAX_SAFE_INTEGER);
      await done;
    }
    await this.#graph.whenBuilt();
    if (this.#takenPlace !== undefined) return this.#takenPlace;
    const records = this.#records;
    if (this.#graph.count !== records.length || this.#graph.pendingCount > 0)
      return `the graph has ${this.#graph.count} of ${records.length} records`;
    const own = this.#ownShare(records);
    if (own < SHARE_MIN) return `${own} of the records are found by their own vectors`;
    const recall = this.#recall();
    return recall < SHARE_MIN ? `the recall is ${recall}` : undefined;
  }

  /** With DOT_PRODUCT, longer vectors may be more similar than the record itself. */
  #ownShare(records: readonly number[]): number {
    if (this.#similarity === "DOT_PRODUCT") return 1;
    return records.filter((record) => this.#hits(record, WALK_EFFORT).includes(record)).length / records.length;
  }

  #recall(): number {
    let found = 0;
    let wanted = 0;
    for (const record of this.#some(QUERIES)) {
      const hits = this.#hits(record, EFFORT);
      found += this.#nearest(record, WANTED).filter((each) => hits.includes(each)).length;
      wanted += WANTED;
    }
    return found / wanted;
  }

  /** Valid until the next call. */
  #hits(record: number, effort: number): Pick<Uint32Array, "includes"> {
    const query = this.#rows.get(record) as Float32Array;
    const { records, count } = this.#graph.search({ query, count: effort, effort });
    return records.subarray(0, count);
  }
}

/** The links to a node on the ground level, as its own count has them, which is the word before its links. */
function linksTo(node: number, kernel: GraphKernel): number {
  return kernel.words[kernel.linksAt(node, 0) - 1] as number;
}

/** Runs the history of a seed. Resolves with the broken rule and what came before it; undefined if all hold. */
export function faultOfHistory(seed: number, plant: PlantInCode = () => ({})): Promise<string | undefined> {
  return new History(seed, plant).run();
}
