/**
 * The disk as a dependency: the few operations that durability is built from.
 * `file-disk.ts` is the real one; the simulation has one that loses, tears and
 * reorders what was not synced.
 *
 * A write, a truncation and a rename are durable only behind the sync that
 * covers them: `sync` for the content and length of a file, `syncDirectory`
 * for the names in a directory. Failures are thrown with the system's `code`
 * (`ENOSPC`, `EIO`, `ENOENT`, …).
 */

export interface Disk {
  /** Opens a file. `create` makes a new one and fails when the name is taken. */
  open(path: string, mode: "read" | "write" | "create"): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** A second name for a file (a hard link), or a copy where the file system has no links. */
  link(from: string, to: string): Promise<void>;
  /** Names in a directory, in no order. */
  list(directory: string): Promise<string[]>;
  /** Makes a directory and the ones above it; nothing happens if it is there. */
  makeDirectory(directory: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
}

export interface DiskFile {
  /** Writes some of `bytes` at `offset` and returns how many: it may be fewer than there are. */
  write(bytes: Uint8Array, offset: number): Promise<number>;
  /** Reads into `target` from `offset` and returns how many bytes; 0 at the end. */
  read(target: Uint8Array, offset: number): Promise<number>;
  /** fdatasync: content and length. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  length(): Promise<number>;
  close(): Promise<void>;
}

/** Writes all of `bytes`, however often that takes. */
export async function writeAll(file: DiskFile, bytes: Uint8Array, offset: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const count = await file.write(done === 0 ? bytes : bytes.subarray(done), offset + done);
    if (count <= 0) throw Object.assign(new Error("A write accepted nothing"), { code: "EIO" });
    done += count;
  }
}

/** Fills `target` from `offset`, as far as the file goes. Returns the bytes read. */
export async function readFully(file: DiskFile, target: Uint8Array, offset: number): Promise<number> {
  let done = 0;
  while (done < target.length) {
    const count = await file.read(target.subarray(done), offset + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** The system's code of a failure, or undefined. */
export function failureCode(failure: unknown): string | undefined {
  return failure instanceof Error && "code" in failure && typeof failure.code === "string" ? failure.code : undefined;
}
