/**
 * One namespace of an index: its records and the structures that find them.
 *
 * (1) A record number means the same record in every part: table, rows, sparse
 *     lists, metadata, graph.
 * (2) A record's row is changed in place. Every change is noted in `changes`, and
 *     running searches score changed records again.
 * (3) `reserve` is called before a change is recorded in the journal, so that a
 *     recorded change cannot fail for lack of memory.
 * (4) Rows are in memory or in files, all of them. With rows in files, a namespace
 *     moves its rows when it gets so large that it gets a graph, because a search
 *     without one reads all rows. They stay in files from then on.
 */
import { assert } from "../../kernel/assert.ts";
import type { Random } from "../../kernel/random.ts";
import type { Eventually } from "../eventually.ts";
import type { GraphBuilder, GraphOptions, RecordVersion } from "../graph/graph.ts";
import { nodeBytesOf, partRecordsOf } from "../graph/graph-size.ts";
import { PartedGraph } from "../graph-parts/parted-graph.ts";
import { FilterMatcher } from "../metadata/filter-matcher.ts";
import { MetadataStore } from "../metadata/metadata-store.ts";
import { NamespaceRecall, type RecallSettings } from "../recall/namespace-recall.ts";
import type { FileRows } from "../row-files/file-rows.ts";
import type { LateRows } from "../row-files/late-rows.ts";
import type { TakenRows } from "../row-files/row-file-set.ts";
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
  /** The most records of a part of the graph, instead of `partRecordsOf`. */
  readonly graphPartRecords?: number | undefined;
  /** The recall target of the index, and the largest effort for it. */
  recallSettings(): RecallSettings;
  /** Draws the queries of which the recall is measured. */
  readonly random: Random;
  /** The rows of a large namespace in files; undefined if its rows stay in memory. */
  openFileRows?: ((namespace: Omit<TakenRows, "index" | "memory" | "noteReads">) => FileRows) | undefined;
}

/** The saved graphs of a namespace, by part. */
export interface SavedGraphs {
  /** The numbers of the parts that have files. */
  readonly parts: readonly number[];
  /** The bytes of a file; undefined if it does not exist any more. */
  read(part: number): Promise<Uint8Array | undefined>;
  /** Called for a file that cannot be used: its records are inserted again. */
  refuse(part: number, reason: string): void;
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
  /** Instead of `#rows`, when they have moved: keeps (4). */
  #fileRows: FileRows | undefined;
  /** Rows and metadata have room for this many numbers. */
  #keptEnd = 0;
  #graph: PartedGraph | undefined;
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
    return graph === undefined ? 0 : graph.pendingCount + graph.missedCount;
  }

  /** The number of rows written so far. */
  get graphInsertCount(): number {
    return this.#graphInsertCount;
  }

  /** The rows in memory. Undefined until the first dense vector, and if they are in files. */
  get rows(): RowStore | undefined {
    return this.#rows;
  }

  /** Undefined while rows are in memory. The same from the move on. */
  get fileRows(): FileRows | undefined {
    return this.#fileRows;
  }

  /** The number of dense vectors. */
  get rowCount(): number {
    return this.#fileRows?.count ?? this.#rows?.count ?? 0;
  }

  get graph(): PartedGraph | undefined {
    return this.#graph;
  }

  /** The efforts of searches for the recall target. Undefined until the first graph. */
  get recall(): NamespaceRecall | undefined {
    return this.#recall;
  }

  /** The bytes of all parts of all records as they were sent, without indexes (B3). */
  get byteCount(): number {
    const dense = this.rowCount * this.#dimension * Float32Array.BYTES_PER_ELEMENT;
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
    // New rows in files are in the heap until they are written.
    if (count > 0 && this.#fileRows === undefined) this.#denseRows().ensure(this.table.end + count - 1);
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
   * After a recovery, which builds no graphs, gives a large namespace its graph: each part from its cache file if that
   * is valid. A promise only if there may be files.
   */
  startGraph(saved?: SavedGraphs): Eventually<void> {
    if (saved === undefined) this.#openGraph();
    else return this.#loadGraph(saved);
  }

  get isGraphWanted(): boolean {
    return this.#searchWork >= this.#graphWorkMin;
  }

  clear(): void {
    const { table } = this;
    for (const record of table.order.from(0)) this.changes.note(record);
    this.#dropGraph();
    this.#rows?.clear();
    this.#fileRows?.clear();
    this.sparse.clear();
    this.metadata.clear();
    table.clear();
    this.#keptEnd = 0;
  }

  /** Frees the memory outside the heap. A running search finds nothing any more. */
  close(): void {
    this.clear();
    this.#fileRows?.close();
  }

  /** The record for an answer. It must exist. Its row is in `late` if it is in a file. */
  view(record: number, include: Include, late: LateRows): RecordView {
    const { table } = this;
    const id = table.idOf(record);
    assert(id !== undefined, "a shown record exists");
    const view: { -readonly [Part in keyof RecordView]: RecordView[Part] } = { id };
    if (include.vectors) {
      const vector = this.vectorOf(record, late);
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

  /** A copy of the row of a record, if it has one. A row that is in a file is read by `late`. */
  vectorOf(record: number, late: LateRows): Float32Array | undefined {
    const rows = this.#fileRows;
    if (rows === undefined) return this.#rows?.has(record) ? this.#rows.read(record) : undefined;
    return rows.buffered(record)?.values.slice() ?? (rows.has(record) ? late.add(rows, record) : undefined);
  }

  /** As `vectorOf`, at once: for a process that serves nothing, and may wait for the disk. */
  vectorNow(record: number): Float32Array | undefined {
    if (this.#fileRows !== undefined) return this.#fileRows.readNow(record);
    return this.#rows?.has(record) ? this.#rows.read(record) : undefined;
  }

  /** Of a small namespace all blocks, which are half empty or more; of a large one, those that its rows need. */
  get #rowsBytes(): number {
    if (this.#fileRows !== undefined) return this.#fileRows.byteCount;
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
    return this.rowCount * this.#dimension;
  }

  get #graphWorkMin(): number {
    return this.#options.graphWorkMin ?? GRAPH_WORK_MIN;
  }

  #denseRows(): RowStore {
    this.#rows ??= new RowStore(this.#options.memory, this.#dimension);
    return this.#rows;
  }

  #setRow(record: number, vector: Float32Array, version: number): void {
    if (this.#fileRows !== undefined) this.#fileRows.set(record, version, vector);
    else {
      const rows = this.#denseRows();
      rows.ensure(record);
      rows.set(record, vector);
    }
    this.table.setVersion(record, version);
    this.#insertNode(record, version);
  }

  #insertNode(record: number, version: number): void {
    this.#graphInsertCount += 1;
    if (this.#graph !== undefined) this.#graph.insert(record, version);
    else if (this.isGraphWanted) {
      this.#moveRows();
      this.#openGraph();
    }
  }

  #hasRow(record: number): boolean {
    return this.#fileRows?.has(record) ?? this.#rows?.has(record) ?? false;
  }

  #removeRow(record: number): void {
    if (!this.#hasRow(record)) return;
    this.#graph?.remove(record);
    if (this.#fileRows !== undefined) this.#fileRows.remove(record);
    else this.#rows?.remove(record);
  }

  /** keeps (4) */
  #moveRows(): void {
    const rows = this.#rows;
    const { openFileRows } = this.#options;
    if (rows === undefined || openFileRows === undefined || this.#fileRows !== undefined) return;
    const versionOf = (record: number): number => this.table.versionOf(record);
    const fileRows = openFileRows({ namespace: this.number, dimension: this.#dimension, versionOf });
    for (const { record, version } of this.#versions()) fileRows.set(record, version, rows.look(record));
    this.#fileRows = fileRows;
    this.#rows = undefined;
    rows.clear();
  }

  #openGraph(): void {
    const graph = this.#newGraph();
    if (graph === undefined) return;
    this.#useGraph(graph);
    for (const { record, version } of this.#versions()) graph.insert(record, version);
  }

  /** One part after the other, so that one file is in memory at a time. */
  async #loadGraph(saved: SavedGraphs): Promise<void> {
    const graph = this.#newGraph();
    if (graph === undefined) return;
    for (const part of saved.parts) {
      const bytes = await saved.read(part);
      const refusal = bytes && (await graph.load(part, bytes, this.#versions()));
      if (refusal !== undefined) saved.refuse(part, refusal);
    }
    for (const { record, version } of this.#versions()) if (!graph.has(record)) graph.insert(record, version);
    this.#useGraph(graph);
  }

  /** Undefined if graphs are not built, or the namespace is small. */
  #newGraph(): PartedGraph | undefined {
    const graphs = this.#options.graphs();
    if (graphs === undefined || !this.isGraphWanted) return undefined;
    const partRecords = this.#options.graphPartRecords ?? partRecordsOf(this.#dimension);
    return new PartedGraph({ graphs, graph: this.#graphOptions(), partRecords });
  }

  #useGraph(graph: PartedGraph): void {
    this.#graph = graph;
    this.#nodeBytes = nodeBytesOf(this.#dimension);
    this.#recall ??= new NamespaceRecall(this.#options.recallSettings, this.#options.random, () => ({
      missedShare: this.#graph?.missedShare ?? 0,
      rowCount: this.rowCount,
      insertCount: this.#graphInsertCount,
    }));
  }

  #graphOptions(): GraphOptions {
    const shape = { dimension: this.#dimension, similarity: this.similarity };
    const fileRows = this.#fileRows;
    if (fileRows !== undefined) return { ...shape, readLater: (records) => fileRows.read(records) };
    const rows = this.#denseRows();
    return { ...shape, read: (record) => rows.look(record) };
  }

  *#versions(): Generator<RecordVersion> {
    for (const record of this.table.order.from(0))
      if (this.#hasRow(record)) yield { record, version: this.table.versionOf(record) };
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
    this.#fileRows?.truncate(end);
    this.metadata.truncate(end);
  }

  #move(from: number, to: number): void {
    this.changes.note(from);
    this.changes.note(to);
    const sparseVector = this.sparse.read(from);
    const moveRow = this.#takeRow(from, to);
    this.sparse.remove(from);
    this.metadata.move(from, to);
    this.table.move(from, to);
    moveRow?.();
    if (sparseVector !== undefined) this.sparse.set(to, sparseVector);
  }

  /** Takes the row of a record away, and returns the call that gives it to another one; undefined if it has none. */
  #takeRow(from: number, to: number): (() => void) | undefined {
    if (!this.#hasRow(from)) return undefined;
    const version = this.table.versionOf(from);
    const fileRows = this.#fileRows;
    if (fileRows === undefined) {
      const vector = this.#rows?.read(from);
      this.#removeRow(from);
      return () => vector && this.#setRow(to, vector, version);
    }
    this.#graph?.remove(from);
    fileRows.move(from, to);
    return () => this.#insertNode(to, version);
  }
}
