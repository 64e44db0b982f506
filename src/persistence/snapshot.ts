/**
 * A snapshot is a recovery that writes. A process of its own loads the last
 * snapshot, replays the closed segments with the code of a start, and writes
 * what the engine then holds. The serving process only closes a segment before
 * and adopts the snapshot after (area.ts), so it never pauses, and every
 * snapshot tests recovery.
 *
 * The open segment is not read: it is the one with the highest number. Segments
 * below it do not change any more, so nothing has to be agreed between the two
 * processes while this one reads.
 */
import type { Random } from "../kernel/random.ts";
import { listAreaFiles } from "./area-files.ts";
import type { Disk } from "./disk.ts";
import type { FramePlace } from "./file-format.ts";
import { readArea } from "./recovery.ts";
import { writeSnapshotFile } from "./snapshot-file.ts";

/** An empty engine of the area's kind. */
export interface SnapshotEngine {
  /** Applies one frame, with its place as recovery tells it. Bytes and place are only valid until it returns. */
  replay(frame: Buffer, place: FramePlace | undefined): void;
  /** The whole state as frames that rebuild it. A frame is valid until the next one is asked for. */
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
 * Rejects as `readArea` does, or with the system's error; what was there before is untouched then.
 */
export async function writeSnapshot(options: SnapshotOptions): Promise<SnapshotWritten | undefined> {
  const { disk, directory, area, engine, random } = options;
  const { segments, snapshots } = await listAreaFiles(disk, directory);
  const number = segments.at(-1) ?? 1;
  if (number <= (snapshots.at(-1) ?? 1)) return undefined;
  const apply = (frame: Buffer, place: FramePlace | undefined): void => engine.replay(frame, place);
  const { position } = await readArea({ disk, directory, area, apply, endSegment: number });
  const bytes = await writeSnapshotFile(disk, { directory, area, number, position }, { frames: engine.dump(), random });
  return { number, position, bytes };
}
