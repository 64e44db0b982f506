/**
 * The disk as persistence uses it, an interface so that a simulated disk can
 * replace the real one and lose power at any moment.
 *
 * A call fails with the system's error (`code` is ENOSPC, EIO, ENOENT, …). A
 * call that has returned is not durable: contents are durable after `fdatasync`
 * or `fsync` of the file, and names (created, linked, renamed, removed) after
 * `syncDirectory` of their directory.
 */

export interface DiskFile {
  /** The number by which other threads of the process read the file while it is open; undefined if it has none. */
  readonly descriptor?: number;
  /** Writes at `offset` in a thread of the pool. May be short: returns how many bytes were written. */
  write(bytes: Uint8Array, offset: number): Promise<number>;
  /** The same on this thread, before it returns: for small writes into the page cache while no sync is running. */
  writeNow(bytes: Uint8Array, offset: number): number;
  /** Fills `target` from `offset`. May be short; 0 at the end of the file. */
  read(target: Uint8Array, offset: number): Promise<number>;
  /** Makes the contents durable, and the size if reading them needs it. */
  fdatasync(): Promise<void>;
  /** As `fdatasync`, with all other metadata of the file. */
  fsync(): Promise<void>;
  /** Truncates the file, or extends it with zeros. */
  truncate(bytes: number): Promise<void>;
  /** In bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** `create` fails with EEXIST if the file exists; `update` and `read` fail with ENOENT if it does not. */
export type OpenHow = "create" | "update" | "read";

export interface Disk {
  /** `mode` is for `create`: the permissions, 0600 if absent. */
  open(path: string, how: OpenHow, mode?: number): Promise<DiskFile>;
  /** Replaces an existing file `to`. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /**
   * Gives a file a second name. Fails with EEXIST if the name is taken, EXDEV, EPERM, … where links are not possible.
   */
  link(from: string, to: string): Promise<void>;
  /** The names in a directory, in no order. */
  list(path: string): Promise<string[]>;
  /** Creates one directory with mode 0700; its parent must exist. Returns false if it existed. */
  mkdir(path: string): Promise<boolean>;
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>;
  /**
   * Makes a complete snapshot durable that another process wrote beside this disk. Called before anything that it
   * covers is removed. Absent: `syncDirectory` is enough.
   */
  adopt?(path: string): Promise<void>;
}

/** The most bytes that one call writes: Node refuses a single write of 2 GiB or more. */
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
export async function readFully(file: Pick<DiskFile, "read">, target: Uint8Array, offset: number): Promise<number> {
  let done = 0;
  while (done < target.length) {
    const count = await file.read(target.subarray(done), offset + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** Uses a file and closes it, whether `use` succeeds or fails. */
export async function withFile<Result>(file: DiskFile, use: (file: DiskFile) => Promise<Result>): Promise<Result> {
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Without this check, a write that reports no progress would be retried without end. */
function progressOf(count: number): number {
  if (count <= 0) throw Object.assign(new Error("The disk accepted no bytes"), { code: "EIO" });
  return count;
}

/** The code of a system error (`ENOSPC`), or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The text for users when an error means that the disk is full, undefined for any other error. */
export function noSpaceText(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code === "ENOSPC") return "No space left on device";
  if (code === "EDQUOT") return "Disk quota exceeded";
  return undefined;
}
