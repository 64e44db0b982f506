/**
 * Checks segments that a start does not read: a snapshot covers them, and they
 * are retained because an engine may read parts of them by location.
 *
 * (1) A covered segment was closed, so it ends with its end mark.
 */
import { segmentPath } from "../area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully, withFile } from "../disk/disk.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "../errors.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  type FileHeader,
  findMark,
  MARK_BYTES,
  parseFileHeader,
} from "./file-format.ts";
import { readItems } from "./item-reader.ts";

export interface CoveredSegment {
  readonly disk: Disk;
  readonly directory: string;
  /** The area's name, as its files state it. */
  readonly area: string;
  readonly number: number;
}

/**
 * `ends` checks header and end mark, so that the file exists and has its length; `whole` checks every checksum too.
 * `onPart` is called with the bytes read after each part of the file, and its result is awaited.
 */
export interface SegmentCheck {
  readonly depth: "ends" | "whole";
  onPart?(bytes: number): unknown;
}

export type SegmentFault = DamagedData | MissingData | NewerFormat | WrongFile;

/** Resolves with the fault of a covered segment, or undefined if it has none. Rejects with the system's error. */
export async function checkCoveredSegment(
  segment: CoveredSegment,
  check: SegmentCheck,
): Promise<SegmentFault | undefined> {
  const path = segmentPath(segment.directory, segment.number);
  try {
    await withFile(await segment.disk.open(path, "read"), (file) => assertWhole(file, { ...segment, path }, check));
    return undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return new MissingData(path, "it holds bodies that are still needed");
    if (codeOf(error) === "EIO") return new DamagedData(path, 0, "the disk reported a read error");
    const isFault = [DamagedData, NewerFormat, WrongFile].some((kind) => error instanceof kind);
    if (isFault) return error as SegmentFault;
    throw error;
  }
}

async function assertWhole(
  file: DiskFile,
  { path, area, number }: CoveredSegment & { path: string },
  { depth, onPart }: SegmentCheck,
): Promise<void> {
  const size = await file.size();
  const head = Buffer.alloc(Math.min(size, FILE_HEADER_BYTES));
  await readFully(file, head, 0);
  const header = parseFileHeader(head, { kind: "segment", path, area, number });
  await assertEnded(file, { path, size, header });
  if (depth === "ends") return;
  let isEnded = false;
  const found = await readItems(
    { file, size, number, salt: header.salt, markWord: BATCH_WORD },
    {
      frame: () => {},
      mark(mark, { position }) {
        if (mark.position !== position) return "stop";
        isEnded = mark.bytes === 0;
        return isEnded ? "stop" : "go on";
      },
      ...(onPart !== undefined && { progress: (bytes: number) => onPart(bytes) }),
    },
    { offset: FILE_HEADER_BYTES, position: header.position },
  );
  if (isEnded && found.offset + MARK_BYTES === size) return;
  throw new DamagedData(path, found.offset, `position ${found.position} is bad, and it was durable`);
}

/** keeps (1) */
async function assertEnded(
  file: DiskFile,
  { path, size, header }: { path: string; size: number; header: FileHeader },
): Promise<void> {
  const { number, salt } = header;
  const offset = Math.max(FILE_HEADER_BYTES, size - MARK_BYTES);
  const bytes = Buffer.alloc(MARK_BYTES);
  const count = await readFully(file, bytes, offset);
  const mark = findMark(bytes.subarray(0, count), 0, { word: BATCH_WORD, number, salt });
  if (mark?.bytes !== 0) throw new DamagedData(path, offset, "it does not end with the mark of a closed segment");
}
