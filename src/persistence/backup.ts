/**
 * Backup: files that no longer change get a second name in another directory,
 * which is then the directory of an area itself.
 *
 * (1) A backup holds everything appended before it was requested, and possibly
 *     some later frames.
 * (2) It ends with its own empty open segment: recovery, and a server that is
 *     started on it, write to no file that both directories share.
 */
import type { Random } from "../kernel/random.ts";
import { listAreaFiles, segmentPath, snapshotPath } from "./area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully, withFile, writeFully } from "./disk/disk.ts";
import { FILE_HEADER_BYTES, parseFileHeader } from "./journal/file-format.ts";
import { SegmentWriter } from "./journal/segment-writer.ts";

export interface BackupOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly area: string;
  /** A directory that exists and holds no area. */
  readonly target: string;
  /** The open segment: it is not taken, all lower ones are. */
  readonly openNumber: number;
  readonly random: Random;
  /** True: segments that the snapshot covers are taken too, because their contents may be read by location. */
  readonly takesCovered: boolean;
}

/** Links an area into `target`, or copies it where links are not possible, and makes it durable. Returns its end. */
export async function backUpArea(options: BackupOptions): Promise<number> {
  const { disk, directory, area, target, openNumber, random, takesCovered } = options;
  const { segments, snapshots } = await listAreaFiles(disk, directory);
  const snapshotNumber = snapshots.findLast((number) => number <= openNumber);
  if (snapshotNumber !== undefined) {
    await linkOrCopy(disk, snapshotPath(directory, snapshotNumber), snapshotPath(target, snapshotNumber));
  }
  const firstNumber = takesCovered ? 0 : (snapshotNumber ?? 0);
  for (const number of segments) {
    if (number < firstNumber || number >= openNumber) continue;
    await linkOrCopy(disk, segmentPath(directory, number), segmentPath(target, number));
  }
  const { position } = await readSegmentHeader(disk, { directory, area, number: openNumber });
  const header = { number: openNumber, position, salt: random.below(2 ** 32) };
  // Creating a segment also makes the names in its directory durable.
  const own = await SegmentWriter.create(disk, { directory: target, area }, header); // keeps (2)
  await own.close();
  return position;
}

async function readSegmentHeader(
  disk: Disk,
  { directory, area, number }: { directory: string; area: string; number: number },
): Promise<{ position: number }> {
  const path = segmentPath(directory, number);
  const bytes = Buffer.alloc(FILE_HEADER_BYTES);
  await withFile(await disk.open(path, "read"), (file) => readFully(file, bytes, 0));
  return parseFileHeader(bytes, { kind: "segment", path, area, number });
}

/** Errors with which a file system refuses a second name although a copy would work. */
export const NO_LINK_CODES: readonly (string | undefined)[] = [
  "EXDEV",
  "EPERM",
  "EMLINK",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
];

/** A second name for a file that no longer changes, or a copy of it. Rejects with the system's error. */
export async function linkOrCopy(disk: Disk, from: string, to: string): Promise<void> {
  try {
    await disk.link(from, to);
  } catch (error) {
    if (!NO_LINK_CODES.includes(codeOf(error))) throw error;
    await withFile(await disk.open(from, "read"), async (source) => {
      await withFile(await disk.open(to, "create"), (copy) => copyContents(source, copy));
    });
  }
}

const COPY_BYTES = 1024 * 1024;

async function copyContents(source: DiskFile, copy: DiskFile): Promise<void> {
  const bytes = Buffer.allocUnsafeSlow(COPY_BYTES);
  for (let offset = 0; ; ) {
    const count = await readFully(source, bytes, offset);
    if (count === 0) break;
    await writeFully(copy, bytes.subarray(0, count), offset);
    offset += count;
  }
  await copy.fsync();
}
