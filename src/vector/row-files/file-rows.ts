/**
 * The dense rows of one namespace in files, with what its searches need on the
 * thread of the index: whether a record has a row, the ranks of rows that are in
 * memory, and readers for the others, which wait.
 *
 * A search that waited checks versions: a rank is that of a record's row only if
 * it was computed from the row of the record's current version.
 */
import { assert } from "../../kernel/assert.ts";
import type { Similarity } from "../index/definition.ts";
import type { PreparedQuery } from "../rows/prepared-query.ts";
import { rowBytesOf } from "../rows/row-kernel.ts";
import { BLOCK_BYTES_MIN, type Block, type RowMemory } from "../rows/row-memory.ts";
import { similarityRows } from "../rows/similarity.ts";
import type { VersionedRow } from "./row-entries.ts";
import { DamagedRow, type RowReads } from "./row-file-storage.ts";
import type { HeldFiles, HeldRows, RowFiles } from "./row-files.ts";

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
/** Rows in the buffer are written when they take so much memory. */
const BUFFER_BYTES = 1_048_576;
/** Files are looked through for compaction when so many rows, and this share of them, died since the last time. */
const DEAD_MIN = 1_024;
const DEAD_SHARE = 0.25;

export interface FileRowsOptions {
  readonly memory: RowMemory;
  readonly dimension: number;
  readonly files: RowFiles;
  /** The version of the current row of a record that has one. */
  versionOf(record: number): number;
  /** Counts reads by other threads. */
  noteReads(reads: RowReads): void;
  /** Rows that are not written are, when they take so much memory; `BUFFER_BYTES` if undefined. */
  readonly bufferBytes?: number | undefined;
  /** Has the files written and compacted soon. */
  flushSoon(): void;
  /** A row cannot be read: the process must end. */
  onFault(fault: unknown): void;
  /** The rows are not needed any more, and have been removed. */
  onClosed(): void;
}

/** A query, with the similarity by which rows are ranked. */
export interface RankedQuery {
  readonly query: PreparedQuery;
  readonly similarity: Similarity;
}

export class FileRows {
  readonly dimension: number;
  readonly memory: RowMemory;
  readonly #files: RowFiles;
  readonly #options: FileRowsOptions;
  /** The place of a row that is ranked; made when it is first needed. */
  #scratch: Block | undefined;
  #deadCount = 0;

  constructor(options: FileRowsOptions) {
    this.dimension = options.dimension;
    this.memory = options.memory;
    this.#files = options.files;
    this.#options = options;
  }

  /** The number of rows. */
  get count(): number {
    return this.#files.count;
  }

  /** The memory of the places of rows, and of rows that are not written yet. */
  get byteCount(): number {
    return this.#files.byteCount;
  }

  /** The bytes of the files. */
  get fileBytes(): number {
    return this.#files.fileBytes;
  }

  has(record: number): boolean {
    return this.#files.has(record);
  }

  versionOf(record: number): number {
    return this.#options.versionOf(record);
  }

  /** The row of a record while it is in memory. */
  buffered(record: number): VersionedRow | undefined {
    return this.#files.buffered(record);
  }

  get bufferedRecords(): Iterable<number> {
    return this.#files.bufferedRecords;
  }

  /** Sets or replaces a row. The vector is copied. */
  set(record: number, version: number, vector: Float32Array): void {
    assert(vector.length === this.dimension, "a row has the dimension of its store");
    const squaredLength = this.memory.squaredLength(vector);
    assert(Number.isFinite(squaredLength), "the squared length of a stored vector is finite");
    this.#noteDead(record);
    this.#files.set(record, { version, squaredLength, values: vector });
    if (this.#files.bufferedBytes >= (this.#options.bufferBytes ?? BUFFER_BYTES)) this.#options.flushSoon();
  }

  /** Removes a row, which may be missing. */
  remove(record: number): void {
    this.#noteDead(record);
    this.#files.remove(record);
  }

  /** Gives the row of a record, if it has one, to a record that has none. */
  move(from: number, to: number): void {
    this.#files.move(from, to);
  }

  /** Frees what only records from `count` on needed. They have no rows. */
  truncate(count: number): void {
    this.#files.truncate(count);
  }

  clear(): void {
    this.#files.clear();
    this.#options.flushSoon();
  }

  /** Removes all rows and frees the memory outside the heap. No row may follow. */
  close(): void {
    this.#files.clear();
    this.#options.onClosed();
    if (this.#scratch !== undefined) this.memory.release(this.#scratch);
    this.#scratch = undefined;
  }

  /** The rank of a row in memory, with the same bits as in `RowStore.rank`. */
  rank({ query, similarity }: RankedQuery, { values, squaredLength }: VersionedRow): number {
    const rowBytes = rowBytesOf(this.dimension);
    this.#scratch ??= this.memory.allocate(blockBytesFor(rowBytes));
    const { arena, address } = this.#scratch;
    const start = address / FLOAT_BYTES;
    arena.floats.set(values, start);
    arena.floats.fill(0, start + this.dimension, start + rowBytes / FLOAT_BYTES);
    arena.load(query);
    return arena.kernel.rank(
      similarityRows[similarity].code,
      address,
      squaredLength,
      rowBytes,
      arena.scratch.query,
      query.squaredLength,
    );
  }

  hold(records: readonly number[]): HeldRows {
    return this.#files.hold(records);
  }

  holdFiles(): HeldFiles {
    return this.#files.holdFiles();
  }

  /** As `RowFiles.read`; a fault is reported too. */
  read(records: readonly number[]): Promise<readonly (Float32Array | undefined)[]> {
    return this.#reported(this.#files.read(records));
  }

  readRows(records: readonly number[]): Promise<readonly (VersionedRow | undefined)[]> {
    return this.#reported(this.#files.readRows(records));
  }

  readNow(record: number): Float32Array | undefined {
    return this.#files.readNow(record);
  }

  /** Counts reads that other threads have done, or the thread pool for a scan. */
  noteReads(reads: RowReads): void {
    this.#options.noteReads(reads);
  }

  /** Reports a row that another thread could not read as it was written, and returns the error. */
  damaged(): DamagedRow {
    const fault = new DamagedRow("A row file is damaged: a search cannot read a row as it was written");
    this.#options.onFault(fault);
    return fault;
  }

  /** Reports a fault of the disk, and returns it. */
  failed(fault: unknown): unknown {
    this.#options.onFault(fault);
    return fault;
  }

  async #reported<Result>(reading: Promise<Result>): Promise<Result> {
    try {
      return await reading;
    } catch (fault) {
      this.#options.onFault(fault);
      throw fault;
    }
  }

  #noteDead(record: number): void {
    if (!this.#files.has(record)) return;
    this.#deadCount += 1;
    if (this.#deadCount < DEAD_MIN || this.#deadCount < this.count * DEAD_SHARE) return;
    this.#deadCount = 0;
    this.#options.flushSoon();
  }
}

function blockBytesFor(rowBytes: number): number {
  let bytes = BLOCK_BYTES_MIN;
  while (bytes < rowBytes) bytes *= 2;
  return bytes;
}
