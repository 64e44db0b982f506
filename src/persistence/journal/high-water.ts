/**
 * The high-water mark of an area is a small file beside its directory:
 *
 *     store.high-water    segment 7, position 1234, checksum 1c291ca3
 *
 * It states the last segment that was begun and a position that was durable when
 * the mark was written. Without it, the loss of the last segments, or of all of
 * them, looks like an area in which nothing was written.
 *
 * (1) A mark states durable facts only, so no crash can leave less than it says.
 * (2) A mark may be old or absent: it is written after a segment was begun and
 *     when the journal ends, and nothing waits for it.
 * (3) It holds no data: if it cannot be read or written, a start continues
 *     without it and logs a warning. It is not part of a backup.
 */

import type { Disk } from "../disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "../disk/durable-file.ts";
import { crc32 } from "./checksum.ts";

export interface HighWater {
  /** The last segment that was durably begun; 0 if none is known. */
  readonly segment: number;
  /** Everything before it was durable. */
  readonly position: number;
}

export const NO_HIGH_WATER: HighWater = { segment: 0, position: 0 };

const FILE_MODE = 0o600;
const LINE = /^segment (\d{1,10}), position (\d{1,16}), checksum ([0-9a-f]{8})\n$/;

export function highWaterPath(directory: string): string {
  return `${directory}.high-water`;
}

/** Reads the mark of the area in `directory`; `fault` says why it cannot be used. Rejects with the system's error. */
export async function readHighWater(
  disk: Disk,
  directory: string,
): Promise<{ readonly mark: HighWater; readonly fault: string | undefined }> {
  const path = highWaterPath(directory);
  const text = (await readFileIfThere(disk, path))?.toString("latin1");
  if (text === undefined) return { mark: NO_HIGH_WATER, fault: undefined };
  const [, segment, position] = LINE.exec(text) ?? [];
  const mark = { segment: Number(segment), position: Number(position) };
  if (segment !== undefined && text === lineOf(mark)) return { mark, fault: undefined };
  return { mark: NO_HIGH_WATER, fault: `${path} is damaged, so a loss of the last journal files cannot be detected` };
}

/** Replaces the mark. Rejects with the system's error; then the old mark remains. */
export function writeHighWater(disk: Disk, directory: string, mark: HighWater): Promise<void> {
  return writeFileDurably(highWaterPath(directory), lineOf(mark), { mode: FILE_MODE, disk });
}

function lineOf({ segment, position }: HighWater): string {
  const facts = Buffer.from(`segment ${segment}, position ${position}`, "latin1");
  const checksum = crc32(facts, 0, facts.length, 0).toString(16).padStart(8, "0");
  return `${facts.toString("latin1")}, checksum ${checksum}\n`;
}
