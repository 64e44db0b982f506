/**
 * What persistence needs of a disk, so that a simulated one can stand in for
 * it and lose power at any moment.
 *
 * A call fails with the system's error (`code` is ENOSPC, EIO, ENOENT, …).
 * Nothing is durable because a call returned: contents are after `fdatasync`
 * or `fsync` of the file, and names (created, linked, renamed, removed) are
 * after `syncDirectory` of their directory.
 */

export interface DiskFile {
  /** Writes at `offset` in a thread of the pool. May be short: returns how many bytes were written. */
  write(bytes: Uint8Array, offset: number): Promise<number>;
  /** The same on this thread, before it returns: for what fits the page cache while no sync is running. */
  writeNow(bytes: Uint8Array, offset: number): number;
  /** Fills `target` from `offset`. May be short; 0 at the end of the file. */
  read(target: Uint8Array, offset: number): Promise<number>;
  /** Makes the contents durable, and the size if reading them needs it. */
  fdatasync(): Promise<void>;
  /** As `fdatasync`, and everything else about the file. */
  fsync(): Promise<void>;
  /** Cuts the file off, or lengthens it with zeros. */
  truncate(bytes: number): Promise<void>;
  /** In bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** `create` fails with EEXIST if there is such a file; `update` and `read` fail with ENOENT if there is none. */
export type OpenHow = "create" | "update" | "read";

export interface Disk {
  /** `mode` is for `create`: the permissions, 0600 if absent. */
  open(path: string, how: OpenHow, mode?: number): Promise<DiskFile>;
  /** Replaces what has the name `to`. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** A second name for a file. Fails with EEXIST if the name is taken, EXDEV, EPERM, … where links are not possible. */
  link(from: string, to: string): Promise<void>;
  /** The names in a directory, in no order. */
  list(path: string): Promise<string[]>;
  /** Creates one directory with mode 0700; its parent must exist. Returns false if it was there. */
  mkdir(path: string): Promise<boolean>;
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>;
}

/** One call writes at most so much: Node refuses a single write of 2 GiB or more. */
const WRITE_BYTES_MAX = 256 * 1024 * 1024;

/** Writes all of `bytes` at `offset`, looping over short writes. */
export async function writeFully(file: DiskFile, bytes: Uint8Array, offset: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const end = Math.min(bytes.length, done + WRITE_BYTES_MAX);
    done += progressOf(await file.write(bytes.subarray(done, end), offset + done));
  }
}

/** `writeFully` on this thread. */
export function writeFullyNow(file: DiskFile, bytes: Uint8Array, offset: number): void {
  let done = progressOf(file.writeNow(bytes, offset));
  while (done < bytes.length) done += progressOf(file.writeNow(bytes.subarray(done), offset + done));
}

/** Reads until `target` is full or the file ends. Returns the bytes read. */
export async function readFully(file: DiskFile, target: Uint8Array, offset: number): Promise<number> {
  let done = 0;
  while (done < target.length) {
    const count = await file.read(target.subarray(done), offset + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** Uses a file and closes it, whatever happens. */
export async function withFile<Result>(file: DiskFile, use: (file: DiskFile) => Promise<Result>): Promise<Result> {
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** A write that reports no progress would be retried for ever. */
function progressOf(count: number): number {
  if (count <= 0) throw Object.assign(new Error("The disk wrote nothing"), { code: "EIO" });
  return count;
}

/** The code of a system error (`ENOSPC`), or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What to tell users when an error means that no space is left, undefined for any other error. */
export function noSpaceText(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code === "ENOSPC") return "No space left on device";
  if (code === "EDQUOT") return "Disk quota exceeded";
  return undefined;
}
