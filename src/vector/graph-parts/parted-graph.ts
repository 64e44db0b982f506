/**
 * The graphs of a namespace. One memory holds at most 4 GiB, so the records are
 * divided into parts, and each part has a graph of its own, which is built,
 * checked, repaired and saved as the graph of a small namespace is.
 *
 * (1) A record with a row is in exactly one part, in its graph or pending.
 * (2) A record comes into the first part with room, and stays there until it is
 *     removed or gets another number. So growth changes no other part.
 * (3) A part that has more than `partRecords` (its file is of a program that had
 *     only one part) gives away the records that change.
 * (4) After a start, the parts have the records that their files had, whatever
 *     numbers those have now: a snapshot numbers records again.
 * (5) A part stays until the graph is closed. So a search that has seen the parts
 *     at its start lacks only records that came later.
 *
 * Searches walk all parts, and the lists are merged by distance
 * (`search/graph-walk.ts`).
 */
import { assert } from "../../kernel/assert.ts";
import type { Eventually } from "../eventually.ts";
import type { GraphBuilder, GraphOptions, LoadedGraph, NamespaceGraph, RecordVersion } from "../graph/graph.ts";
import { lowestBit } from "../search/bits.ts";
import { GraphPart } from "./graph-part.ts";

export interface PartedGraphOptions {
  readonly graphs: Pick<GraphBuilder, "open" | "load">;
  readonly graph: GraphOptions;
  /** The most records of a part. */
  readonly partRecords: number;
}

/** Records as bits, and a number that changes whenever one of them does. */
interface Passing {
  readonly matches: Uint32Array;
  readonly version: number;
}

interface CountedPassing {
  readonly version: number;
  /** By number of a part. */
  readonly counts: readonly number[];
}

/** The number of a part plus one is a byte, in which 0 stands for a record without a part. */
export const PARTS_MAX = 255;
/** Words of a filter that are looked at to estimate how many records of each part pass. */
const SAMPLED_WORDS = 1_024;

export class PartedGraph {
  readonly #options: PartedGraphOptions;
  /** By number. A number is free if its file could not be used. */
  readonly #byNumber: (GraphPart | undefined)[] = [];
  #parts: readonly GraphPart[] = [];
  /** The number of its part plus one by record; 0 for none. */
  #partOf = new Uint8Array(64);
  readonly #passing = new WeakMap<Uint32Array, CountedPassing>();

  constructor(options: PartedGraphOptions) {
    this.#options = { ...options, graph: { ...options.graph, isPart: true } };
  }

  /** In the order of their numbers. Another array when one has begun. */
  get parts(): readonly GraphPart[] {
    return this.#parts;
  }

  /** Whether a record is in a part. */
  has(record: number): boolean {
    return record < this.#partOf.length && this.#partOf[record] !== 0;
  }

  /** Adds a record with a new or changed row, as `NamespaceGraph.insert` does. */
  insert(record: number, version: number): void {
    const part = this.#keptPart(record) ?? this.#takeIn(record, this.#partWithRoom());
    part.insert(record, version);
  }

  /** Removes a record at once, even if it is pending. */
  remove(record: number): void {
    const part = this.#find(record);
    if (part === undefined) return;
    this.#partOf[record] = 0;
    part.recordCount -= 1;
    part.remove(record);
  }

  /**
   * Begins a part with the bytes of its cache file: its records are those of `records` that are in the file and in no
   * other part. `records` do not change until it is there. Returns the reason if the file is refused. A promise only if
   * rows are read later.
   */
  load(number: number, bytes: Uint8Array, records: Iterable<RecordVersion>): Eventually<string | undefined> {
    assert(this.#byNumber[number] === undefined && number < PARTS_MAX, "a part is loaded once, before it has records");
    const { graphs, graph } = this.#options;
    const loaded = graphs.load(graph, bytes, this.#without(records));
    return loaded instanceof Promise
      ? loaded.then((late) => this.#addLoaded(number, late))
      : this.#addLoaded(number, loaded);
  }

  get pendingCount(): number {
    return this.#sum(({ graph }) => graph.pendingCount);
  }

  /** The number of records that walks can find. */
  get count(): number {
    return this.#sum(({ graph }) => graph.count);
  }

  get byteCount(): number {
    return this.#sum(({ graph }) => graph.byteCount);
  }

  /** By estimate, the records that walks miss by their own vectors, as the last checks found it. */
  get missedCount(): number {
    return this.#sum(({ graph }) => Math.round(graph.missedShare * graph.count));
  }

  /** Of the part whose walks miss most: hits may all be of one part. */
  get missedShare(): number {
    let most = 0;
    for (const { graph } of this.#parts) most = Math.max(most, graph.missedShare);
    return most;
  }

  /** About how many records of a part pass a filter; the exact number if there are few words. */
  passCountOf(part: GraphPart, { matches, version }: Passing): number {
    const known = this.#passing.get(matches);
    if (known?.version === version) return known.counts[part.number] ?? 0;
    const counts = this.#countPassing(matches);
    this.#passing.set(matches, { version, counts });
    return counts[part.number] ?? 0;
  }

  /** The records of a part that pass, as bits, and how many they are. */
  passingOf(part: GraphPart, matches: Uint32Array): { readonly matches: Uint32Array; readonly count: number } {
    const own = new Uint32Array(matches.length);
    let count = 0;
    for (let at = 0; at < matches.length; at += 1)
      for (let word = matches[at] as number; word !== 0; word &= word - 1) {
        const bit = lowestBit(word);
        if (this.#partOf[at * 32 + bit] !== part.number + 1) continue;
        own[at] = (own[at] as number) | (1 << bit);
        count += 1;
      }
    return { matches: own, count };
  }

  /** Resolves when everything inserted so far is in a graph or removed again, or the graphs are closed. */
  async whenBuilt(): Promise<void> {
    await Promise.all(this.#parts.map(({ graph }) => graph.whenBuilt()));
  }

  /** Frees the memory; no call may follow. */
  close(): void {
    for (const { graph } of this.#parts) graph.close();
  }

  #find(record: number): GraphPart | undefined {
    return this.has(record) ? this.#byNumber[(this.#partOf[record] as number) - 1] : undefined;
  }

  /** The part in which a record is and stays. keeps (3) */
  #keptPart(record: number): GraphPart | undefined {
    const part = this.#find(record);
    if (part === undefined || part.recordCount <= this.#options.partRecords) return part;
    this.remove(record);
    return undefined;
  }

  /** keeps (2) */
  #partWithRoom(): GraphPart {
    const { graphs, graph, partRecords } = this.#options;
    for (const part of this.#parts) if (part.recordCount < partRecords) return part;
    let number = 0;
    while (this.#byNumber[number] !== undefined) number += 1;
    assert(number < PARTS_MAX, "the numbers of records end before those of parts");
    return this.#add(number, graphs.open(graph));
  }

  #takeIn(record: number, part: GraphPart): GraphPart {
    if (record >= this.#partOf.length) {
      const larger = new Uint8Array(Math.max(record + 1, this.#partOf.length * 2));
      larger.set(this.#partOf);
      this.#partOf = larger;
    }
    this.#partOf[record] = part.number + 1;
    part.recordCount += 1;
    return part;
  }

  #addLoaded(number: number, loaded: LoadedGraph): string | undefined {
    if (loaded.kind === "refused") return loaded.reason;
    const part = this.#add(number, loaded.graph);
    for (const record of loaded.records) this.#takeIn(record, part);
    return undefined;
  }

  #add(number: number, graph: NamespaceGraph): GraphPart {
    const part = new GraphPart(number, graph);
    while (this.#byNumber.length < number) this.#byNumber.push(undefined);
    this.#byNumber[number] = part;
    this.#parts = this.#byNumber.filter((each) => each !== undefined);
    return part;
  }

  /** keeps (1) */
  *#without(records: Iterable<RecordVersion>): Generator<RecordVersion> {
    for (const each of records) if (!this.has(each.record)) yield each;
  }

  #countPassing(matches: Uint32Array): readonly number[] {
    const counts = this.#byNumber.map(() => 0);
    const step = Math.ceil(matches.length / SAMPLED_WORDS);
    for (let at = 0; at < matches.length; at += step)
      for (let word = matches[at] as number; word !== 0; word &= word - 1) {
        const number = (this.#partOf[at * 32 + lowestBit(word)] ?? 0) - 1;
        if (number >= 0) counts[number] = (counts[number] as number) + step;
      }
    return counts;
  }

  #sum(read: (part: GraphPart) => number): number {
    let sum = 0;
    for (const part of this.#parts) sum += read(part);
    return sum;
  }
}
