/**
 * The float rows of one namespace in files, by record number. The files are a
 * cache of rows that the journal and the snapshot hold: nothing acknowledged
 * depends on them, so they are never synced. Codes and graphs find candidates in
 * memory; rows are read for their scores.
 *
 *     set      -> buffer -> entry of the last file -> (compaction) entry of a newer file
 *     replaced, removed    -> the entry is dead
 *
 * Writing. One thread, that of the index, decides all places; the thread pool
 * writes, one write at a time.
 * (1) A row is in the buffer, in memory, until its entry is written. A record has
 *     its row in the buffer, or at one place, or nowhere.
 * (2) Files are only appended to: an entry is written once in the life of its
 *     file. After a failed write, and after a start, a file gets no more entries.
 * (3) A file that nothing is appended to and that is less than half alive is
 *     compacted: its live rows are appended to the last file, and then it is
 *     removed. So files have at most twice the room of the rows, and two more.
 *
 * Reading. Search threads and the thread pool read, while the owner goes on.
 * (4) The owner holds a place before it sends it to a reader, until the reader is
 *     done. A file is closed and removed when it has no live row and none of its
 *     places is held; only then its slot may be used again. So a place that a
 *     reader has means the same entry, even if its row is dead meanwhile, and no
 *     descriptor is used after it was closed.
 * (5) An entry has the version of its row and a checksum of all. A reader checks
 *     both; another version or a wrong checksum is damage, because of (4). A
 *     damaged row is not answered from: `DamagedRow` ends the process, and the next
 *     start reads the row from the journal.
 *
 * Recovering. At a start all files are read once, in order, before the replay.
 * (6) A file with another head is removed: of another format, machine, index,
 *     namespace or dimension. An entry that is not whole, or that the file does
 *     not have to its last byte, counts as missing.
 * (7) The replay sets all rows again. A row that is found in a file, with the same
 *     version, squared length and checksum, gets that place; another one goes to the
 *     buffer and is written again. `endRecovery` gives up the entries that no
 *     row has got.
 */
import { assert } from "../../kernel/assert.ts";
import { Uint32Pages } from "../records/number-pages.ts";
import { FoundRows } from "./found-rows.ts";
import { entryBytesOf, HEAD_BYTES, headFault, headOf, RowEntries, type VersionedRow } from "./row-entries.ts";
import { DamagedRow, type RowFileStorage, type RowPlace, type StoredRowFile } from "./row-file-storage.ts";
import { RowSegment } from "./row-segment.ts";

/** A file that is compacted is read and written as a whole, so files are not larger. */
const SEGMENT_BYTES = 67_108_864;
/** Written together. */
const BATCH_BYTES = 1_048_576;
/** Entries beside each other that one read fetches. */
const READ_BYTES_MAX = 131_072;
/** Places are u32, and one number is for none. */
const PLACES_MAX = 0xffff_ffff;
/** Reads of one call that wait for the thread pool at the same time. */
const READS_MAX = 4;

export interface RowFilesOptions {
  readonly storage: RowFileStorage;
  readonly index: number;
  readonly namespace: number;
  readonly dimension: number;
  /** The version of the current row of a record that has one. */
  versionOf(record: number): number;
  /** Called for each read of rows by the thread pool, but not for those of a recovery or of a compaction. */
  noteRead?(bytes: number): void;
  /** The most bytes of a file; `SEGMENT_BYTES` if undefined. */
  readonly segmentBytes?: number | undefined;
  /** The number of the first new file, if others exist that are not read; 1 if undefined. */
  readonly firstSegment?: number;
}

export interface RefusedRowFile {
  readonly name: string;
  readonly reason: string;
}

/** Places of rows that stay readable until they are released. */
export interface HeldRows {
  /** By the order of the records; undefined for a row that is in the buffer or missing. */
  readonly places: readonly (RowPlace | undefined)[];
  release(): void;
}

export interface HeldFiles {
  readonly files: readonly {
    readonly descriptor: number;
    /** The record of each entry, `NO_RECORD` if it is dead. Changes with the rows: copy it at once. */
    readonly records: Uint32Array;
    /** Reads by the thread pool, as `StoredRowFile.read`. */
    read(target: Uint8Array, offset: number): Promise<number>;
  }[];
  release(): void;
}

interface BufferedRow extends VersionedRow {
  /** The record that has it, which a move changes. */
  record: number;
}

interface PlacedEntry {
  readonly segment: RowSegment;
  readonly entry: number;
}

interface WantedEntry extends PlacedEntry {
  /** The index of its row in the result. */
  readonly index: number;
  readonly version: number;
}

export class RowFiles {
  readonly #options: RowFilesOptions;
  readonly #entryBytes: number;
  readonly #entriesMax: number;
  /** For the checksum of one row. */
  readonly #probe: RowEntries;
  /**
   * By record: the place of its row plus one, or 0 for none. A place is slot x entriesMax + entry. The files are opened
   * before the memory of rows exists, so the pages are arrays of their own.
   */
  readonly #places = new Uint32Pages();
  /** By record, in the order of their changes. */
  readonly #buffer = new Map<number, BufferedRow>();
  /** Open files by slot. */
  readonly #segments: (RowSegment | undefined)[] = [];
  /** The file that is appended to. */
  #last: RowSegment | undefined;
  #nextSegment = 1;
  #placedCount = 0;
  /** Defined during a recovery. */
  #found: FoundRows | undefined;
  #flushing: Promise<void> | undefined;

  /** Opens the files of a namespace and reads them; `endRecovery` must follow the replay. keeps (6) */
  static async open(options: RowFilesOptions): Promise<{ files: RowFiles; refused: readonly RefusedRowFile[] }> {
    const files = new RowFiles(options);
    const refused = await files.#recover();
    return { files, refused };
  }

  /** The files of a namespace that has none which are read. */
  static create(options: RowFilesOptions): RowFiles {
    return new RowFiles(options);
  }

  private constructor(options: RowFilesOptions) {
    this.#options = options;
    this.#nextSegment = options.firstSegment ?? 1;
    this.#entryBytes = entryBytesOf(options.dimension);
    this.#entriesMax = Math.floor(((options.segmentBytes ?? SEGMENT_BYTES) - HEAD_BYTES) / this.#entryBytes);
    assert(this.#entriesMax >= 1, "a file has room for a row");
    this.#probe = RowEntries.ofCount(options.dimension, 1);
  }

  /** The number of rows. */
  get count(): number {
    return this.#placedCount + this.#buffer.size;
  }

  get bufferedCount(): number {
    return this.#buffer.size;
  }

  /** The memory of the rows that are not written. */
  get bufferedBytes(): number {
    return this.#buffer.size * this.#entryBytes;
  }

  /** The memory of the places of rows. */
  get byteCount(): number {
    let bytes = this.#places.byteCount;
    for (const segment of this.#segments) bytes += segment?.byteCount ?? 0;
    return bytes + this.bufferedBytes;
  }

  /** The bytes of all files. */
  get fileBytes(): number {
    let bytes = 0;
    for (const segment of this.#segments) if (segment !== undefined) bytes += segment.offsetOf(segment.writtenCount);
    return bytes;
  }

  get fileCount(): number {
    return this.#segments.filter((segment) => segment !== undefined).length;
  }

  /** The number of the next file. */
  get nextSegment(): number {
    return this.#nextSegment;
  }

  has(record: number): boolean {
    return this.#buffer.has(record) || this.#places.get(record) !== 0;
  }

  /** The row of a record while it is in the buffer. It is not changed any more: another row replaces it. */
  buffered(record: number): VersionedRow | undefined {
    return this.#buffer.get(record);
  }

  /** The records whose rows are in the buffer. */
  get bufferedRecords(): Iterable<number> {
    return this.#buffer.keys();
  }

  /** Sets or replaces the row of a record. The values are copied. */
  set(record: number, { version, squaredLength, values }: VersionedRow): void {
    this.remove(record);
    const place = this.#findPlace({ version, squaredLength, values });
    if (place !== undefined) this.#setPlace(record, place);
    else this.#buffer.set(record, { record, version, squaredLength, values: values.slice() });
  }

  /** Removes the row of a record, which may be missing. */
  remove(record: number): void {
    this.#buffer.delete(record);
    const placed = this.#placed(record);
    if (placed === undefined) return;
    placed.segment.kill(placed.entry);
    this.#places.set(record, 0);
    this.#placedCount -= 1;
  }

  /** Gives the row of a record to a record that has none. The row is not read. */
  move(from: number, to: number): void {
    assert(!this.has(to), "a row moves to a record without one");
    const buffered = this.#buffer.get(from);
    if (buffered !== undefined) {
      this.#buffer.delete(from);
      buffered.record = to;
      this.#buffer.set(to, buffered);
      return;
    }
    const place = this.#findPlaceOf(from);
    if (place === undefined) return;
    this.remove(from);
    this.#setPlace(to, place);
  }

  /** Removes all rows. Their files are removed by the next `flush`. */
  clear(): void {
    this.#buffer.clear();
    for (const segment of this.#segments) {
      if (segment === undefined) continue;
      segment.killAll();
      segment.isClosed = true;
    }
    this.#last = undefined;
    this.#places.clear();
    this.#placedCount = 0;
  }

  /** Frees what only records from `count` on needed. They have no rows. */
  truncate(count: number): void {
    this.#places.freeFrom(count);
  }

  /** Called after the replay. keeps (7) */
  endRecovery(): void {
    this.#found = undefined;
  }

  /** The places of rows for a reader, which checks the version and the checksum of each. keeps (4) */
  hold(records: readonly number[]): HeldRows {
    const held: RowSegment[] = [];
    const places = records.map((record) => {
      const placed = this.#placed(record);
      if (placed === undefined) return undefined;
      const { segment, entry } = placed;
      segment.heldCount += 1;
      held.push(segment);
      const version = this.#options.versionOf(record);
      return { descriptor: segment.file.descriptor, offset: segment.offsetOf(entry), version };
    });
    return {
      places,
      release: () => {
        for (const segment of held.splice(0)) segment.heldCount -= 1;
      },
    };
  }

  /** Holds all files for readers that scan them; the rows in the buffer are in none. keeps (4) */
  holdFiles(): HeldFiles {
    const held: RowSegment[] = [];
    for (const segment of this.#segments) {
      if (segment === undefined || segment.liveCount === 0) continue;
      segment.heldCount += 1;
      held.push(segment);
    }
    return {
      files: held.map(({ file, records }) => ({
        descriptor: file.descriptor,
        records,
        read: (target, offset) => file.read(target, offset),
      })),
      release: () => {
        for (const segment of held.splice(0)) segment.heldCount -= 1;
      },
    };
  }

  /**
   * Copies of rows by the thread pool, as they are at the call; undefined for missing ones. Rejects with `DamagedRow`, or
   * the error of the disk.
   */
  async read(records: readonly number[]): Promise<readonly (Float32Array | undefined)[]> {
    const rows = await this.readRows(records);
    return rows.map((row) => row?.values.slice());
  }

  /** As `read`, with the versions and squared lengths. The rows in the buffer are not copied. */
  async readRows(records: readonly number[]): Promise<readonly (VersionedRow | undefined)[]> {
    const rows: (VersionedRow | undefined)[] = records.map((record) => this.#buffer.get(record));
    const runs = this.#runsOf(records);
    const held = runs.flat();
    for (const { segment } of held) segment.heldCount += 1; // keeps (4)
    const waiting = runs.values();
    const readNext = async (): Promise<void> => {
      for (const run of waiting) await this.#readRun(run, rows);
    };
    // All of them: after a failure others still read.
    const ends = await Promise.allSettled(Array.from({ length: READS_MAX }, readNext));
    for (const { segment } of held) segment.heldCount -= 1;
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    return rows;
  }

  /**
   * The row of a record, read on this thread, which waits for the disk: for a process that serves nothing. Throws
   * `DamagedRow`, or the error of the disk.
   */
  readNow(record: number): Float32Array | undefined {
    const buffered = this.#buffer.get(record);
    if (buffered !== undefined) return buffered.values.slice();
    const placed = this.#placed(record);
    if (placed === undefined) return undefined;
    const { readNow } = this.#options.storage;
    assert(readNow !== undefined, "rows are read at once only where the storage can");
    const { segment, entry } = placed;
    const entries = RowEntries.ofCount(this.#options.dimension, 1);
    readNow(segment.file.descriptor, entries.bytes, segment.offsetOf(entry));
    checkEntry(entries, 0, { name: segment.name, version: this.#options.versionOf(record) });
    return entries.valuesOf(0);
  }

  /**
   * Writes the rows in the buffer, compacts files and removes those that are not needed. Rejects with `DamagedRow`, or
   * the error of the disk: then all rows are where they were, and another call tries again.
   */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Closes the files, which stay for the next start. Nothing may be held, and no call may follow. */
  async close(): Promise<void> {
    await this.#flushing?.catch(() => {});
    for (const segment of this.#segments.splice(0)) await segment?.file.close();
  }

  async #recover(): Promise<readonly RefusedRowFile[]> {
    const { storage } = this.#options;
    const refused: RefusedRowFile[] = [];
    for (const { name, number } of this.#ownFiles(await storage.names())) {
      this.#nextSegment = Math.max(this.#nextSegment, number + 1);
      const reason = await this.#openSegment(name, number);
      if (reason === undefined) continue;
      refused.push({ name, reason });
      await storage.remove(name);
    }
    let entryCount = 0;
    for (const segment of this.#segments) entryCount += segment?.writtenCount ?? 0;
    const found = new FoundRows(entryCount);
    for (const segment of this.#segments) {
      if (segment === undefined) continue;
      for await (const { first, entries } of segment.blocks())
        for (let i = 0; i < entries.count; i += 1)
          if (entries.isWhole(i)) found.add(entries, i, this.#placeOf(segment, first + i));
    }
    this.#found = found;
    return refused;
  }

  /** The files of this namespace, in the order of their creation. */
  #ownFiles(names: readonly string[]): readonly { readonly name: string; readonly number: number }[] {
    const start = fileNameStart(this.#options);
    return names
      .map((name) => ({ name, number: Number(name.slice(start.length)) }))
      .filter(({ name, number }) => Number.isSafeInteger(number) && name === `${start}${number}`)
      .sort((a, b) => a.number - b.number);
  }

  /** Opens a file of an earlier life. Returns the reason if it cannot be used. */
  async #openSegment(name: string, number: number): Promise<string | undefined> {
    const { storage } = this.#options;
    const file = await storage.open(name);
    const head = new Uint8Array(HEAD_BYTES);
    const count = await file.read(head, 0);
    const fault = headFault(head.subarray(0, count), this.#options, number);
    if (fault !== undefined) {
      await file.close();
      return fault;
    }
    const segment = this.#addSegment(name, file);
    // A reader needs all bytes of an entry, even if those that are missing are zeros.
    const entryCount = Math.floor(((await file.size()) - HEAD_BYTES) / this.#entryBytes);
    segment.writtenCount = Math.min(this.#entriesMax, entryCount);
    segment.isClosed = true; // keeps (2)
    return undefined;
  }

  #addSegment(name: string, file: StoredRowFile): RowSegment {
    const free = this.#segments.indexOf(undefined);
    const slot = free < 0 ? this.#segments.length : free;
    assert((slot + 1) * this.#entriesMax < PLACES_MAX, "places are u32");
    const { dimension } = this.#options;
    const segment = new RowSegment({ file, name, dimension, slot, entriesMax: this.#entriesMax });
    this.#segments[slot] = segment;
    return segment;
  }

  /** The place of an equal row that a file has. keeps (7) */
  #findPlace(row: VersionedRow): number | undefined {
    if (this.#found === undefined) return undefined;
    this.#probe.put(0, row);
    const place = this.#found.findEqual(this.#probe, 0);
    if (place === undefined) return undefined;
    const { segment, entry } = this.#at(place);
    return segment.recordOf(entry) === undefined ? place : undefined;
  }

  #placed(record: number): PlacedEntry | undefined {
    const place = this.#findPlaceOf(record);
    return place === undefined ? undefined : this.#at(place);
  }

  #findPlaceOf(record: number): number | undefined {
    const number = this.#places.get(record);
    return number === 0 ? undefined : number - 1;
  }

  #at(place: number): PlacedEntry {
    const segment = this.#segments[Math.floor(place / this.#entriesMax)];
    assert(segment !== undefined, "a place is in an open file");
    return { segment, entry: place % this.#entriesMax };
  }

  #placeOf({ slot }: RowSegment, entry: number): number {
    return slot * this.#entriesMax + entry;
  }

  /** Gives a place to a record that has no row. */
  #setPlace(record: number, place: number): void {
    const { segment, entry } = this.#at(place);
    segment.setRecord(entry, record);
    this.#places.set(record, place + 1);
    this.#placedCount += 1;
  }

  async #flush(): Promise<void> {
    // During a recovery, entries without a row may still get one. keeps (7)
    const isRecovered = this.#found === undefined;
    // First, so that a disk that was full has room again.
    if (isRecovered) await this.#removeDead();
    while (this.#buffer.size > 0) await this.#writeBatch();
    if (!isRecovered) return;
    for (let sparse = this.#findSparse(); sparse !== undefined; sparse = this.#findSparse())
      await this.#compact(sparse);
    await this.#removeDead();
  }

  async #writeBatch(): Promise<void> {
    const last = await this.#openLast();
    const countMax = Math.min(last.freeCount, Math.max(1, Math.floor(BATCH_BYTES / this.#entryBytes)));
    const rows = [...this.#buffer.values().take(countMax)];
    if (rows.length === 0) return;
    const entries = RowEntries.ofCount(this.#options.dimension, rows.length);
    for (const [i, row] of rows.entries()) entries.put(i, row);
    const first = await this.#append(last, entries);
    for (const [i, row] of rows.entries()) {
      // It was replaced or removed meanwhile. keeps (1)
      if (this.#buffer.get(row.record) !== row) continue;
      this.#buffer.delete(row.record);
      this.#setPlace(row.record, this.#placeOf(last, first + i));
    }
  }

  /** Appends entries that have room, and returns the number of the first one. */
  async #append(segment: RowSegment, entries: RowEntries): Promise<number> {
    const first = segment.writtenCount;
    segment.writtenCount += entries.count;
    try {
      await segment.file.write(entries.bytes, segment.offsetOf(first));
    } catch (fault) {
      segment.isClosed = true; // keeps (2)
      throw fault;
    }
    return first;
  }

  /** The file that is appended to, with room for an entry. */
  async #openLast(): Promise<RowSegment> {
    if (this.#last !== undefined && this.#last.freeCount > 0) return this.#last;
    if (this.#last !== undefined) this.#last.isClosed = true;
    this.#last = undefined;
    const { storage } = this.#options;
    const number = this.#nextSegment;
    const name = `${fileNameStart(this.#options)}${number}`;
    this.#nextSegment += 1;
    const file = await storage.create(name);
    try {
      await file.write(headOf(this.#options, number), 0);
    } catch (fault) {
      await file.close();
      await storage.remove(name);
      throw fault;
    }
    this.#last = this.#addSegment(name, file);
    return this.#last;
  }

  #findSparse(): RowSegment | undefined {
    return this.#segments.find((segment) => segment?.isSparse === true && segment.liveCount > 0);
  }

  /** Appends the live rows of a file to the last one. keeps (3) */
  async #compact(sparse: RowSegment): Promise<void> {
    for await (const { first, entries } of sparse.blocks()) {
      for (let next = 0; next < entries.count; ) {
        const last = await this.#openLast();
        const kept: number[] = [];
        for (; next < entries.count && kept.length < last.freeCount; next += 1) {
          const record = sparse.recordOf(first + next);
          if (record === undefined) continue;
          checkEntry(entries, next, { name: sparse.name, version: this.#options.versionOf(record) });
          kept.push(next);
        }
        if (kept.length > 0) await this.#appendCopies(last, { sparse, first, entries, kept });
      }
    }
  }

  async #appendCopies(
    last: RowSegment,
    { sparse, first, entries, kept }: { sparse: RowSegment; first: number; entries: RowEntries; kept: number[] },
  ): Promise<void> {
    const copies = RowEntries.ofCount(this.#options.dimension, kept.length);
    for (const [i, entry] of kept.entries()) copies.copy(i, entries, entry);
    const at = await this.#append(last, copies);
    for (const [i, entry] of kept.entries()) {
      // It may be replaced, removed or moved to another record meanwhile.
      const record = sparse.recordOf(first + entry);
      if (record === undefined) continue;
      sparse.kill(first + entry);
      last.setRecord(at + i, record);
      this.#places.set(record, this.#placeOf(last, at + i) + 1);
    }
  }

  /** Removes the files without a live row. keeps (4) */
  async #removeDead(): Promise<void> {
    for (const segment of [...this.#segments]) {
      if (segment === undefined || !segment.isClosed || segment.liveCount > 0 || segment.heldCount > 0) continue;
      this.#segments[segment.slot] = undefined;
      if (segment === this.#last) this.#last = undefined;
      await segment.file.close();
      await this.#options.storage.remove(segment.name);
    }
  }

  /** The rows of records in files, those beside each other together. */
  #runsOf(records: readonly number[]): readonly (readonly WantedEntry[])[] {
    const wanted: WantedEntry[] = [];
    for (const [index, record] of records.entries()) {
      const placed = this.#placed(record);
      if (placed !== undefined) wanted.push({ ...placed, index, version: this.#options.versionOf(record) });
    }
    wanted.sort((a, b) => a.segment.slot - b.segment.slot || a.entry - b.entry);
    const runs: WantedEntry[][] = [];
    const lengthMax = Math.max(1, Math.floor(READ_BYTES_MAX / this.#entryBytes));
    for (const next of wanted) {
      const run = runs.at(-1);
      const before = run?.at(-1);
      const isBeside = before?.segment === next.segment && next.entry - before.entry <= 1;
      if (run !== undefined && isBeside && run.length < lengthMax) run.push(next);
      else runs.push([next]);
    }
    return runs;
  }

  async #readRun(run: readonly WantedEntry[], rows: (VersionedRow | undefined)[]): Promise<void> {
    const [first] = run;
    const last = run.at(-1);
    if (first === undefined || last === undefined) return;
    const { segment, entry } = first;
    const entries = RowEntries.ofCount(this.#options.dimension, last.entry - entry + 1);
    await segment.file.read(entries.bytes, segment.offsetOf(entry));
    this.#options.noteRead?.(entries.bytes.length);
    for (const wanted of run) {
      const at = wanted.entry - entry;
      checkEntry(entries, at, { name: segment.name, version: wanted.version });
      const values = entries.valuesOf(at).slice();
      rows[wanted.index] = { version: wanted.version, squaredLength: entries.squaredLengthOf(at), values };
    }
  }
}

/** Removes the row files of all other namespaces: those that were dropped, or have their rows in memory now. */
export async function removeOtherRowFiles(
  storage: RowFileStorage,
  kept: readonly Pick<RowFilesOptions, "index" | "namespace">[],
): Promise<void> {
  const starts = kept.map(fileNameStart);
  for (const name of await storage.names())
    if (!starts.some((start) => name.startsWith(start))) await storage.remove(name);
}

/** The name of a file has numbers only; that of its segment follows. */
function fileNameStart({ index, namespace }: Pick<RowFilesOptions, "index" | "namespace">): string {
  return `rows-${index}-${namespace}-`;
}

/** keeps (5) */
function checkEntry(entries: RowEntries, entry: number, { name, version }: { name: string; version: number }): void {
  if (entries.isWhole(entry) && entries.versionOf(entry) === version) return;
  throw new DamagedRow(`The row file ${name} is damaged: it does not have the row of version ${version}`);
}
