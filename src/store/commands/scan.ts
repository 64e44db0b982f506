/**
 * SCAN, and the code that HSCAN, SSCAN and ZSCAN share with it.
 *
 * A full iteration, from cursor 0 until the cursor is 0 again, returns every
 * element that was present the whole time, at least once, whatever else is added
 * or removed; the dictionary guarantees that. The work of a call is bounded,
 * however large its COUNT is.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import { invalidCursor, syntaxError } from "../errors.ts";
import { ReplyBudget } from "../reply/budget.ts";
import type { Reply } from "../reply/reply.ts";
import { matchesGlob } from "../structures/glob.ts";
import { typeOf } from "../values/table.ts";

const COUNT_DEFAULT = 10;
/** The most elements that one call returns, not counting the rest of its last bucket. */
const COUNT_MAX = 10_000;
/** A call ends after this many buckets per requested element, as in Redis: a sparse table has many empty ones. */
const STEPS_PER_ELEMENT = 10;
/**
 * A SCAN with MATCH or TYPE visits all keys of a keyspace up to this size in one call, whatever its COUNT, as the
 * hosted service does: its clients' tests take the first reply for the whole answer. That is a tenth of the work of
 * the largest COUNT.
 */
const FILTERED_WHOLE_SIZE_MAX = 1_000;

export interface ScanOptions {
  readonly count: number;
  /** Whether MATCH or TYPE is given. */
  readonly isFiltered: boolean;
  /** True for an element that matches MATCH. */
  readonly matches: (element: Bytes) => boolean;
  /** SCAN only: the operand of TYPE, in lower case. */
  readonly typeName: string | undefined;
  /** SCAN only. */
  readonly withTypes: boolean;
  /** HSCAN only. */
  readonly withValues: boolean;
}

/** The options of a scan command other than MATCH and COUNT. */
export type ScanWord = "TYPE" | "WITHTYPE" | "NOVALUES";

export const scanRow: Row = {
  name: "SCAN",
  summary: "Iterates over the keys",
  arity: -2,
  flags: ["readonly", "powerful"],
  keys: noKeys,
  run: scan,
};

function scan(call: Call): Reply {
  const { keyspace, arg } = call;
  const cursor = readCursor(arg(1));
  const options = readScanOptions(call, 2, ["TYPE", "WITHTYPE"]);
  const found: Bytes[] = [];
  const { entries } = keyspace;
  const isWhole = options.isFiltered && entries.size <= FILTERED_WHOLE_SIZE_MAX;
  const next = scanSome(cursor, isWhole ? COUNT_MAX : options.count, {
    step: (at, visit) => entries.scan(at, visit),
    visit: (slot) => found.push(entries.keyAt(slot)),
  });
  const budget = new ReplyBudget();
  const elements: Reply[] = [];
  const { typeName, withTypes } = options;
  // A key is looked up again only if it may have expired or its type is needed.
  const isLookedUp = keyspace.hasExpiries || typeName !== undefined || withTypes;
  for (const key of found) {
    if (!options.matches(key)) continue;
    let name: string | undefined;
    if (isLookedUp) {
      // Only now: it may remove the key, and the table must not change during the scan.
      const value = keyspace.peek(key);
      if (value === undefined) continue;
      name = typeOf(value).name;
      if (typeName !== undefined && typeName !== name.toLowerCase()) continue;
    }
    budget.take(key.length);
    elements.push(key);
    if (withTypes && name !== undefined) elements.push(name);
  }
  return [String(next), elements];
}

/** A cursor as C's strtoul reads it, in the 32 bits that a table uses. Throws `invalidCursor`. */
export function readCursor(text: Bytes): number {
  if (text.length <= 9 && /^\d+$/.test(text)) return Number(text);
  // A C string ends at its first zero byte.
  const [digits = ""] = text.split("\x00", 1);
  if (!/^(?:[+-]?\d+)?$/.test(digits)) throw invalidCursor;
  const cursor = BigInt(digits.replace("+", ""));
  if (cursor > CURSOR_MAX || cursor < -CURSOR_MAX) throw invalidCursor;
  return Number(BigInt.asUintN(32, cursor));
}

const CURSOR_MAX = 2n ** 64n - 1n;

/** Reads the options from the word at `index` on. Throws `syntaxError` and `notInteger`. */
export function readScanOptions(call: Call, index: number, words: readonly ScanWord[]): ScanOptions {
  const { arg, word, argCount } = call;
  let count = COUNT_DEFAULT;
  let pattern: Bytes | undefined;
  let typeName: string | undefined;
  let withTypes = false;
  let withValues = true;
  for (let i = index; i < argCount; i += 1) {
    const option = word(i);
    const hasArgument = i + 1 < argCount;
    if (option === "COUNT" && hasArgument) {
      i += 1;
      count = call.count(i);
      if (count < 1) throw syntaxError;
    } else if (option === "MATCH" && hasArgument) {
      i += 1;
      pattern = arg(i);
    } else if (option === "TYPE" && hasArgument && words.includes("TYPE")) {
      i += 1;
      typeName = arg(i).toLowerCase();
    } else if (option === "WITHTYPE" && words.includes("WITHTYPE")) {
      withTypes = true;
    } else if (option === "NOVALUES" && words.includes("NOVALUES")) {
      withValues = false;
    } else {
      throw syntaxError;
    }
  }
  const isFiltered = pattern !== undefined || typeName !== undefined;
  return { count, isFiltered, matches: matcherOf(pattern), typeName, withTypes, withValues };
}

/** Whether an element matches the pattern; a lone star and no pattern match all, the empty name too. */
export function matcherOf(pattern: Bytes | undefined): (element: Bytes) => boolean {
  if (pattern === undefined || pattern === "*") return () => true;
  return (element) => matchesGlob(pattern, element);
}

/**
 * The steps of one call of a scan: until `count` elements were visited, or too many buckets were empty. Returns the
 * next cursor.
 */
export function scanSome(
  cursor: number,
  count: number,
  table: { step: (cursor: number, visit: (place: number) => void) => number; visit: (place: number) => void },
): number {
  const wanted = Math.min(count, COUNT_MAX);
  let visits = 0;
  const visit = (place: number): void => {
    visits += 1;
    table.visit(place);
  };
  let next = cursor;
  for (let steps = wanted * STEPS_PER_ELEMENT; steps > 0; steps -= 1) {
    next = table.step(next, visit);
    if (next === 0 || visits >= wanted) break;
  }
  return next;
}
