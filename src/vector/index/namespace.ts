/**
 * One namespace of an index: its records and the structures that find them.
 *
 * (1) A record number means the same record in every part: table, rows, sparse
 *     lists, metadata, graph.
 * (2) A record's row is changed in place. Every change is noted in `changes`, and
 *     running searches score changed records again.
 * (3) `reserve` is called before a change is recorded in the journal, so that a
 *     recorded change cannot fail for lack of memory.
 */
import { assert } from "../../kernel/assert.ts";
import type { Random } from "../../kernel/random.ts";
import type { GraphBuilder, GraphOptions, NamespaceGraph, RecordVersion } from "../graph/graph.ts";
import { nodeBytesOf } from "../graph/graph-size.ts";
import { FilterMatcher } from "../metadata/filter-matcher.ts";
import { MetadataStore } from "../metadata/metadata-store.ts";
import { NamespaceRecall, type RecallSettings } from "../recall/namespace-recall.ts";
import { BLOCK_BYTES_MAX, type RowMemory } from "../rows/row-memory.ts";
import { RowStore } from "../rows/row-store.ts";
import { SparseIndex } from "../sparse/sparse-index.ts";
import { ChangeLog } from "./change-log.ts";
import type { Put } from "./changes.ts";
import type { IndexDefinition, Similarity } from "./definition.ts";
import type { Include, RecordView } from "./record.ts";
import { RecordTable } from "./record-table.ts";

/**
 * The multiplications of an exact search from which a namespace gets a graph. Below that, a search takes half a
 * millisecond or less and misses nothing; a walk becomes faster from about 2 million on. bench/vector.bench.ts
 */
export const GRAPH_WORK_MIN = 4_000_000;

/** Moves for each removal: more than one, so that the numbers shrink faster than the records. */
const MOVES_PER_REMOVAL = 2;

/** Numbers freed at a time, because each call examines all rows of a block. */
const TRUNCATED_MIN = 1_024;

/** An index and a value. */
const SPARSE_VALUE_BYTES = 8;

/** Of a record: the location of its metadata, and the bit of its existence. */
const METADATA_BYTES = 4 + 1 / 8;

export interface NamespaceOptions {
  readonly number: number;
  readonly name: string;
  /** The definition of the index; its dimension is known with the first dense vector. */
  readonly index: { readonly definition: IndexDefinition };
  readonly memory: RowMemory;
  /** The current builder of graphs; if undefined, every search is exact. */
  graphs(): GraphBuilder | undefined;
  /** Instead of `GRAPH_WORK_MIN`. */
  readonly graphWorkMin?: number | undefined;
  /** The recall target of the index, and the largest effort for it. */
  recallSettings(): RecallSettings;
  /** Draws the queries of which the recall is measured. */
  readonly random: Random;
}

export class Namespace {
  readonly number: number;
  /** The listed name; only a rename changes it. */
  name: string;
  readonly table: RecordTable;
  readonly metadata: MetadataStore;
  readonly filters: FilterMatcher;
  readonly sparse = new SparseIndex();
  readonly changes = new ChangeLog();
  countedBytes = 0;
  readonly #options: NamespaceOptions;
  #rows: RowStore | undefined;
  /** Rows and metadata have room for this many numbers. */
  #keptEnd = 0;
  #graph: NamespaceGraph | undefined;
  /** The memory of a node of the graph. */
  #nodeBytes = 0;
  #graphInsertCount = 0;
  #recall: NamespaceRecall | undefined;

  constructor(options: NamespaceOptions) {
    this.number = options.number;
    this.name = options.name;
    this.#options = options;
    this.table = new RecordTable(options.memory);
    this.metadata = new MetadataStore(options.memory);
    this.filters = new FilterMatcher(this.metadata);
  }

  get count(): number {
    return this.table.count;
  }

  get similarity(): Similarity {
    return this.#options.index.definition.similarity;
  }

  /**
   * Records that the graph does not find reliably: those that are not in it yet, which searches scan, and by estimate
   * those that its walks miss until they are repaired.
   */
  get pendingCount(): number {
    const graph = this.#graph;
    return graph === undefined ? 0 : graph.pendingCount + Math.round(graph.missedShare * graph.count);
  }

  /** The number of rows passed to the graph so far, which shows whether the graph changed. */
  get graphInsertCount(): number {
    return this.#graphInsertCount;
  }

  /** Undefined until the first dense vector. */
  get rows(): RowStore | undefined {
    return this.#rows;
  }

  get graph(): NamespaceGraph | undefined {
    return this.#graph;
  }

  /** The efforts of searches for the recall target. Undefined until the first graph. */
  get recall(): NamespaceRecall | undefined {
    return this.#recall;
  }

  /** The bytes of all parts of all records as they were sent, without indexes (B3). */
  get byteCount(): number {
    const dense = (this.#rows?.count ?? 0) * this.#dimension * Float32Array.BYTES_PER_ELEMENT;
    const sparse = this.sparse.postings.count * SPARSE_VALUE_BYTES;
    return dense + sparse + this.metadata.textBytes + this.table.dataBytes;
  }

  /**
   * The memory of its records, and of the graph when it has all of them; `countedBytes` of it are counted so far. Room
   * that deleted records left is not counted, so that a tenant that deletes some records may write others.
   */
  get memoryBytes(): number {
    const texts = this.table.liveBytes + this.metadata.liveBytes + this.count * METADATA_BYTES;
    const bytes = this.#rowsBytes + this.sparse.byteCount + texts + this.#graphBytes + (this.#recall?.byteCount ?? 0);
    return Math.round(bytes);
  }

  /** Makes room for dense vectors of `count` more records. Throws `OutOfMemory` and changes nothing then: keeps (3). */
  reserve(count: number): void {
    if (count > 0) this.#denseRows().ensure(this.table.end + count - 1);
  }

  /** Writes a record, or the parts of it in the put. */
  put({ id, isWhole, vector, version, sparseVector, metadata, data }: Put): void {
    const { table } = this;
    const known = table.find(id);
    const record = known ?? table.add(id);
    this.changes.note(record); // keeps (2)
    if (vector !== undefined) this.#setRow(record, vector, version);
    else if (isWhole && known !== undefined) this.#removeRow(record);
    if (sparseVector !== undefined) this.sparse.set(record, sparseVector);
    else if (isWhole && known !== undefined) this.sparse.remove(record);
    // Even without metadata, because this makes the record exist.
    if (metadata !== undefined || isWhole || known === undefined) this.metadata.set(record, metadata);
    if (data !== undefined || isWhole) table.setData(record, data);
  }

  /** Removes a record. Returns false if the id does not exist. */
  remove(id: string): boolean {
    const { table } = this;
    const record = table.find(id);
    if (record === undefined) return false;
    this.changes.note(record);
    this.#removeRow(record);
    this.sparse.remove(record);
    this.metadata.remove(record);
    table.remove(record);
    this.#compact();
    if (this.#graph !== undefined && this.#searchWork < this.#graphWorkMin / 2) this.#dropGraph();
    return true;
  }

  /**
   * After a recovery, which builds no graphs, gives a large namespace its graph, from the bytes of its cache file if
   * they are valid. Returns the reason if they are not.
   */
  startGraph(file: Uint8Array | undefined): string | undefined {
    const graphs = this.#options.graphs();
    if (graphs === undefined || !this.isGraphWanted) return undefined;
    if (file === undefined) {
      this.#openGraph();
      return undefined;
    }
    const loaded = graphs.load(this.#graphOptions(), file, this.#versions());
    if (loaded.kind === "loaded") {
      this.#graph = loaded.graph;
      this.#nodeBytes = nodeBytesOf(this.#dimension);
      this.#openRecall();
    } else this.#openGraph();
    return loaded.kind === "loaded" ? undefined : loaded.reason;
  }

  get isGraphWanted(): boolean {
    return this.#searchWork >= this.#graphWorkMin;
  }

  clear(): void {
    const { table } = this;
    for (const record of table.order.from(0)) this.changes.note(record);
    this.#dropGraph();
    this.#rows?.clear();
    this.sparse.clear();
    this.metadata.clear();
    table.clear();
    this.#keptEnd = 0;
  }

  /** Frees the memory outside the heap. A running search finds nothing any more. */
  close(): void {
    this.clear();
  }

  /** The record for an answer. It must exist. */
  view(record: number, include: Include): RecordView {
    const { table } = this;
    const id = table.idOf(record);
    assert(id !== undefined, "a shown record exists");
    const view: { -readonly [Part in keyof RecordView]: RecordView[Part] } = { id };
    if (include.vectors) {
      const vector = this.vectorOf(record);
      if (vector !== undefined) view.vector = vector;
      const sparseVector = this.sparse.read(record);
      if (sparseVector !== undefined) view.sparseVector = sparseVector;
    }
    if (include.metadata) {
      const metadata = this.metadata.text(record);
      if (metadata !== undefined) view.metadata = metadata;
    }
    if (include.data) {
      const data = table.dataOf(record);
      if (data !== undefined) view.data = data;
    }
    return view;
  }

  vectorOf(record: number): Float32Array | undefined {
    return this.#rows?.has(record) ? this.#rows.read(record) : undefined;
  }

  /** Of a small namespace all blocks, which are half empty or more; of a large one, those that its rows need. */
  get #rowsBytes(): number {
    const rows = this.#rows;
    if (rows === undefined || rows.count === 0) return 0;
    return rows.byteCount < BLOCK_BYTES_MAX ? rows.byteCount : (rows.byteCount * rows.count) / rows.capacity;
  }

  /** With the nodes of pending records: another thread makes them, without a change that would count them. */
  get #graphBytes(): number {
    const graph = this.#graph;
    return graph === undefined ? 0 : graph.byteCount + graph.pendingCount * this.#nodeBytes;
  }

  get #dimension(): number {
    return this.#options.index.definition.dimension ?? 0;
  }

  /** The multiplications of an exact search of all records. */
  get #searchWork(): number {
    return (this.#rows?.count ?? 0) * this.#dimension;
  }

  get #graphWorkMin(): number {
    return this.#options.graphWorkMin ?? GRAPH_WORK_MIN;
  }

  #denseRows(): RowStore {
    this.#rows ??= new RowStore(this.#options.memory, this.#dimension);
    return this.#rows;
  }

  #setRow(record: number, vector: Float32Array, version: number): void {
    const rows = this.#denseRows();
    rows.ensure(record);
    rows.set(record, vector);
    this.table.setVersion(record, version);
    this.#graphInsertCount += 1;
    if (this.#graph !== undefined) this.#graph.insert(record, version);
    else if (this.isGraphWanted) this.#openGraph();
  }

  #removeRow(record: number): void {
    if (this.#rows?.has(record) !== true) return;
    this.#graph?.remove(record);
    this.#rows.remove(record);
  }

  #openGraph(): void {
    const graphs = this.#options.graphs();
    if (graphs === undefined) return;
    this.#graph = graphs.open(this.#graphOptions());
    this.#nodeBytes = nodeBytesOf(this.#dimension);
    this.#openRecall();
    for (const { record, version } of this.#versions()) this.#graph.insert(record, version);
  }

  #openRecall(): void {
    this.#recall ??= new NamespaceRecall(
      this.#options.recallSettings,
      this.#options.random,
      () => this.#graph?.missedShare ?? 0,
    );
  }

  #graphOptions(): GraphOptions {
    const rows = this.#denseRows();
    return { dimension: this.#dimension, similarity: this.similarity, read: (record) => rows.look(record) };
  }

  *#versions(): Generator<RecordVersion> {
    const rows = this.#denseRows();
    for (const record of this.table.order.from(0))
      if (rows.has(record)) yield { record, version: this.table.versionOf(record) };
  }

  #dropGraph(): void {
    this.#graph?.close();
    this.#graph = undefined;
    this.#recall = undefined;
  }

  /** Moves records from the end into gaps while there are too many gaps, so that arrays by number shrink. */
  #compact(): void {
    for (let i = 0; i < MOVES_PER_REMOVAL; i += 1) {
      const move = this.table.nextMove();
      if (move === undefined) break;
      this.#move(move.from, move.to);
    }
    const { end } = this.table;
    if (this.#keptEnd - end < TRUNCATED_MIN) {
      this.#keptEnd = Math.max(this.#keptEnd, end);
      return;
    }
    this.#keptEnd = end;
    this.#rows?.truncate(end);
    this.metadata.truncate(end);
  }

  #move(from: number, to: number): void {
    this.changes.note(from);
    this.changes.note(to);
    const vector = this.vectorOf(from);
    const sparseVector = this.sparse.read(from);
    const version = this.table.versionOf(from);
    this.#removeRow(from);
    this.sparse.remove(from);
    this.metadata.move(from, to);
    this.table.move(from, to);
    if (vector !== undefined) this.#setRow(to, vector, version);
    if (sparseVector !== undefined) this.sparse.set(to, sparseVector);
  }
}
