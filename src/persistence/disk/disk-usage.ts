/**
 * How much space a directory takes, and how much is left where it lies. For metrics, which go on without: NaN where
 * it cannot be told.
 */
import { readdirSync, statfs, statfsSync, statSync } from "node:fs";
import { join } from "node:path";

/** Bytes of the files in a directory, not of those below its directories. What goes meanwhile counts as nothing. */
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

/** Bytes that the file system of `path` has left for a process like this one. */
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
