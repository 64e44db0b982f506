/**
 * Queries of the history, and cursors.
 *
 * An entry's key is (time, number). Entries are numbered as they are written, so
 * entries of one millisecond are in the order of writing, and keys are unique. A
 * cursor is the key of the last entry of a page, so paging repeats and skips
 * nothing, whatever is written meanwhile.
 */
import { assert } from "../../kernel/assert.ts";
import { TIME_MS_END } from "./layout.ts";
import { type HistoryEntry, type HistoryMessage, STATE_MAX } from "./record.ts";

/** Filters are ANDed, the values of one are ORed; an empty list of values matches nothing. */
export interface HistoryQuery {
  readonly user: number;
  readonly messageIds?: readonly string[];
  readonly states?: readonly number[];
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** Inclusive. */
  readonly fromMs?: number;
  /** Inclusive. */
  readonly toMs?: number;
  readonly order: "latest first" | "earliest first";
  /** 1 … PAGE_ENTRIES_MAX. */
  readonly count: number;
  /** The cursor of the previous page, or a time in ms: the page begins with the entries of that millisecond. */
  readonly cursor?: string;
}

export interface HistoryPage {
  readonly entries: readonly { readonly entry: HistoryEntry; readonly message: HistoryMessage }[];
  /** Absent on the last page. */
  readonly cursor: string | undefined;
}

export const PAGE_ENTRIES_MAX = 1_000;
/** A page ends earlier when its details together exceed this; it holds at least one entry. */
export const PAGE_BYTES_MAX = 32 * 1024 * 1024;
/** The reader of the request refuses longer lists of values. */
export const QUERY_VALUES_MAX = 10_000;

export interface EntryKey {
  readonly timeMs: number;
  readonly number: number;
}

/** The entries between two keys, both exclusive. */
export interface EntryRange {
  readonly after: EntryKey;
  readonly before: EntryKey;
}

/** The cursor does not come from a page. */
export class MalformedCursor extends Error {
  override name = "MalformedCursor";

  constructor(cursor: string) {
    super(`Invalid cursor: ${cursor}`);
  }
}

/** Entries are numbered from 1, so this is before all entries of a millisecond. */
export const BEFORE_FIRST = 0;

/** Throws `MalformedCursor`; any other invalid query is a bug of the caller. */
export function rangeOf(query: HistoryQuery): EntryRange {
  checkQuery(query);
  const { fromMs = 0, toMs = TIME_MS_END - 1, order, cursor } = query;
  let after: EntryKey = { timeMs: Math.max(0, fromMs), number: BEFORE_FIRST };
  let before: EntryKey = { timeMs: Math.min(toMs, TIME_MS_END - 1) + 1, number: BEFORE_FIRST };
  if (cursor !== undefined) {
    const { timeMs, number } = parseCursor(cursor);
    if (order === "latest first") {
      const end = number === undefined ? { timeMs: timeMs + 1, number: BEFORE_FIRST } : { timeMs, number };
      if (compareKeys(end, before) < 0) before = end;
    } else {
      const start = { timeMs, number: number ?? BEFORE_FIRST };
      if (compareKeys(start, after) > 0) after = start;
    }
  }
  return { after, before };
}

/** `<ms>-<number>`, or `<ms>` alone. */
export function parseCursor(cursor: string): { timeMs: number; number: number | undefined } {
  const [, time, number] = /^(\d{1,16})(?:-(\d{1,16}))?$/.exec(cursor) ?? [];
  const timeMs = Number(time);
  if (time === undefined || timeMs >= TIME_MS_END) throw new MalformedCursor(cursor);
  if (number === undefined) return { timeMs, number: undefined };
  if (!Number.isSafeInteger(Number(number))) throw new MalformedCursor(cursor);
  return { timeMs, number: Number(number) };
}

export function printCursor({ timeMs, number }: EntryKey): string {
  return `${timeMs}-${number}`;
}

export function compareKeys(a: EntryKey, b: EntryKey): number {
  return a.timeMs - b.timeMs || a.number - b.number;
}

function checkQuery({ count, states, fromMs, toMs, attributes, messageIds }: HistoryQuery): void {
  assert(Number.isInteger(count) && count >= 1 && count <= PAGE_ENTRIES_MAX, "a page holds 1 to 1,000 entries");
  assert(states?.every(isState) ?? true, "states are numbers from 0 to 15");
  assert(
    [fromMs, toMs].every((ms) => ms === undefined || Number.isSafeInteger(ms)),
    "times are whole milliseconds",
  );
  const valueCount = [...attributes.values()].reduce((sum, values) => sum + values.length, messageIds?.length ?? 0);
  assert(valueCount <= QUERY_VALUES_MAX, "a query names at most 10,000 values");
}

function isState(state: number): boolean {
  return Number.isInteger(state) && state >= 0 && state <= STATE_MAX;
}
