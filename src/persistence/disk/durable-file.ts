/** Small files that are replaced as a whole: after a crash a file has the old text or the new one, never a mix. */
import { dirname } from "node:path";
import { UNFINISHED_SUFFIX } from "../journal/file-format.ts";
import { codeOf, type Disk, readFully, withFile, writeFully } from "./disk.ts";
import { fileDisk } from "./file-disk.ts";

export interface DurableFileOptions {
  /** Permissions, such as 0o600. */
  readonly mode: number;
  /** The real disk if absent. */
  readonly disk?: Disk;
}

/**
 * Replaces the file at `path` (S-07): temporary file, fsync, rename, fsync of the directory. One call at a time for
 * each path. Rejects with the system's error; then the old file remains.
 */
export async function writeFileDurably(
  path: string,
  contents: string | Uint8Array,
  { mode, disk = fileDisk }: DurableFileOptions,
): Promise<void> {
  const draft = `${path}${UNFINISHED_SUFFIX}`;
  const bytes = typeof contents === "string" ? Buffer.from(contents, "utf8") : contents;
  // Leftovers of a crash are not overwritten: their permissions may differ.
  await unlinkIfThere(disk, draft);
  await withFile(await disk.open(draft, "create", mode), async (file) => {
    await writeFully(file, bytes, 0);
    await file.fsync();
  });
  await disk.rename(draft, path);
  await disk.syncDirectory(dirname(path));
}

/** The bytes of a small file, or undefined if it does not exist. */
export async function readFileIfThere(disk: Disk, path: string): Promise<Buffer | undefined> {
  try {
    return await withFile(await disk.open(path, "read"), async (file) => {
      const bytes = Buffer.alloc(await file.size());
      return bytes.subarray(0, await readFully(file, bytes, 0));
    });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function unlinkIfThere(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
