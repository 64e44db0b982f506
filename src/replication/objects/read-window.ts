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
