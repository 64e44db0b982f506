/** Reads the files of an area for a copy, with handles of its own: a file that the server removes meanwhile can be read to its end. */
import { createHash } from "node:crypto";
import { segmentPath, snapshotPath } from "../persistence/area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully } from "../persistence/disk/disk.ts";
import { FILE_HEADER_BYTES, type FileKind, parseFileHeader } from "../persistence/journal/file-format.ts";
import { SUM_DIGITS } from "./names.ts";
import type { ObjectContent } from "./objects/object-store.ts";
import { WINDOW_BYTES, withWindow } from "./objects/read-window.ts";

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

/** The SHA-256 of bytes in hexadecimal digits, and its start, which names of objects have. */
export interface FileSum {
  readonly sha256: string;
  readonly sum: string;
}

/** The checksums of some bytes of a file. Rejects with the system's error. */
export function sumOfFile(file: Pick<LocalFile, "path" | "file">, start: number, end: number): Promise<FileSum> {
  return withWindow(async (window) => {
    const hash = createHash("sha256");
    for (let offset = start; offset < end; offset += WINDOW_BYTES)
      hash.update(await readRange(file, { start: offset, end: Math.min(end, offset + WINDOW_BYTES), into: window }));
    const sha256 = hash.digest("hex");
    return { sha256, sum: sha256.slice(0, SUM_DIGITS) };
  });
}

/** Some bytes of a file as an object. The file must stay open until it is stored. */
export function contentOfFile(
  file: Pick<LocalFile, "path" | "file">,
  { start, end, sha256 }: { readonly start: number; readonly end: number; readonly sha256: string },
): ObjectContent {
  return {
    bytes: end - start,
    sha256,
    read: (from, to, into) => readRange(file, { start: start + from, end: start + to, into }),
  };
}

async function readRange(
  { path, file }: Pick<LocalFile, "path" | "file">,
  { start, end, into }: { readonly start: number; readonly end: number; readonly into: Buffer | undefined },
): Promise<Buffer> {
  const bytes = into?.subarray(0, end - start) ?? Buffer.allocUnsafe(end - start);
  const count = await readFully(file, bytes, start);
  if (count < bytes.length)
    throw new Error(`${path} ends at byte ${start + count}, before byte ${end} that was durable`);
  return bytes;
}
