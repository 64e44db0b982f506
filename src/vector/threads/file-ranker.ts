/**
 * Ranks rows in files, on a thread that may wait for the disk. Entries are read
 * into memory of its own beside its kernel, and ranked only if they are as they
 * were written (`row-files/row-files.ts`).
 */
import { ENTRY_HEAD_BYTES, entryBytesOf, RowEntries } from "../row-files/row-entries.ts";
import type { ReadFileNow, RowPlace } from "../row-files/row-file-storage.ts";
import { Arena, CHUNK_BYTES } from "../rows/arena.ts";
import type { PreparedQuery } from "../rows/prepared-query.ts";
import { rowBytesOf } from "../rows/row-kernel.ts";

export interface RankedBy {
  readonly query: PreparedQuery;
  /** The code of the similarity. */
  readonly similarity: number;
}

/** The entries of a file that a scan reads together. */
export function scannedTogether(dimension: number): number {
  return Math.floor(CHUNK_BYTES / entryBytesOf(dimension));
}

export class FileRanker {
  readonly #read: ReadFileNow;
  readonly #arena: Arena;
  /** The address of the entries. */
  readonly #at: number;
  /** Views for entries of the last dimension. */
  #entries: RowEntries | undefined;
  #dimension = 0;

  /** Undefined if there is no memory for it. */
  static create(read: ReadFileNow): FileRanker | undefined {
    try {
      return new FileRanker(read);
    } catch (fault) {
      if (fault instanceof RangeError) return undefined;
      throw fault;
    }
  }

  private constructor(read: ReadFileNow) {
    this.#read = read;
    this.#arena = Arena.create(2 * CHUNK_BYTES);
    this.#at = this.#arena.addChunk();
  }

  /** The rank of a row; undefined if it cannot be read as it was written. */
  rank({ descriptor, offset, version }: RowPlace, by: RankedBy): number | undefined {
    const entries = this.#entriesOf(by.query.dimension);
    const bytes = entries.bytes.subarray(0, entries.entryBytes);
    if (!this.#readFully(descriptor, bytes, offset)) return undefined;
    return entries.isWhole(0) && entries.versionOf(0) === version ? this.#rankEntry(entries, 0, by) : undefined;
  }

  /** The entries that are read together. */
  blockEntries(dimension: number): number {
    return this.#entriesOf(dimension).count;
  }

  /**
   * Reads `count` entries that are beside each other, and calls `offer` with the rank of each that `wants` accepts.
   * Returns false if one of those cannot be read as it was written.
   */
  scan(
    { descriptor, offset, count }: { descriptor: number; offset: number; count: number },
    by: RankedBy,
    hits: { wants(entry: number): boolean; offer(entry: number, rank: number): void },
  ): boolean {
    const entries = this.#entriesOf(by.query.dimension);
    if (!this.#readFully(descriptor, entries.bytes.subarray(0, count * entries.entryBytes), offset)) return false;
    for (let entry = 0; entry < count; entry += 1) {
      if (!hits.wants(entry)) continue;
      if (!entries.isWhole(entry)) return false;
      hits.offer(entry, this.#rankEntry(entries, entry, by));
    }
    return true;
  }

  #rankEntry(entries: RowEntries, entry: number, { query, similarity }: RankedBy): number {
    const arena = this.#arena;
    arena.load(query);
    return arena.kernel.rank(
      similarity,
      this.#at + entry * entries.entryBytes + ENTRY_HEAD_BYTES,
      entries.squaredLengthOf(entry),
      rowBytesOf(query.dimension),
      arena.scratch.query,
      query.squaredLength,
    );
  }

  /** Returns false if the file ends before, or the disk fails: the owner cannot use the row in either case. */
  #readFully(descriptor: number, bytes: Uint8Array, offset: number): boolean {
    try {
      return this.#read(descriptor, bytes, offset) === bytes.length;
    } catch {
      return false;
    }
  }

  #entriesOf(dimension: number): RowEntries {
    if (this.#entries === undefined || this.#dimension !== dimension) {
      const { buffer } = this.#arena.memory;
      const count = scannedTogether(dimension);
      this.#entries = new RowEntries(dimension, { buffer, start: this.#at, count });
      this.#dimension = dimension;
    }
    return this.#entries;
  }
}
