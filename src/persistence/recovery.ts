/**
 * Recovery reads the newest snapshot and then every segment after it, in
 * order, up to the first incomplete frame.
 *
 * (1) A mark states a position that was durable when the mark was written, and
 *     a segment begins only when the previous one is durable up to its end
 *     mark. So a bad item is damage if a valid mark after it states a synced
 *     position beyond it, or if another segment follows. Recovery then fails
 *     and names the file and the offset.
 * (2) Any other bad item is the tail of a crash. A power cut may keep any
 *     unsynced pages, so complete frames after the bad one are normal; no reply
 *     depended on them. The segment is cut there.
 * (3) Snapshots and segments cover every position once, without a gap: each
 *     file states the position at which it begins.
 * (4) Recovered state is not visible before it is durable. A killed process may
 *     leave bytes in the system's cache that can be read, but that a power cut
 *     still loses. After a failed fdatasync, the system may report bytes as
 *     clean that never reached the disk. So the part of the last segment that
 *     no mark calls durable is written again and then synced.
 * (5) Recovery does not rely on a file whose name is not durable: it syncs the
 *     directory before it removes anything that a snapshot covers.
 * (6) A missing or empty last segment means that nothing was written to it only
 *     if nothing durable says that it was begun. A snapshot says so about the
 *     segment with its number, and the high-water mark about the one it names:
 *     both are written when the segment's header and name are durable
 *     (snapshot.ts, high-water.ts).
 */
import { listAreaFiles, segmentPath, snapshotPath } from "./area-files.ts";
import { type Disk, type DiskFile, readFully, withFile, writeFully } from "./disk/disk.ts";
import { DamagedData, MissingData, WrongFile } from "./errors.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  type FileHeader,
  type JournalLocation,
  MARK_BYTES,
  type Mark,
  parseFileHeader,
} from "./journal/file-format.ts";
import { type HighWater, highWaterPath, NO_HIGH_WATER, readHighWater } from "./journal/high-water.ts";
import { findSyncedPosition, type ItemSource, type ItemsRead, readItems } from "./journal/item-reader.ts";
import { type SnapshotHooks, SnapshotLoading } from "./snapshot-file.ts";

/** The two steps of a recovery: load the snapshot, then replay the segments. */
export type RecoveryStep = "snapshot" | "replay";

export interface RecoveryOptions extends SnapshotHooks {
  readonly disk: Disk;
  readonly directory: string;
  /** The area's name, as its files state it. */
  readonly area: string;
  /**
   * Receives each frame in order, with its location, or undefined for a frame of the snapshot. Bytes and location are
   * only valid until it returns.
   */
  apply(frame: Buffer, location: JournalLocation | undefined): void;
  /** Called after the last frame. */
  applied?(): void;
  /** The bytes read and all bytes of snapshot and segments. Called after each part of a file, not after each frame. */
  onProgress?(doneBytes: number, totalBytes: number, step: RecoveryStep): void;
  /** Asked after each part of a file: the reading waits for the promise, if it returns one. */
  settle?(): Promise<void> | undefined;
  /** If present, `recover` leaves covered segments in place: it is asked about them after the replay. */
  mayRemove?(segment: number): boolean;
  /** Reads only segments with lower numbers, which must have their end mark, and ignores covered segments. */
  readonly endSegment?: number;
}

export interface SegmentFound {
  readonly number: number;
  /** Without the tail that is cut. */
  readonly bytes: number;
}

export interface AreaRead {
  /** The position after the last frame. */
  readonly position: number;
  /** The newest snapshot. */
  readonly snapshot: { readonly number: number; readonly bytes: number; readonly position: number } | undefined;
  /** Segments before the snapshot that still exist, ascending, maybe with gaps. They are not read. */
  readonly covered: readonly SegmentFound[];
  /** Segments after the snapshot that have their end mark, ascending. */
  readonly ended: readonly SegmentFound[];
  /** The last segment, if it has no end mark. */
  readonly open: OpenSegment | undefined;
  /** The bytes that a crash left after the last complete frame. */
  readonly tail: { readonly file: string; readonly offset: number; readonly bytes: number } | undefined;
  /** The path of a last segment whose creation was interrupted by a crash: it holds nothing. */
  readonly unbegun: string | undefined;
  /** The part of the last segment that no mark calls durable (4). */
  readonly unproven: { readonly file: string; readonly offset: number } | undefined;
  /** Paths of unneeded files: snapshots before the newest one, and unfinished files. */
  readonly leftovers: readonly string[];
  /** Why the high-water mark cannot be used; undefined if it can. */
  readonly highWaterFault: string | undefined;
}

export interface OpenSegment extends SegmentFound {
  readonly header: FileHeader;
}

/** Reads an area without changing anything. Throws `DamagedData`, `MissingData`, `NewerFormat` or `WrongFile`. */
export async function readArea(options: RecoveryOptions): Promise<AreaRead> {
  const loading = new SnapshotLoading(options.disk, options);
  try {
    const read = await readFiles(options, loading);
    options.applied?.();
    return read;
  } catch (error) {
    throw await loading.faultOf(error);
  }
}

async function readFiles(options: RecoveryOptions, loading: SnapshotLoading): Promise<AreaRead> {
  const { disk, directory, area } = options;
  const files = await listAreaFiles(disk, directory);
  const snapshotNumber = files.snapshots.at(-1);
  const firstNumber = snapshotNumber ?? 1;
  const endNumber = options.endSegment ?? Number.POSITIVE_INFINITY;
  const numbers = files.segments.filter((number) => number >= firstNumber && number < endNumber);
  assertNoGap(numbers, { directory, firstNumber, afterSnapshot: snapshotNumber !== undefined, endNumber });
  const isWhole = options.endSegment === undefined;
  const highWater = isWhole ? await readHighWater(disk, directory) : { mark: NO_HIGH_WATER, fault: undefined };
  const begunNumber = Math.max(snapshotNumber ?? 0, highWater.mark.segment);
  assertBegun(directory, numbers, isWhole ? begunNumber : 0); // keeps (6)

  const progress = new Progress(
    options,
    await sizesOf(disk, [
      ...(snapshotNumber === undefined ? [] : [snapshotPath(directory, snapshotNumber)]),
      ...numbers.map((number) => segmentPath(directory, number)),
    ]),
  );
  if (snapshotNumber !== undefined) progress.step = "snapshot";
  const read: { -readonly [Field in keyof AreaRead]: AreaRead[Field] } = {
    position: 0,
    snapshot: undefined,
    covered: await coveredOf(options, files.segments, firstNumber),
    ended: [],
    open: undefined,
    tail: undefined,
    unbegun: undefined,
    unproven: undefined,
    leftovers: [
      ...files.unfinished.map((name) => `${directory}/${name}`),
      ...files.snapshots.slice(0, -1).map((number) => snapshotPath(directory, number)),
    ],
    highWaterFault: highWater.fault,
  };
  if (snapshotNumber !== undefined) {
    const expected = { path: snapshotPath(directory, snapshotNumber), area, number: snapshotNumber };
    const frame = (payload: Buffer): void => options.apply(payload, undefined);
    const { position, bytes } = await loading.read(expected, { frame, progress: progress.report });
    progress.endFile(bytes);
    progress.step = "replay";
    read.snapshot = { number: snapshotNumber, bytes, position };
    read.position = position;
  }
  const ended: SegmentFound[] = [];
  for (const number of numbers) {
    const isLast = number === numbers.at(-1) && isWhole;
    const path = segmentPath(directory, number);
    const wasBegun = !isLast || number <= begunNumber;
    const expected = { path, number, position: read.position, isLast, wasBegun, progress, loading };
    const segment = await readSegment(options, expected);
    read.position = segment.position;
    if (segment.kind === "ended") ended.push({ number, bytes: segment.bytes });
    if (segment.kind === "open") read.open = { number, bytes: segment.bytes, header: segment.header };
    if (segment.kind === "unbegun") read.unbegun = path;
    if (segment.tailBytes > 0) read.tail = { file: path, offset: segment.bytes, bytes: segment.tailBytes };
    if (isLast && segment.kind !== "unbegun") read.unproven = { file: path, offset: segment.unprovenOffset };
  }
  read.ended = ended;
  assertReached(directory, read, highWater.mark);
  return read;
}

/**
 * Reads an area and prepares its files so that a journal can continue them: cut, durable, without leftovers. Covered
 * segments are removed too, unless `mayRemove` is present.
 */
export async function recover(options: RecoveryOptions): Promise<AreaRead> {
  const { disk, directory } = options;
  const read = await readArea(options);
  if (read.unproven !== undefined) {
    const { file: path, offset } = read.unproven;
    await withFile(await disk.open(path, "update"), async (file) => {
      if (read.tail !== undefined) await file.truncate(read.tail.offset);
      await writeAgain(file, offset);
      await file.fdatasync(); // keeps (4)
    });
  }
  if (read.unbegun !== undefined) await disk.unlink(read.unbegun);
  await disk.syncDirectory(directory); // keeps (5)
  for (const path of read.leftovers) await disk.unlink(path);
  if (options.mayRemove !== undefined) return read;
  for (const { number } of read.covered) await disk.unlink(segmentPath(directory, number));
  return { ...read, covered: [] };
}

/** Reads no sizes if the files belong to another process, which may remove them at any time. */
async function coveredOf(
  { disk, directory, endSegment }: RecoveryOptions,
  segments: readonly number[],
  firstNumber: number,
): Promise<readonly SegmentFound[]> {
  const covered: SegmentFound[] = [];
  if (endSegment !== undefined) return covered;
  for (const number of segments) {
    if (number < firstNumber) covered.push({ number, bytes: await sizesOf(disk, [segmentPath(directory, number)]) });
  }
  return covered;
}

interface SegmentRead {
  readonly kind: "ended" | "open" | "unbegun";
  readonly position: number;
  readonly bytes: number;
  readonly tailBytes: number;
  readonly unprovenOffset: number;
  readonly header: FileHeader;
}

interface ExpectedSegment {
  readonly path: string;
  readonly number: number;
  /** The position at which the segment must begin. */
  readonly position: number;
  readonly isLast: boolean;
  /** True if its header was durable once. */
  readonly wasBegun: boolean;
  readonly progress: Progress;
  readonly loading: SnapshotLoading;
}

async function readSegment(options: RecoveryOptions, expected: ExpectedSegment): Promise<SegmentRead> {
  const { path, number, position, progress, loading } = expected;
  return withFile(await options.disk.open(path, "read"), async (file) => {
    const size = await file.size();
    const header = await readHeader(file, size, { ...expected, area: options.area });
    if (header === undefined) {
      const none = { number, position, salt: 0 };
      return { kind: "unbegun", position, bytes: 0, tailBytes: 0, unprovenOffset: 0, header: none };
    }
    if (header.position !== position) {
      throw new WrongFile(path, `begins at position ${header.position}, but the files before it end at ${position}`);
    }
    const source = { file, size, number, salt: header.salt, markWord: BATCH_WORD };
    const marks = new MarkTrail(position);
    // One object for all frames: a start reads millions of them.
    const location = { segment: number, offset: 0 };
    const frame = (payload: Buffer, offset: number): void => {
      location.offset = offset;
      options.apply(payload, location);
    };
    const found = await readItems(
      source,
      {
        frame,
        mark: (mark, at) => {
          if (mark.bytes > 0) loading.end();
          return marks.pass(mark, at);
        },
        progress: progress.report,
      },
      { offset: FILE_HEADER_BYTES, position },
    );
    progress.endFile(size);
    const { unprovenOffset } = marks;
    if (marks.isEnded) {
      const bytes = found.offset + MARK_BYTES;
      if (bytes !== size) throw new DamagedData(path, bytes, "there are extra bytes after the end of the segment");
      return { kind: "ended", position: found.position, bytes, tailBytes: 0, unprovenOffset, header };
    }
    const bytes = await checkTail(source, found, expected);
    return { kind: "open", position: found.position, bytes, tailBytes: size - bytes, unprovenOffset, header };
  });
}

/** Returns undefined for a last segment without a complete header: a crash interrupted its creation. */
async function readHeader(
  file: DiskFile,
  size: number,
  expected: ExpectedSegment & { area: string },
): Promise<FileHeader | undefined> {
  const bytes = Buffer.alloc(Math.min(size, FILE_HEADER_BYTES));
  await readFully(file, bytes, 0);
  try {
    return parseFileHeader(bytes, { ...expected, kind: "segment" });
  } catch (error) {
    // A header is durable before anything follows it, so a longer file once had a valid header. keeps (6)
    if (!(error instanceof DamagedData) || size > FILE_HEADER_BYTES) throw error;
    if (!expected.wasBegun) return undefined;
    if (size === 0) throw new DamagedData(expected.path, 0, "it is empty, but its first bytes were durable");
    throw error;
  }
}

/** Returns where to cut a segment, or throws if the bad item was durable: keeps (1) and (2). */
async function checkTail(source: ItemSource, found: ItemsRead, expected: ExpectedSegment): Promise<number> {
  if (!expected.isLast)
    throw new DamagedData(expected.path, found.offset, "the segment is incomplete, but another one follows it");
  if (found.end === "end of file") return found.offset;
  const syncedPosition = await findSyncedPosition(source, found.offset);
  if (syncedPosition <= found.position) return found.offset;
  const what = `position ${found.position} is bad, and everything before ${syncedPosition} was durable`;
  throw new DamagedData(expected.path, found.offset, what);
}

/** Checks the marks of one segment in order. */
class MarkTrail {
  isEnded = false;
  /** The starts of the parts that no mark calls durable yet: the header, then the batches. */
  #unproven: { offset: number; position: number }[];

  constructor(position: number) {
    this.#unproven = [{ offset: 0, position }];
  }

  pass(mark: Mark, at: { offset: number; position: number }): "go on" | "stop" {
    if (mark.position !== at.position) return "stop";
    this.#unproven.push(at);
    // A part is proven by a synced position at or after the start of the next one.
    while ((this.#unproven[1]?.position ?? Number.POSITIVE_INFINITY) <= mark.syncedPosition) this.#unproven.shift();
    this.isEnded = mark.bytes === 0;
    return this.isEnded ? "stop" : "go on";
  }

  get unprovenOffset(): number {
    return this.#unproven[0]?.offset ?? 0;
  }
}

const COPY_BYTES = 1024 * 1024;

/** Writes the bytes from `start` to the end of the file again. */
async function writeAgain(file: DiskFile, start: number): Promise<void> {
  const size = await file.size();
  const bytes = Buffer.allocUnsafeSlow(Math.max(1, Math.min(COPY_BYTES, size - start)));
  for (let offset = start; offset < size; ) {
    const count = await readFully(file, bytes.subarray(0, Math.min(bytes.length, size - offset)), offset);
    if (count === 0) break;
    await writeFully(file, bytes.subarray(0, count), offset);
    offset += count;
  }
}

interface Expected {
  readonly directory: string;
  readonly firstNumber: number;
  readonly endNumber: number;
  readonly afterSnapshot: boolean;
}

/** keeps (3): throws an error that names the missing segment. */
function assertNoGap(numbers: readonly number[], expected: Expected): void {
  const { directory, firstNumber, endNumber, afterSnapshot } = expected;
  let next = firstNumber;
  for (const number of numbers) {
    if (number !== next) throw new MissingData(segmentPath(directory, next), `segment ${number} needs it`);
    next += 1;
  }
  if (next === firstNumber && afterSnapshot && endNumber > firstNumber) {
    throw new MissingData(segmentPath(directory, next), "the snapshot with the same number needs it");
  }
  if (next < endNumber && endNumber !== Number.POSITIVE_INFINITY) {
    throw new MissingData(segmentPath(directory, next), `segment ${endNumber} needs it`);
  }
}

/** keeps (6): throws an error that names a missing segment that was begun, even if no segment follows it. */
export function assertBegun(directory: string, numbers: readonly number[], begunNumber: number): void {
  const lastNumber = numbers.at(-1) ?? 0;
  if (begunNumber > lastNumber) {
    throw new MissingData(segmentPath(directory, lastNumber + 1), `${highWaterPath(directory)} says that it was begun`);
  }
}

/** Throws if the area ends before a durable position: the last segment was cut at the end of a batch. */
function assertReached(directory: string, { position, ended, open }: AreaRead, mark: HighWater): void {
  const last = open ?? ended.at(-1);
  if (position >= mark.position || last === undefined) return;
  const what = `it ends at position ${position}, but everything before ${mark.position} was durable`;
  throw new DamagedData(segmentPath(directory, last.number), last.bytes, what);
}

class Progress {
  step: RecoveryStep = "replay";
  readonly #options: RecoveryOptions;
  readonly #totalBytes: number;
  #doneBytes = 0;

  constructor(options: RecoveryOptions, totalBytes: number) {
    this.#options = options;
    this.#totalBytes = totalBytes;
  }

  /** Reports the bytes read of the current file. */
  readonly report = (bytes: number): Promise<void> | undefined => {
    this.#options.onProgress?.(this.#doneBytes + bytes, this.#totalBytes, this.step);
    return this.#options.settle?.();
  };

  endFile(bytes: number): void {
    this.#doneBytes += bytes;
    void this.report(0);
  }
}

async function sizesOf(disk: Disk, paths: readonly string[]): Promise<number> {
  let sum = 0;
  for (const path of paths) sum += await withFile(await disk.open(path, "read"), (file) => file.size());
  return sum;
}
