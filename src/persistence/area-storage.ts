/**
 * One area's part of the data directory: recovered, with a journal that goes
 * on where it ended, and what the serving process has to do with snapshots and
 * backups.
 *
 * (1) A segment is removed when a snapshot that covers it has a durable name
 *     and the engine does not need it: `mayRemove`.
 * (2) Removing files and backing them up take turns.
 * (3) What the engine went by when it gave a segment up is durable before the
 *     segment is removed: a recovery would need it otherwise.
 */
import { assert } from "../kernel/assert.ts";
import { faultFields } from "../kernel/log.ts";
import { listAreaFiles, segmentPath, snapshotPath } from "./area-files.ts";
import { backUpArea } from "./backup.ts";
import { type Disk, noSpaceText, readFully, withFile } from "./disk/disk.ts";
import { guardSpace, type SpaceGuardOptions } from "./disk/space-guard.ts";
import { RESERVE_BYTES, SpaceReserve } from "./disk/space-reserve.ts";
import { FILE_HEADER_BYTES, type FramePlace, parseFileHeader } from "./journal/file-format.ts";
import { writeHighWater } from "./journal/high-water.ts";
import { FileJournal, type JournalOptions, type JournalStart } from "./journal/journal.ts";
import { checkCoveredSegment, type SegmentCheck, type SegmentFault } from "./journal/segment-check.ts";
import { SegmentReader } from "./journal/segment-reader.ts";
import { SegmentWriter } from "./journal/segment-writer.ts";
import { type AreaRead, type RecoveryStep, recover, type SegmentFound } from "./recovery.ts";

export interface AreaStorageOptions extends Omit<JournalOptions, "onClosed" | "reserve"> {
  /**
   * Applies one frame of the past, with its place, or undefined for a frame of the snapshot. Bytes and place are only
   * valid until it returns.
   */
  apply(frame: Buffer, place: FramePlace | undefined): void;
  /** As in `RecoveryOptions`. */
  onProgress?(doneBytes: number, totalBytes: number, step: RecoveryStep): void;
  /** Told when `isSnapshotDue` may have become true: a segment was closed. */
  onSnapshotDue?(): void;
  /**
   * False: somebody still needs a segment that a snapshot covers. Asked in `adoptSnapshot` and `removeUnneeded`, with the
   * numbers of covered segments. If it is there, covered segments also outlive a start, until `removeUnneeded`.
   */
  mayRemove?(segment: number): boolean;
  /** A snapshot is due when the segments since the last one exceed this and its size. */
  readonly snapshotBytesMin?: number;
  /** How much space has to be left for new writes; absent: any. */
  readonly space?: SpaceGuardOptions | undefined;
  /** Space kept for the moment when none is left; 0: none. */
  readonly reserveBytes?: number;
}

const SNAPSHOT_BYTES_MIN = 64 * 1024 * 1024;
const RESERVE_FILE = "reserve";
/** So many closed segments make a snapshot due, however small they are: each clean stop leaves one. */
const SEGMENT_COUNT_MAX = 100;

/**
 * Recovers an area and opens its journal. The directory must exist and be ours alone. Rejects with `DamagedData`,
 * `MissingData`, `NewerFormat`, `WrongFile`, or the system's error.
 */
export async function openAreaStorage(options: AreaStorageOptions): Promise<AreaStorage> {
  const { disk, directory, area, log } = options;
  const read = await recover(options);
  if (read.tail !== undefined) {
    const { file, offset, bytes } = read.tail;
    log.warn("the tail of a crash was cut off", { file, offset, bytes, position: read.position });
  }
  if (read.highWaterFault !== undefined) log.warn(read.highWaterFault);
  const salt = options.random.below(2 ** 32);
  try {
    const segment = await openSegment(disk, { directory, area, read, salt });
    return new AreaStorage(options, read, { segment, position: read.position });
  } catch (error) {
    const last = read.ended.at(-1);
    const endedFor = noSpaceText(error);
    if (last === undefined || endedFor === undefined) throw error;
    log.warn("writes are refused", { reason: endedFor });
    const segment = await openEnded(disk, { directory, area, last });
    return new AreaStorage(options, read, { segment, position: read.position, endedFor });
  }
}

/** The last segment, for a start that finds no space for the next one: reads need none. */
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

/** A backup was asked for, and the server stopped before its segment was closed. */
export class AreaClosing extends Error {
  override name = "AreaClosing";
}

/** A journal file of an area. */
export interface AreaSegment {
  readonly number: number;
  readonly bytes: number;
  /** True if a start does not read it, and it is only kept because `mayRemove` said so. */
  readonly isCovered: boolean;
}

export class AreaStorage {
  readonly journal: FileJournal;
  /** What recovery found. */
  readonly recovered: AreaRead;
  readonly #options: AreaStorageOptions;
  readonly #reserve: SpaceReserve;
  readonly #reader: SegmentReader;
  /** Closed segments that the snapshot does not cover. */
  #ended: SegmentFound[];
  /** Segments that it covers and that are still there. */
  #covered: SegmentFound[];
  #snapshot: { number: number; bytes: number } | undefined;
  /** The end of what removes or links files: keeps (2). */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  #stopGuarding: () => void = () => {};
  /** The end of the writes of the high-water mark. */
  #marking: Promise<void> = Promise.resolve();
  /** Ends the wait of a removal for what may never be durable. */
  #stopWaiting: () => void = () => {};

  constructor(options: AreaStorageOptions, recovered: AreaRead, start: JournalStart) {
    this.#options = options;
    this.recovered = recovered;
    // One that the journal has still to leave counts as the one that it writes.
    this.#ended = recovered.ended.filter(({ number }) => number !== start.segment.header.number);
    this.#covered = [...recovered.covered];
    this.#snapshot = recovered.snapshot;
    const { directory, reserveBytes: bytes = RESERVE_BYTES } = options;
    this.#reserve = new SpaceReserve({ ...options, path: `${directory}/${RESERVE_FILE}`, bytes });
    this.#reader = new SegmentReader(options);
    this.journal = new FileJournal(
      {
        ...options,
        reserve: this.#reserve,
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

  /** All segments that are there, ascending; the last one is open. */
  get segments(): readonly AreaSegment[] {
    const { segmentNumber: number, segmentBytes: bytes } = this.journal;
    return [
      ...this.#covered.map((segment) => ({ ...segment, isCovered: true })),
      ...this.#ended.map((segment) => ({ ...segment, isCovered: false })),
      { number, bytes, isCovered: false },
    ];
  }

  /** True when what a start would replay is worth a snapshot. */
  isSnapshotDue(): boolean {
    const sinceBytes = this.#ended.reduce((sum, { bytes }) => sum + bytes, this.journal.segmentBytes);
    const dueBytes = Math.max(this.#options.snapshotBytesMin ?? SNAPSHOT_BYTES_MIN, this.#snapshot?.bytes ?? 0);
    return sinceBytes > dueBytes || this.#ended.length >= SEGMENT_COUNT_MAX;
  }

  /** Closes the segment that is written, so that a snapshot or a backup can be made of everything before. */
  closeSegment(): Promise<number> {
    return this.journal.closeSegment();
  }

  /**
   * The `length` bytes at `offset` of a segment, as far as they were written; several reads may run at once. Nothing
   * checks them. Rejects with `SegmentRemoved`, with `DamagedData` if the segment ends before that, or with the system's
   * error.
   */
  read(segment: number, offset: number, length: number): Promise<Buffer> {
    return this.#reader.read(segment, offset, length);
  }

  /**
   * What is wrong with a covered segment that is kept; undefined: nothing, or it was removed meanwhile. Rejects with the
   * system's error.
   */
  async checkCovered(number: number, check: SegmentCheck): Promise<SegmentFault | undefined> {
    const fault = await checkCoveredSegment({ ...this.#options, number }, check);
    return this.#covered.some((segment) => segment.number === number) ? fault : undefined;
  }

  /** Looks for a newer snapshot, and removes what it covers and nobody needs. Returns true if there was one. */
  adoptSnapshot(): Promise<boolean> {
    return this.#inTurn(() => this.#adoptSnapshot());
  }

  /** Removes the covered segments that `mayRemove` allows now. Rejects with the system's error. */
  removeUnneeded(): Promise<void> {
    return this.#inTurn(() => this.#removeUnneeded());
  }

  /**
   * Makes `target`, a directory that exists and holds no area, a backup of everything appended so far. `first` is what has
   * to be copied before: no segment goes between it and the backup. Returns the position up to which it has everything.
   * Rejects with the system's error, or with `AreaClosing`.
   */
  backUp(target: string, first?: () => Promise<void>): Promise<number> {
    return this.#inTurn(async () => {
      await first?.();
      const openNumber = await this.closeSegment();
      // A journal that ends begins no further segment: what was appended may lie in the last one.
      if (this.#isClosing) throw new AreaClosing("The server is stopping, and no backup was made");
      return backUpArea({ ...this.#options, target, openNumber, takesCovered: this.#options.mayRemove !== undefined });
    });
  }

  /** Ends the journal. Resolves with the count of frames that could not be written because no space is left. */
  async close(): Promise<number> {
    this.#isClosing = true;
    this.#stopGuarding();
    // First, because a backup may wait for space, and nothing else ends that.
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
    assert(number <= this.journal.segmentNumber, "a snapshot covers closed segments only");
    const bytes = await withFile(await disk.open(snapshotPath(directory, number), "read"), (file) => file.size());
    await disk.syncDirectory(directory); // keeps (1)
    this.#snapshot = { number, bytes };
    this.#covered.push(...this.#ended.filter((segment) => segment.number < number));
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

  /** Writes the high-water mark of this moment, after the writes before. */
  #markLater(): void {
    const { disk, directory, log } = this.#options;
    const mark = { segment: this.journal.segmentNumber, position: this.journal.synced };
    this.#marking = this.#marking
      .then(() => writeHighWater(disk, directory, mark))
      .catch((fault: unknown) => {
        // A full disk is told by the journal, and an old mark is no fault.
        if (noSpaceText(fault) === undefined) log.warn("the high-water mark cannot be written", faultFields(fault));
      });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
