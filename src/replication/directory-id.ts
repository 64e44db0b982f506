/**
 * The id of a data directory, in the file `copy-id`: 32 hexadecimal digits. A copy
 * has the id of its data directory, and so has a directory that is restored from
 * it. So an empty directory that is started with the prefix of an existing copy
 * does not take its place.
 */
import type { Disk } from "../persistence/disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "../persistence/disk/durable-file.ts";
import { DamagedData } from "../persistence/errors.ts";

export const DIRECTORY_ID_FILE = "copy-id";
const FILE_MODE = 0o600;
const ID_BYTES = 16;
const LINE = /^([0-9a-f]{32})\n$/;

/** Reads the id, or makes one of `secretBytes` and stores it. Rejects with `DamagedData`, or with the system's error. */
export async function openDirectoryId(
  disk: Disk,
  dataDirectory: string,
  secretBytes: (count: number) => Buffer,
): Promise<string> {
  const path = `${dataDirectory}/${DIRECTORY_ID_FILE}`;
  const found = await readFileIfThere(disk, path);
  if (found !== undefined) {
    const [, id] = LINE.exec(found.toString("latin1")) ?? [];
    if (id === undefined) throw new DamagedData(path, 0, "it does not state an id");
    return id;
  }
  const id = secretBytes(ID_BYTES).toString("hex");
  await writeFileDurably(path, directoryIdLine(id), { mode: FILE_MODE, disk });
  return id;
}

export function directoryIdLine(id: string): string {
  return `${id}\n`;
}
