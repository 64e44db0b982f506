/**
 * One area's part of the data directory: the recovered state, a journal that
 * continues where it ended, and the serving process's part in snapshots and
 * backups.
 *
 * (1) A segment is removed when a snapshot that covers it has a durable name
 *     and the engine does not need it: `mayRemove`.
 * (2) Removing files and backing them up never overlap.
 * (3) A segment that the engine no longer needs is removed only when all frames
 *     appended before its answer are durable: with fewer frames, a recovered
 *     engine could still read from the segment.
 */
import { faultFields } from "../kernel/log.ts";
import { listAreaFiles, segmentPath, snapshotPath } from "./area-files.ts";
import { backUpArea } from "./backup.ts";
import { type Disk, noSpaceText, readFully, withFile } from "./disk/disk.ts";
import { guardSpace, type SpaceGuardOptions } from "./disk/space-guard.ts";
import { RESERVE_BYTES, SpaceReserve } from "./disk/space-reserve.ts";
import { FILE_HEADER_BYTES, type JournalLocation, parseFileHeader } from "./journal/file-format.ts";
import { writeHighWater } from "./journal/high-water.ts";
import { FileJournal, type JournalOptions, type JournalStart } from "./journal/journal.ts";
import { checkCoveredSegment, type SegmentCheck, type SegmentFault } from "./journal/segment-check.ts";
import { SegmentReader } from "./journal/segment-reader.ts";
import { SegmentWriter } from "./journal/segment-writer.ts";
import { type AreaRead, type RecoveryStep, recover, type SegmentFound } from "./recovery.ts";

export interface AreaStorageOptions extends Omit<JournalOptions, "onClosed" | "reserve"> {
  /**
   * Applies one frame of the past, with its location, or undefined for a frame of the snapshot. Bytes and location are
   * only valid until it returns.
   */
  apply(frame: Buffer, location: JournalLocation | undefined): void;
  /** These are as in `RecoveryOptions`. */
  endSnapshot?(): void;
  openSnapshotCheck?(): (frame: Buffer) => void;
  applied?(): void;
  onProgress?(doneBytes: number, totalBytes: number, step: RecoveryStep): void;
  /** As in `RecoveryOptions`. */
  settle?(): Promise<void> | undefined;
  /** Called when `isSnapshotDue` may have become true: a segment was closed. */
  onSnapshotDue?(): void;
  /**
   * False if a segment that a snapshot covers is still needed. Called by `adoptSnapshot` and `removeUnneeded` with the
   * numbers of covered segments. If present, covered segments also outlive a start, until `removeUnneeded`.
   */
  mayRemove?(segment: number): boolean;
  /** A snapshot is due when the weight of the segments since the last one exceeds this and its size. */
  readonly snapshotBytesMin?: number;
  /** The free space of the disk, and how much must remain for new writes to be accepted; absent: it is not looked at. */
  readonly space?: SpaceGuardOptions | undefined;
  /** Space reserved for a full disk; 0: none. */
  readonly reserveBytes?: number;
  /**
   * Ends the open segment, even if it is empty, and begins the next one: for files that another process may have
   * written. Its late writes would have the salt and the positions of the open segment.
   */
  readonly beginsSegment?: boolean;
}

const SNAPSHOT_BYTES_MIN = 64 * 1024 * 1024;
/** So many bytes that a replay only copies weigh as much as one other byte. */
const BULK_BYTES_OF_WEIGHT = 8;
/** A snapshot is also due when the bytes of the segments exceed so many times the bound on their weight, and its size. */
const JOURNAL_FACTOR = 4;
const RESERVE_FILE = "reserve";
/** This many closed segments make a snapshot due, however small they are: each clean stop leaves one. */
const SEGMENT_COUNT_MAX = 100;

/**
 * Recovers an area and opens its journal. The directory must exist and be used by nothing else. Rejects with
 * `DamagedData`, `MissingData`, `NewerFormat`, `WrongFile`, or the system's error.
 */
export async function openAreaStorage(options: AreaStorageOptions): Promise<AreaStorage> {
  const { log } = options;
  let read = await recover(options);
  if (read.tail !== undefined) {
    const { file, offset, bytes } = read.tail;
    log.warn("cut off the incomplete end that a crash left", { file, offset, bytes, position: read.position });
  }
  if (read.highWaterFault !== undefined) log.warn(read.highWaterFault);
  const salt = options.random.below(2 ** 32);
  if (options.beginsSegment === true) read = await endOpenSegment(options, read);
  const storage = new AreaStorage(options, read, await startOf(options, read, salt));
  // A write that is accepted before could wait for space, and with it all replies behind it.
  await storage.journal.reserved;
  return storage;
}

async function startOf(
  { disk, directory, area, log }: AreaStorageOptions,
  read: AreaRead,
  salt: number,
): Promise<JournalStart> {
  const { position } = read;
  try {
    return { segment: await openSegment(disk, { directory, area, read, salt }), position };
  } catch (error) {
    const last = read.ended.at(-1);
    const endedFor = noSpaceText(error);
    if (last === undefined || endedFor === undefined) throw error;
    log.warn("writes are refused", { reason: endedFor });
    return { segment: await openEnded(disk, { directory, area, last }), position, endedFor };
  }
}

async function endOpenSegment({ disk, directory }: AreaStorageOptions, read: AreaRead): Promise<AreaRead> {
  const { open, position } = read;
  if (open === undefined) return read;
  const writer = new SegmentWriter(
    await disk.open(segmentPath(directory, open.number), "update"),
    open.header,
    open.bytes,
  );
  try {
    await writer.end(position);
  } finally {
    await writer.close();
  }
  return { ...read, open: undefined, ended: [...read.ended, { number: open.number, bytes: writer.bytes }] };
}

/** The last segment, for a start that has no space for the next one: reads need no new segment. */
async function openEnded(
  disk: Disk,
  { directory, area, last }: { directory: string; area: string; last: SegmentFound },
): Promise<SegmentWriter> {
  const path = segmentPath(directory, last.number);
  const file = await disk.open(path, "update");
  const bytes = Buffer.alloc(FILE_HEADER_BYTES);
  await readFully(file, bytes, 0);
  const header = parseFileHeader(bytes, { kind: "segment", path, area, number: last.number });
  return new SegmentWriter(file, header, last.bytes);
}

async function openSegment(
  disk: Disk,
  { directory, area, read, salt }: { directory: string; area: string; read: AreaRead; salt: number },
): Promise<SegmentWriter> {
  const { open, ended, snapshot, position } = read;
  if (open !== undefined) {
    const file = await disk.open(segmentPath(directory, open.number), "update");
    return new SegmentWriter(file, open.header, open.bytes);
  }
  const lastEnded = ended.at(-1)?.number;
  const number = lastEnded === undefined ? (snapshot?.number ?? 1) : lastEnded + 1;
  return SegmentWriter.create(disk, { directory, area }, { number, position, salt });
}

/** The server stopped before the segment that a backup needs was closed. */
export class AreaClosing extends Error {
  override name = "AreaClosing";
}

interface ClosedSegment extends SegmentFound {
  /** Bytes that a replay only copies; 0 for a segment of an earlier start. */
  readonly bulkBytes: number;
}

/** A journal file of an area. */
export interface AreaSegment {
  readonly number: number;
  readonly bytes: number;
  /** True if a start does not read it, and it is only retained because `mayRemove` said so. */
  readonly isCovered: boolean;
}

export class AreaStorage {
  readonly journal: FileJournal;
  /** The result of recovery. */
  readonly recovered: AreaRead;
  readonly #options: AreaStorageOptions;
  readonly #reserve: SpaceReserve;
  readonly #reader: SegmentReader;
  /** Closed segments that the snapshot does not cover. */
  #ended: ClosedSegment[];
  /** Segments that it covers and that still exist. */
  #covered: SegmentFound[];
  #snapshot: { number: number; bytes: number } | undefined;
  /** Resolves after the current removal or linking of files: keeps (2). */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  #stopGuarding: () => void = () => {};
  /** Resolves after the writes of the high-water mark. */
  #marking: Promise<void> = Promise.resolve();
  /** Ends a removal's wait for frames that may never become durable. */
  #stopWaiting: () => void = () => {};

  constructor(options: AreaStorageOptions, recovered: AreaRead, start: JournalStart) {
    this.#options = options;
    this.recovered = recovered;
    // If the journal has yet to leave a segment, that segment counts as the one it writes.
    this.#ended = recovered.ended
      .filter(({ number }) => number !== start.segment.header.number)
      .map((segment) => ({ ...segment, bulkBytes: 0 }));
    this.#covered = [...recovered.covered];
    this.#snapshot = recovered.snapshot;
    const { directory, reserveBytes: bytes = RESERVE_BYTES } = options;
    this.#reserve = new SpaceReserve({ ...options, path: `${directory}/${RESERVE_FILE}`, bytes });
    this.#reader = new SegmentReader(options);
    this.journal = new FileJournal(
      {
        ...options,
        reserve: this.#reserve,
        isTight: options.isTight ?? options.space !== undefined,
        onClosed: (closed) => {
          this.#ended.push(closed);
          this.#markLater();
          if (this.isSnapshotDue()) options.onSnapshotDue?.();
        },
      },
      start,
    );
    this.#markLater();
    if (options.space !== undefined) this.#stopGuarding = guardSpace(this.journal, options.space, options);
  }

  /** All existing segments, ascending; the last one is open. */
  get segments(): readonly AreaSegment[] {
    const { segmentNumber: number, segmentBytes: bytes } = this.journal;
    return [
      ...this.#covered.map((segment) => ({ ...segment, isCovered: true })),
      ...this.#ended.map(({ number, bytes }) => ({ number, bytes, isCovered: false })),
      { number, bytes, isCovered: false },
    ];
  }

  /** Bytes of the snapshot, and of the journal that a start would replay after it. */
  get sizes(): { readonly snapshotBytes: number; readonly journalBytes: number } {
    const journalBytes = this.#ended.reduce((sum, { bytes }) => sum + bytes, this.journal.segmentBytes);
    return { snapshotBytes: this.#snapshot?.bytes ?? 0, journalBytes };
  }

  /**
   * True when replaying the segments since the last snapshot would cost a start enough to be worth a new one, or when they
   * take much more of the disk than the state.
   */
  isSnapshotDue(): boolean {
    const { snapshotBytesMin: weightMin = SNAPSHOT_BYTES_MIN } = this.#options;
    const { snapshotBytes, journalBytes } = this.sizes;
    const bulkBytes = this.#ended.reduce((sum, segment) => sum + segment.bulkBytes, this.journal.segmentBulkBytes);
    const weight = journalBytes - bulkBytes + bulkBytes / BULK_BYTES_OF_WEIGHT;
    return (
      weight > Math.max(weightMin, snapshotBytes) ||
      journalBytes > Math.max(JOURNAL_FACTOR * weightMin, snapshotBytes) ||
      this.#ended.length >= SEGMENT_COUNT_MAX
    );
  }

  /** Closes the current segment, so that a snapshot or a backup can cover everything before. */
  closeSegment(): Promise<number> {
    return this.journal.closeSegment();
  }

  /**
   * Reads the `length` bytes at `offset` of a segment, as far as they were written; several reads may run at once. No
   * checksum is compared. Rejects with `SegmentRemoved`, with `DamagedData` if the segment ends before that, or with
   * the system's error.
   */
  read(segment: number, offset: number, length: number): Promise<Buffer> {
    return this.#reader.read(segment, offset, length);
  }

  /**
   * What is wrong with a retained covered segment; undefined if nothing is, or if it was removed meanwhile. Rejects
   * with the system's error.
   */
  async checkCovered(number: number, check: SegmentCheck): Promise<SegmentFault | undefined> {
    const fault = await checkCoveredSegment({ ...this.#options, number }, check);
    return this.#covered.some((segment) => segment.number === number) ? fault : undefined;
  }

  /** Looks for a newer snapshot, and removes the covered files that are not needed. Returns true if there was one. */
  adoptSnapshot(): Promise<boolean> {
    return this.#inTurn(() => this.#adoptSnapshot());
  }

  /** Removes the covered segments that `mayRemove` allows now. Rejects with the system's error. */
  removeUnneeded(): Promise<void> {
    return this.#inTurn(() => this.#removeUnneeded());
  }

  /**
   * Backs up everything appended so far into `target`, a directory that exists and holds no area. `first` copies what
   * must be copied before: no segment is removed between it and the backup. Returns the position up to which the backup
   * is complete. Rejects with the system's error, or with `AreaClosing`.
   */
  backUp(target: string, first?: () => Promise<void>): Promise<number> {
    return this.#inTurn(async () => {
      await first?.();
      const openNumber = await this.closeSegment();
      // A journal that is closing begins no further segment, so the last one may hold appended frames.
      if (this.#isClosing) throw new AreaClosing("No backup was made: the server is stopping");
      return backUpArea({ ...this.#options, target, openNumber, takesCovered: this.#options.mayRemove !== undefined });
    });
  }

  /** Closes the journal. Resolves with the number of frames that could not be written because the disk is full. */
  async close(): Promise<number> {
    this.#isClosing = true;
    this.#stopGuarding();
    // First, because a backup may be waiting for space, and only this ends that wait.
    const lostCount = await this.journal.close();
    this.#stopWaiting();
    await this.#turn;
    this.#markLater();
    await this.#marking;
    await this.#reserve.close();
    await this.#reader.close();
    return lostCount;
  }

  async #adoptSnapshot(): Promise<boolean> {
    const { disk, directory } = this.#options;
    const { snapshots } = await listAreaFiles(disk, directory);
    const number = snapshots.at(-1);
    if (number === undefined || number === this.#snapshot?.number) return false;
    // The process that wrote it saw the header of a segment that is not durable yet. A later call adopts it.
    if (number > this.journal.segmentNumber) return false;
    const bytes = await withFile(await disk.open(snapshotPath(directory, number), "read"), (file) => file.size());
    await disk.adopt?.(snapshotPath(directory, number));
    await disk.syncDirectory(directory); // keeps (1)
    this.#snapshot = { number, bytes };
    const covered = this.#ended.filter((segment) => segment.number < number);
    this.#covered.push(...covered.map((segment) => ({ number: segment.number, bytes: segment.bytes })));
    this.#ended = this.#ended.filter((segment) => segment.number >= number);
    for (const older of snapshots) if (older < number) await disk.unlink(snapshotPath(directory, older));
    await this.#removeUnneeded();
    return true;
  }

  async #removeUnneeded(): Promise<void> {
    const options = this.#options;
    const asksEngine = options.mayRemove !== undefined;
    const unneeded = this.#covered.filter(({ number }) => options.mayRemove?.(number) ?? true);
    if (unneeded.length === 0 || (asksEngine && !(await this.#isSynced()))) return;
    for (const { number } of unneeded) await this.#removeSegment(number);
  }

  /** True once everything that was appended before is durable, false if the journal ends first. keeps (3) */
  async #isSynced(): Promise<boolean> {
    const { journal } = this;
    const { end } = journal;
    if (journal.synced < end && !this.#isClosing) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#stopWaiting = resolve;
      void journal.whenSafe(end).then(async () => {
        if (journal.synced < end) await journal.sync();
        resolve();
      });
      await promise;
    }
    return journal.synced >= end;
  }

  async #removeSegment(number: number): Promise<void> {
    const { disk, directory } = this.#options;
    await disk.unlink(segmentPath(directory, number));
    this.#covered = this.#covered.filter((segment) => segment.number !== number);
    this.#reader.forget(number);
  }

  /** Writes the current high-water mark, after the writes before it. */
  #markLater(): void {
    const { disk, directory, log } = this.#options;
    const mark = { segment: this.journal.segmentNumber, position: this.journal.synced };
    this.#marking = this.#marking
      .then(() => writeHighWater(disk, directory, mark))
      .catch((fault: unknown) => {
        // The journal reports a full disk, and an old mark is harmless.
        if (noSpaceText(fault) === undefined) log.warn("cannot write the high-water mark", faultFields(fault));
      });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
