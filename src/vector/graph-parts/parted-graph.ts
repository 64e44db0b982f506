/**
 * The graphs of a namespace. One memory holds at most 4 GiB, so the records are
 * divided by number into ranges, and each range has a graph of its own, which is
 * built, checked, repaired and saved as the graph of a small namespace is.
 *
 * (1) Record r belongs to part floor(r / partRecords). Only a record that gets
 *     another number goes to another part: it is removed from one and inserted
 *     into the other.
 * (2) A part begins with its first record with a row, and stays until the graph is
 *     closed. So growth changes no other part, and a search that has seen the
 *     parts at its start lacks only records that came later.
 * (3) The graph of a part numbers its records from 0, so that its tables, and the
 *     bits of filters in its memory, have the size of a part.
 *
 * Ranges by number keep old records together. Their searches walk all parts, and
 * the lists are merged by distance (`search/graph-walk.ts`).
 */
import { assert } from "../../kernel/assert.ts";
import type { Eventually } from "../eventually.ts";
import type { GraphBuilder, GraphOptions, LoadedGraph, NamespaceGraph, RecordVersion } from "../graph/graph.ts";
import { GraphPart } from "./graph-part.ts";

export interface PartedGraphOptions {
  readonly graphs: Pick<GraphBuilder, "open" | "load">;
  /** Of the whole namespace, with its numbers of records. */
  readonly graph: GraphOptions;
  /** The most records of a part, a multiple of 32. */
  readonly partRecords: number;
}

export class PartedGraph {
  readonly partRecords: number;
  readonly #graphs: PartedGraphOptions["graphs"];
  readonly #options: GraphOptions;
  /** By number; undefined for a part that has not begun. */
  readonly #byNumber: (GraphPart | undefined)[] = [];
  #parts: readonly GraphPart[] = [];

  constructor({ graphs, graph, partRecords }: PartedGraphOptions) {
    assert(partRecords > 0 && partRecords % 32 === 0, "the bits of a part are whole words");
    this.#graphs = graphs;
    this.#options = graph;
    this.partRecords = partRecords;
  }

  /** In the order of their records. Another array when one has begun. */
  get parts(): readonly GraphPart[] {
    return this.#parts;
  }

  /** Adds a record with a new or changed row, as `NamespaceGraph.insert` does. */
  insert(record: number, version: number): void {
    const number = this.#numberOf(record);
    (this.#byNumber[number] ?? this.#add(number, this.#graphs.open(this.#optionsOf(number)))).insert(record, version);
  }

  /** Removes a record at once, even if it is pending. */
  remove(record: number): void {
    this.#byNumber[this.#numberOf(record)]?.remove(record);
  }

  /**
   * Begins a part with the bytes of its cache file. `records` are all rows of its range, which do not change until it is
   * there. Returns the reason if the file is refused: then insert the records. A promise only if rows are read later.
   */
  load(number: number, bytes: Uint8Array, records: Iterable<RecordVersion>): Eventually<string | undefined> {
    assert(this.#byNumber[number] === undefined, "a part is loaded before it has records");
    const loaded = this.#graphs.load(this.#optionsOf(number), bytes, renumbered(records, this.#firstOf(number)));
    return loaded instanceof Promise
      ? loaded.then((late) => this.#addLoaded(number, late))
      : this.#addLoaded(number, loaded);
  }

  get pendingCount(): number {
    return this.#sum(({ graph }) => graph.pendingCount);
  }

  isPending(record: number): boolean {
    const part = this.#byNumber[this.#numberOf(record)];
    return part?.graph.isPending(record - part.first) ?? false;
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

  /** Resolves when everything inserted so far is in a graph or removed again, or the graphs are closed. */
  async whenBuilt(): Promise<void> {
    await Promise.all(this.#parts.map(({ graph }) => graph.whenBuilt()));
  }

  /** Frees the memory; no call may follow. */
  close(): void {
    for (const { graph } of this.#parts) graph.close();
  }

  #numberOf(record: number): number {
    return Math.floor(record / this.partRecords);
  }

  #firstOf(number: number): number {
    return number * this.partRecords;
  }

  /** keeps (3) */
  #optionsOf(number: number): GraphOptions {
    const first = this.#firstOf(number);
    if (first === 0) return this.#options;
    const { dimension, similarity, read, readLater } = this.#options;
    return readLater === undefined
      ? { dimension, similarity, read: (record) => read(record + first) }
      : { dimension, similarity, readLater: (records) => readLater(records.map((record) => record + first)) };
  }

  #addLoaded(number: number, loaded: LoadedGraph): string | undefined {
    if (loaded.kind === "refused") return loaded.reason;
    this.#add(number, loaded.graph);
    return undefined;
  }

  #add(number: number, graph: NamespaceGraph): GraphPart {
    const part = new GraphPart({ number, first: this.#firstOf(number), recordCount: this.partRecords, graph });
    while (this.#byNumber.length < number) this.#byNumber.push(undefined);
    this.#byNumber[number] = part;
    this.#parts = this.#byNumber.filter((each) => each !== undefined);
    return part;
  }

  #sum(read: (part: GraphPart) => number): number {
    let sum = 0;
    for (const part of this.#parts) sum += read(part);
    return sum;
  }
}

function* renumbered(records: Iterable<RecordVersion>, first: number): Generator<RecordVersion> {
  for (const { record, version } of records) yield { record: record - first, version };
}
