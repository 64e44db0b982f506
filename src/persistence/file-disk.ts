/** The real disk: `node:fs` behind the interface of `disk.ts`. */
import { constants, type Stats } from "node:fs";
import * as fs from "node:fs";
import { copyFile, type FileHandle, link, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { type Disk, type DiskFile, failureCode } from "./disk.ts";

const FLAGS = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
};

/** Data files hold what tenants wrote: nobody else on the machine reads them. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** Why a file system may not make a hard link although a copy would do. */
const NO_LINK_CODES = new Set(["EXDEV", "EPERM", "ENOTSUP", "EMLINK", "EOPNOTSUPP"]);

export const fileDisk: Disk = {
  open: async (path, mode) => new OpenFile(await open(path, FLAGS[mode], FILE_MODE)),
  rename,
  unlink,
  link: async (from, to) => {
    try {
      await link(from, to);
    } catch (failure) {
      if (!NO_LINK_CODES.has(failureCode(failure) ?? "")) throw failure;
      await copyFile(from, to, constants.COPYFILE_EXCL);
      await withHandle(to, constants.O_RDWR, (handle) => handle.sync());
    }
  },
  list: (directory) => readdir(directory),
  makeDirectory: async (directory) => {
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  },
  syncDirectory: (directory) => withHandle(directory, constants.O_RDONLY, (handle) => handle.sync()),
};

/**
 * The callbacks of `node:fs` over a file descriptor: a promise of our own costs
 * a third of what `FileHandle` does per call, and there is one per batch.
 */
class OpenFile implements DiskFile {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  write(bytes: Uint8Array, offset: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.write(this.#handle.fd, bytes, 0, bytes.length, offset, (failure, count) => {
        if (failure === null) resolve(count);
        else reject(failure);
      });
    });
  }

  read(target: Uint8Array, offset: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.#handle.fd, target, 0, target.length, offset, (failure, count) => {
        if (failure === null) resolve(count);
        else reject(failure);
      });
    });
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.#handle.fd, (failure) => {
        if (failure === null) resolve();
        else reject(failure);
      });
    });
  }

  truncate(length: number): Promise<void> {
    return this.#handle.truncate(length);
  }

  async length(): Promise<number> {
    const stats: Stats = await this.#handle.stat();
    return stats.size;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

async function withHandle(path: string, flags: number, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(path, flags);
  try {
    await use(handle);
  } finally {
    await handle.close();
  }
}
