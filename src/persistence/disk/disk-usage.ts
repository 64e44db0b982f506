/**
 * The space that a directory takes, and the free space of its file system. For metrics: NaN where it cannot be read.
 */
import { readdirSync, statfs, statfsSync, statSync } from "node:fs";
import { join } from "node:path";

/** Bytes of the files in a directory, without subdirectories. A file that is removed meanwhile counts as nothing. */
export function directoryBytes(path: string): number {
  return orNaN(() => {
    let bytes = 0;
    for (const name of readdirSync(path)) {
      const facts = statSync(join(path, name), { throwIfNoEntry: false });
      if (facts?.isFile() === true) bytes += facts.size;
    }
    return bytes;
  });
}

/** Free bytes that the file system of `path` has for an unprivileged process. */
export function freeBytesNow(path: string): number {
  return orNaN(() => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  });
}

/** The same through the thread pool. Rejects with the system's error. */
export function readFreeBytes(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    statfs(path, (error, facts) => {
      if (error) reject(error);
      else resolve(facts.bavail * facts.bsize);
    });
  });
}

function orNaN(read: () => number): number {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}
