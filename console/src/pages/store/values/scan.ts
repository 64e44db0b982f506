/** The scans of the store as pages: SCAN, HSCAN, SSCAN and ZSCAN. */
import type { Bytes } from "./bytes.ts";
import type { RowsPage } from "./pages.ts";
import { ask, bytesOf, listOf, type Reply, type Words } from "./run.ts";

/** Rows that a page has at least, if there are so many. */
export const PAGE_ROWS = 100;
/** Elements that a round looks at: the longest pause of others is that of this many. */
const LOOKED_MAX = 1_000;
/** Requests for a page: a pattern that few keys match needs many. */
const ROUNDS_MAX = 10;

export interface ScanOptions {
  /** The command and its key. */
  readonly words: Words;
  /** A pattern of elements; absent: all. */
  readonly match?: Bytes | undefined;
  /** After the pattern. */
  readonly more?: Words;
  readonly count?: number;
}

/** The next page of a scan. A failure of the command is thrown. */
export async function scanPage<Row>(
  database: string,
  { words, match, more = [], count = PAGE_ROWS }: ScanOptions,
  at: { readonly cursor: Bytes | undefined; readonly signal: AbortSignal },
  rowsOf: (elements: readonly Reply[]) => Row[],
): Promise<RowsPage<Row, Bytes>> {
  const rows: Row[] = [];
  let cursor = at.cursor ?? "0";
  const pattern: Words = match === undefined ? [] : ["MATCH", match];
  let looked = count;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const scan: Words = [...words, cursor, ...pattern, "COUNT", looked, ...more];
    const [next, elements] = listOf(await ask(database, scan, at.signal));
    cursor = bytesOf(next);
    const found = rowsOf(listOf(elements));
    rows.push(...found);
    if (cursor === "0") return { rows, next: undefined };
    if (rows.length >= count) break;
    // Where few elements match, the next round looks at more.
    if (found.length < looked / 10) looked = Math.min(looked * 2, LOOKED_MAX);
  }
  return { rows, next: cursor };
}

/** Elements in a window of a list whose elements have this size on average: at most 100, and about 2 MB. */
export function windowRows(bytes: number, count: number): number {
  const average = count === 0 ? 0 : bytes / count;
  return Math.max(1, Math.min(PAGE_ROWS, Math.floor(2_000_000 / Math.max(1, average))));
}
