/** Reads the files of an area for a copy, with handles of its own: a file that the server removes meanwhile can be read to its end. */
import { createHash } from "node:crypto";
import { segmentPath, snapshotPath } from "../persistence/area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully } from "../persistence/disk/disk.ts";
import { FILE_HEADER_BYTES, type FileKind, parseFileHeader } from "../persistence/journal/file-format.ts";
import { SUM_DIGITS } from "./names.ts";
import type { ObjectContent } from "./objects/object-store.ts";

/** Bytes in memory at a time. */
const WINDOW_BYTES = 1024 * 1024;

export interface LocalFile {
  readonly path: string;
  readonly number: number;
  readonly salt: number;
  readonly file: DiskFile;
}

/** Opens a segment or a snapshot; undefined if it does not exist. Rejects as `parseFileHeader`, or with the system's error. */
export async function openLocalFile(
  disk: Disk,
  { directory, area }: { readonly directory: string; readonly area: string },
  { kind, number }: { readonly kind: FileKind; readonly number: number },
): Promise<LocalFile | undefined> {
  const path = kind === "segment" ? segmentPath(directory, number) : snapshotPath(directory, number);
  const file = await openIfThere(disk, path);
  if (file === undefined) return undefined;
  try {
    const bytes = Buffer.alloc(FILE_HEADER_BYTES);
    const count = await readFully(file, bytes, 0);
    const { salt } = parseFileHeader(bytes.subarray(0, count), { kind, path, area, number });
    return { path, number, salt, file };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Opens a file to read it; undefined if it does not exist. Rejects with the system's error. A store may still read an object when
 * the copying has ended, and a closed descriptor soon belongs to another file: so closing waits for the reads under way, and
 * later ones fail.
 */
export async function openIfThere(disk: Disk, path: string): Promise<DiskFile | undefined> {
  try {
    const file = await disk.open(path, "read");
    const reads = new Set<Promise<unknown>>();
    let isClosed = false;
    return {
      ...refusing(path),
      read(target, offset) {
        if (isClosed) return Promise.reject(new Error(`${path} is closed`));
        const read = file.read(target, offset).finally(() => reads.delete(read));
        reads.add(read);
        return read;
      },
      size: () => file.size(),
      async close() {
        if (isClosed) return;
        isClosed = true;
        await Promise.allSettled(reads);
        await file.close();
      },
    };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function refusing(path: string): Pick<DiskFile, "write" | "writeNow" | "fdatasync" | "fsync" | "truncate"> {
  const refuse = (): never => {
    throw new Error(`${path} is only read`);
  };
  return { write: refuse, writeNow: refuse, fdatasync: refuse, fsync: refuse, truncate: refuse };
}

/** The start of the SHA-256 of some bytes of a file. Rejects with the system's error. */
export async function sumOfFile(
  { path, file }: Pick<LocalFile, "path" | "file">,
  start: number,
  end: number,
): Promise<string> {
  const hash = createHash("sha256");
  for (let offset = start; offset < end; ) {
    const bytes = await readRange({ path, file }, offset, Math.min(end, offset + WINDOW_BYTES));
    hash.update(bytes);
    offset += bytes.length;
  }
  return hash.digest("hex").slice(0, SUM_DIGITS);
}

/** Some bytes of a file as an object. The file must stay open until it is stored. */
export function contentOfFile(file: Pick<LocalFile, "path" | "file">, start: number, end: number): ObjectContent {
  return { bytes: end - start, read: (from, to) => readRange(file, start + from, start + to) };
}

async function readRange(
  { path, file }: Pick<LocalFile, "path" | "file">,
  start: number,
  end: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(end - start);
  const count = await readFully(file, bytes, start);
  if (count < bytes.length)
    throw new Error(`${path} ends at byte ${start + count}, before byte ${end} that was durable`);
  return bytes;
}
