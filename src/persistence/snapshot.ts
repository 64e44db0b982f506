/**
 * A snapshot is a recovery that writes. A separate process loads the last
 * snapshot, replays the closed segments with the code of a start, and writes
 * the resulting state of the engine. The serving process only closes a segment
 * before and adopts the snapshot afterwards (area-storage.ts), so it never
 * pauses, and every snapshot tests recovery.
 *
 * The open segment, which has the highest number, is not read. Segments below it
 * no longer change, so the two processes need no coordination while this one
 * reads.
 *
 * (1) A snapshot gets its name after the segment with its number was begun
 *     durably: if that segment is empty or missing, it is damage (recovery.ts).
 */
import type { Random } from "../kernel/random.ts";
import { listAreaFiles, segmentPath } from "./area-files.ts";
import { codeOf, type Disk, readFully, withFile } from "./disk/disk.ts";
import { WrongFile } from "./errors.ts";
import { FILE_HEADER_BYTES, type JournalLocation, parseFileHeader } from "./journal/file-format.ts";
import { readArea } from "./recovery.ts";
import { writeSnapshotFile } from "./snapshot-file.ts";

/** An empty engine of the area's kind. */
export interface SnapshotEngine {
  /** Called before the first frame: many follow. */
  beginRecovery?(): void;
  /** Called after the last frame of the last snapshot, if frames of the journal follow. */
  endSnapshot?(): void;
  /** Called after the last frame. */
  endRecovery?(): void;
  /** Applies one frame, as `RecoveryOptions.apply`. Bytes and location are only valid until it returns. */
  replay(frame: Buffer, location: JournalLocation | undefined): void;
  /** A promise while the reading should wait, as `RecoveryOptions.settle`. */
  settle?(): Promise<void> | undefined;
  /** The whole state as frames that rebuild it. A frame is valid until the next one is requested. */
  dump(): Iterable<Uint8Array>;
}

export interface SnapshotOptions {
  readonly disk: Disk;
  readonly directory: string;
  /** The area's name, as its files state it. */
  readonly area: string;
  readonly engine: SnapshotEngine;
  readonly random: Random;
}

export interface SnapshotWritten {
  /** The first segment that it does not cover. */
  readonly number: number;
  readonly position: number;
  readonly bytes: number;
}

/**
 * Writes a snapshot of everything in the closed segments. Returns undefined if none was closed since the last one.
 * Rejects as `readArea` does, or with the system's error; then existing files are unchanged.
 */
export async function writeSnapshot(options: SnapshotOptions): Promise<SnapshotWritten | undefined> {
  const { disk, directory, area, engine, random } = options;
  const { segments, snapshots } = await listAreaFiles(disk, directory);
  const lastNumber = segments.at(-1) ?? 1;
  // The last segment may still be in creation; the previous one is begun.
  const number = (await isBegun(options, lastNumber)) ? lastNumber : lastNumber - 1;
  if (number <= (snapshots.at(-1) ?? 1)) return undefined;
  const apply = (frame: Buffer, location: JournalLocation | undefined): void => engine.replay(frame, location);
  engine.beginRecovery?.();
  const { position } = await readArea({
    ...{ disk, directory, area, apply, endSegment: number },
    settle: () => engine.settle?.(),
    endSnapshot: () => engine.endSnapshot?.(),
    applied: () => engine.endRecovery?.(),
  });
  await assertBegun(options, { number, position });
  const bytes = await writeSnapshotFile(disk, { directory, area, number, position }, { frames: engine.dump(), random });
  return { number, position, bytes };
}

async function isBegun({ disk, directory }: SnapshotOptions, number: number): Promise<boolean> {
  try {
    return await withFile(await disk.open(segmentPath(directory, number), "read"), async (file) => {
      return (await file.size()) >= FILE_HEADER_BYTES;
    });
  } catch (error) {
    // A new data directory has none, and a segment that could not be begun is removed again.
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** keeps (1), and checks that the segment continues where the snapshot ends. */
async function assertBegun(
  options: SnapshotOptions,
  { number, position }: { number: number; position: number },
): Promise<void> {
  const { disk, directory, area } = options;
  const path = segmentPath(directory, number);
  const header = await withFile(await disk.open(path, "read"), async (file) => {
    const bytes = Buffer.alloc(FILE_HEADER_BYTES);
    const count = await readFully(file, bytes, 0);
    // Bytes after the header were written when the header was durable, and the server syncs them.
    if ((await file.size()) <= FILE_HEADER_BYTES) await file.fdatasync();
    return parseFileHeader(bytes.subarray(0, count), { kind: "segment", path, area, number });
  });
  if (header.position !== position) {
    throw new WrongFile(path, `begins at position ${header.position}, but the files before it end at ${position}`);
  }
  await disk.syncDirectory(directory);
}
