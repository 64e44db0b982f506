/** One row file with the records of its entries. */
import { entryBytesOf, HEAD_BYTES, NO_RECORD, RowEntries } from "./row-entries.ts";
import type { StoredRowFile } from "./row-file-storage.ts";

/** Entries read at a time when all of a file is read. */
const BLOCK_BYTES = 1_048_576;

export interface RowSegmentParts {
  readonly file: StoredRowFile;
  readonly name: string;
  readonly dimension: number;
  /** Its index among the open files. */
  readonly slot: number;
  /** The entries that fit. */
  readonly entriesMax: number;
}

export class RowSegment {
  readonly file: StoredRowFile;
  readonly name: string;
  readonly slot: number;
  readonly #dimension: number;
  readonly #entryBytes: number;
  readonly #entriesMax: number;
  readonly #records: Uint32Array;
  /** Entries that were written, or may have been. */
  writtenCount = 0;
  /** Readers that other threads or the thread pool serve now. */
  heldCount = 0;
  /** True if nothing is appended any more. */
  isClosed = false;
  #liveCount = 0;

  constructor({ file, name, dimension, slot, entriesMax }: RowSegmentParts) {
    this.file = file;
    this.name = name;
    this.slot = slot;
    this.#dimension = dimension;
    this.#entryBytes = entryBytesOf(dimension);
    this.#entriesMax = entriesMax;
    this.#records = new Uint32Array(entriesMax).fill(NO_RECORD);
  }

  /** The entries with the row of a record. */
  get liveCount(): number {
    return this.#liveCount;
  }

  get freeCount(): number {
    return this.isClosed ? 0 : this.#entriesMax - this.writtenCount;
  }

  /** True if most of its room will never have a row again. */
  get isSparse(): boolean {
    return this.isClosed && 2 * this.#liveCount < this.#entriesMax;
  }

  /** The memory of its records. */
  get byteCount(): number {
    return this.#records.byteLength;
  }

  /** The records of the entries up to the last live one, `NO_RECORD` for dead ones: a view. The file has all of them. */
  get records(): Uint32Array {
    let end = this.writtenCount;
    while (end > 0 && this.#records[end - 1] === NO_RECORD) end -= 1;
    return this.#records.subarray(0, end);
  }

  /** The record of an entry, or undefined if it is dead. */
  recordOf(entry: number): number | undefined {
    const record = this.#records[entry] as number;
    return record === NO_RECORD ? undefined : record;
  }

  setRecord(entry: number, record: number): void {
    if (this.#records[entry] === NO_RECORD) this.#liveCount += 1;
    this.#records[entry] = record;
  }

  kill(entry: number): void {
    if (this.#records[entry] === NO_RECORD) return;
    this.#records[entry] = NO_RECORD;
    this.#liveCount -= 1;
  }

  killAll(): void {
    this.#records.fill(NO_RECORD);
    this.#liveCount = 0;
  }

  offsetOf(entry: number): number {
    return HEAD_BYTES + entry * this.#entryBytes;
  }

  /** All entries in blocks, each with the number of its first one. */
  async *blocks(): AsyncGenerator<{ readonly first: number; readonly entries: RowEntries }> {
    const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / this.#entryBytes));
    for (let first = 0; first < this.writtenCount; first += perBlock) {
      const entries = RowEntries.ofCount(this.#dimension, Math.min(perBlock, this.writtenCount - first));
      await this.file.read(entries.bytes, this.offsetOf(first));
      yield { first, entries };
    }
  }
}
