/** Finds where a journal now begins: earlier segments may have been removed. */
import { listAreaFiles, segmentPath } from "../area-files.ts";
import { type Disk, readFully, withFile } from "../disk/disk.ts";
import { FILE_HEADER_BYTES, parseFileHeader } from "../journal/file-format.ts";

/** The position before the first existing frame; undefined if there is no segment. */
export async function findFirstPosition(
  disk: Disk,
  { directory, area }: { directory: string; area: string },
): Promise<number | undefined> {
  const [number] = (await listAreaFiles(disk, directory)).segments;
  if (number === undefined) return undefined;
  const path = segmentPath(directory, number);
  const bytes = Buffer.alloc(FILE_HEADER_BYTES);
  const count = await withFile(await disk.open(path, "read"), (file) => readFully(file, bytes, 0));
  return parseFileHeader(bytes.subarray(0, count), { kind: "segment", path, area, number }).position;
}
