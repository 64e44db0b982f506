/**
 * Memory that is used again for each megabyte that is read: fresh memory costs the
 * system more than the read from the page cache (`bench/copies.bench.ts`).
 */

/** Bytes in memory at a time. */
export const WINDOW_BYTES = 1024 * 1024;

/** Windows that are kept while nobody uses them. */
const FREE_COUNT_MAX = 8;
const free: Buffer[] = [];

/** Uses a window, which has the bytes of an earlier use. Nothing may use it after `use` has settled. */
export async function withWindow<Result>(use: (window: Buffer) => Promise<Result>): Promise<Result> {
  const window = free.pop() ?? Buffer.allocUnsafeSlow(WINDOW_BYTES);
  try {
    return await use(window);
  } finally {
    if (free.length < FREE_COUNT_MAX) free.push(window);
  }
}

/** Memory for one object that is sent whole; a page of it is used only when it is written. */
const OBJECT_BYTES = 16 * 1024 * 1024;
/** Below this, fresh memory costs less than keeping some. */
const OBJECT_BYTES_MIN = 256 * 1024;
/** Objects of several areas are sent at once. */
const OBJECT_COUNT_MAX = 2;
const objects: Buffer[] = [];

/** Memory for an object of so many bytes; undefined: fresh memory is as good. */
export function takeMemory(bytes: number): Buffer | undefined {
  if (bytes < OBJECT_BYTES_MIN || bytes > OBJECT_BYTES) return undefined;
  return objects.pop() ?? Buffer.allocUnsafeSlow(OBJECT_BYTES);
}

/** Gives it back. Nothing may use it any more; memory that is not given back is freed as any other. */
export function giveMemory(memory: Buffer | undefined): void {
  if (memory !== undefined && objects.length < OBJECT_COUNT_MAX) objects.push(memory);
}
