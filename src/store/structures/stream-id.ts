/**
 * The id of a stream entry: milliseconds and a sequence number, each an
 * unsigned 64-bit integer, in the order of the pair.
 *
 * (1) A part is a number if that is exact, and a bigint beyond 2^53 - 1. So `<`
 *     compares any two parts, and `===` tests equality.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";

/** An unsigned 64-bit integer: (1). */
export type Whole = number | bigint;

export interface StreamId {
  readonly ms: Whole;
  readonly seq: Whole;
}

export const WHOLE_MAX = 2n ** 64n - 1n;
export const ID_MIN: StreamId = Object.freeze({ ms: 0, seq: 0 });
export const ID_MAX: StreamId = Object.freeze({ ms: WHOLE_MAX, seq: WHOLE_MAX });

/** Longer texts are not ids, as in Redis. */
const TEXT_LENGTH_MAX = 127;
/** Digits that always fit a safe integer. */
const SAFE_DIGITS = 15;
/** `-` */
const DASH = 45;

/** Negative if `one` comes first, zero if they are equal. */
export function compareIds(one: StreamId, other: StreamId): number {
  if (one.ms !== other.ms) return one.ms < other.ms ? -1 : 1;
  if (one.seq === other.seq) return 0;
  return one.seq < other.seq ? -1 : 1;
}

export function isZeroId(id: StreamId): boolean {
  return id.ms === 0 && id.seq === 0;
}

/** As clients see it. */
export function formatId({ ms, seq }: StreamId): Bytes {
  return `${ms}-${seq}`;
}

/** The next id, or undefined after the last. */
export function idAfter({ ms, seq }: StreamId): StreamId | undefined {
  if (seq !== WHOLE_MAX) return { ms, seq: plusOne(seq) };
  return ms === WHOLE_MAX ? undefined : { ms: plusOne(ms), seq: 0 };
}

/** The previous id, or undefined before the first. */
export function idBefore({ ms, seq }: StreamId): StreamId | undefined {
  if (seq !== 0) return { ms, seq: minusOne(seq) };
  return ms === 0 ? undefined : { ms: minusOne(ms), seq: WHOLE_MAX };
}

export function plusOne(whole: Whole): Whole {
  return typeof whole === "number" && whole < Number.MAX_SAFE_INTEGER ? whole + 1 : wholeOf(BigInt(whole) + 1n);
}

function minusOne(whole: Whole): Whole {
  return typeof whole === "number" ? whole - 1 : wholeOf(whole - 1n);
}

/** Keeps (1). */
export function wholeOf(value: bigint): Whole {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/** `ms`, `ms-seq`, or `-` and `+` for the ends; undefined for anything else. `missingSeq` replaces an absent seq. */
export function parseId(text: Bytes, missingSeq: Whole): StreamId | undefined {
  if (text === "-") return ID_MIN;
  if (text === "+") return ID_MAX;
  return parseExactId(text, missingSeq);
}

/** As `parseId` without `-` and `+`. */
export function parseExactId(text: Bytes, missingSeq: Whole): StreamId | undefined {
  const dash = digitCountFrom(text, 0);
  if (dash > 0 && dash <= SAFE_DIGITS && text.charCodeAt(dash) === DASH) {
    const seqDigits = digitCountFrom(text, dash + 1);
    if (seqDigits > 0 && seqDigits <= SAFE_DIGITS && dash + 1 + seqDigits === text.length)
      return { ms: digitsFrom(text, 0, dash), seq: digitsFrom(text, dash + 1, text.length) };
  }
  return parseRareId(text, missingSeq);
}

/** The number of decimal digits from an index on. */
function digitCountFrom(text: Bytes, start: number): number {
  let at = start;
  // The index is checked first: a char code after the end is NaN, and costs far more.
  while (at < text.length && isDigit(text.charCodeAt(at))) at += 1;
  return at - start;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** The value of the digits from `start` up to, not including, `end`: at most `SAFE_DIGITS`. */
function digitsFrom(text: Bytes, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + text.charCodeAt(at) - 48;
  return value;
}

/** Any text but two short numbers. */
function parseRareId(text: Bytes, missingSeq: Whole): StreamId | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  const ms = parseWhole(parts.ms);
  const seq = parts.seq === undefined ? missingSeq : parseWhole(parts.seq);
  return ms === undefined || seq === undefined ? undefined : { ms, seq };
}

/** As `parseExactId`; `seq` is absent for `ms-*`: the stream chooses it. */
export function parseAddedId(text: Bytes): { readonly ms: Whole; readonly seq: Whole | undefined } | undefined {
  const parts = partsOf(text);
  if (parts?.seq !== "*") return parseExactId(text, 0);
  const ms = parseWhole(parts.ms);
  return ms === undefined ? undefined : { ms, seq: undefined };
}

function partsOf(text: Bytes): { ms: Bytes; seq: Bytes | undefined } | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const end = text.indexOf("\x00");
  // As in Redis, which reads up to the first zero byte.
  const whole = end < 0 ? text : text.slice(0, end);
  const dash = whole.indexOf("-");
  return dash < 0 ? { ms: whole, seq: undefined } : { ms: whole.slice(0, dash), seq: whole.slice(dash + 1) };
}

const CANONICAL_NEGATIVE = /^-[1-9]\d*$/;
/** The texts that C's `strtoull` accepts. */
const C_UNSIGNED = /^[ \t\n\v\f\r]*([+-]?)(\d+)$/;

function parseWhole(text: Bytes): Whole | undefined {
  const { length } = text;
  if (length === 0) return undefined;
  if (length <= SAFE_DIGITS && digitCountFrom(text, 0) === length) return digitsFrom(text, 0, length);
  if (CANONICAL_NEGATIVE.test(text) && BigInt(text) >= -(2n ** 63n)) return undefined;
  const [, sign, digits] = C_UNSIGNED.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const value = BigInt(digits);
  if (value > WHOLE_MAX) return undefined;
  // As in C: a negative number wraps around.
  return wholeOf(sign === "-" && value > 0n ? WHOLE_MAX + 1n - value : value);
}

/** Writes an id into a record: mostly three short numbers. */
export function writeId(record: FrameWriter, id: StreamId): void {
  const { ms, seq } = id;
  if (typeof ms === "number" && typeof seq === "number") record.number(0).number(ms).number(seq);
  else record.number(1).bytes(formatId(id));
}

export function readId(record: FrameReader): StreamId {
  if (record.number() === 0) return { ms: record.number(), seq: record.number() };
  const [ms = "", seq = ""] = record.bytes().split("-");
  return { ms: wholeOf(BigInt(ms)), seq: wholeOf(BigInt(seq)) };
}
