/**
 * The real disk. It uses file descriptors and callbacks rather than
 * `fs/promises`: one object less per call, and no handle that garbage
 * collection could close.
 */
import * as fs from "node:fs";
import { NotAFile } from "../errors.ts";
import { codeOf, type Disk, type DiskFile, type OpenHow } from "./disk.ts";
import { LOOP, otherKind } from "./file-kind.ts";

/** Opening a pipe to read it would wait for a writer. Absent on Windows. */
const { O_NONBLOCK = 0 } = fs.constants;

const OPEN_FLAGS: Readonly<Record<OpenHow, number>> = {
  create: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL,
  update: fs.constants.O_RDWR | O_NONBLOCK,
  read: fs.constants.O_RDONLY | O_NONBLOCK,
};

/** Data files hold what tenants wrote: no other user of the machine may read them. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

export const fileDisk: Disk = {
  async open(path, how, mode = FILE_MODE) {
    const descriptor = await openNamed(path, OPEN_FLAGS[how], mode);
    if (how === "create") return new OpenFile(descriptor);
    const facts = await settledWith<fs.Stats>((done) => fs.fstat(descriptor, done));
    const what = otherKind(facts);
    if (what === undefined) return new OpenFile(descriptor);
    await settled((done) => fs.close(descriptor, done));
    throw new NotAFile(path, what);
  },

  rename: (from, to) => settled((done) => fs.rename(from, to, done)),
  unlink: (path) => settled((done) => fs.unlink(path, done)),
  link: (from, to) => settled((done) => fs.link(from, to, done)),
  list: (path) => settledWith((done) => fs.readdir(path, done)),

  async mkdir(path) {
    try {
      await settled((done) => fs.mkdir(path, DIRECTORY_MODE, done));
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  },

  async syncDirectory(path) {
    const descriptor = await openDescriptor(path, OPEN_FLAGS.read, FILE_MODE);
    try {
      await settled((done) => fs.fsync(descriptor, done));
    } finally {
      await settled((done) => fs.close(descriptor, done));
    }
  },
};

class OpenFile implements DiskFile {
  readonly descriptor: number;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  write(bytes: Uint8Array, offset: number): Promise<number> {
    return settledWith((done) => fs.write(this.descriptor, bytes, 0, bytes.length, offset, done));
  }

  writeNow(bytes: Uint8Array, offset: number): number {
    return fs.writeSync(this.descriptor, bytes, 0, bytes.length, offset);
  }

  read(target: Uint8Array, offset: number): Promise<number> {
    return settledWith((done) => fs.read(this.descriptor, target, 0, target.length, offset, done));
  }

  fdatasync(): Promise<void> {
    return settled((done) => fs.fdatasync(this.descriptor, done));
  }

  fsync(): Promise<void> {
    return settled((done) => fs.fsync(this.descriptor, done));
  }

  truncate(bytes: number): Promise<void> {
    return settled((done) => fs.ftruncate(this.descriptor, bytes, done));
  }

  async size(): Promise<number> {
    const { size } = await settledWith<fs.Stats>((done) => fs.fstat(this.descriptor, done));
    return size;
  }

  close(): Promise<void> {
    return settled((done) => fs.close(this.descriptor, done));
  }
}

/** Rejects with `NotAFile` for what cannot be opened as a file. */
async function openNamed(path: string, flags: number, mode: number): Promise<number> {
  try {
    return await openDescriptor(path, flags, mode);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EISDIR") throw new NotAFile(path, "a directory");
    if (code === "ELOOP") throw new NotAFile(path, LOOP);
    throw error;
  }
}

function openDescriptor(path: string, flags: number, mode: number): Promise<number> {
  return settledWith((done) => fs.open(path, flags, mode, done));
}

function settled(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));
}

function settledWith<Result>(start: (done: (error: Error | null, result: Result) => void) => void): Promise<Result> {
  return new Promise((resolve, reject) => start((error, result) => (error ? reject(error) : resolve(result))));
}
