/**
 * Numbers as the integers of C that Lua's functions take. Where Redis runs, a number is converted to 64 bits, and an
 * `int` has the lower 32 of them. In WebAssembly Lua's integers have 32 bits, and every number beyond them becomes the
 * lowest: a position of 2^32 + 1 would be -2^31 instead of 1, and a loop from there runs for minutes in one call.
 * A `long`, as which `tonumber` reads a text in another base, has 32 bits instead of 64 as well.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const INT_MIN = -(2 ** 31);
export const INT_MAX = 2 ** 31 - 1;
const INT64_MIN = -(2 ** 63);

/** True for a number that WebAssembly's Lua would convert to another integer. NaN is one. */
export function isBeyondInt(value: number): boolean {
  return !(value >= INT_MIN && value <= INT_MAX);
}

/** As C's `(int64_t)` on the machines of Redis: numbers that do not fit, and NaN, become the lowest. */
export function asInt64(value: number): number {
  return value >= INT64_MIN && value < -INT64_MIN ? Math.trunc(value) : INT64_MIN;
}

/** As C's `(int)(int64_t)` there. */
export function asInt(value: number): number {
  return asInt64(value) | 0;
}

/** As `asInt64` for a position in a string, then the nearest of 32 bits: no string is that long. */
export function asPosition(value: number): number {
  return Math.min(Math.max(asInt64(value), INT_MIN), INT_MAX);
}

const PARTS = /^[ \t\n\v\f\r]*([+-]?)([0-9a-zA-Z]+)/;
const HEX_MARK = /^0[xX]/;
const ULONG_MAX = 2n ** 64n - 1n;
/** Fewer digits than these are exact as a number in every base. */
const EXACT_DIGITS = 10;

/**
 * As C's `strtoul` reads it there: the number at the start of the text, whose digits must be of this base (2 to 36).
 * Beyond 64 bits it is the largest, and a `0x` without digits is not a number.
 */
export function readUnsigned(text: Bytes, base: number): number | undefined {
  const [, sign, written = "0"] = PARTS.exec(text) ?? [];
  const digits = base === 16 ? written.replace(HEX_MARK, "") : written;
  if (digits === "") return undefined;
  if (digits.length < EXACT_DIGITS && sign !== "-") return Number.parseInt(digits, base);
  let value = 0n;
  const factor = BigInt(base);
  for (const digit of digits) {
    value = value * factor + BigInt(Number.parseInt(digit, 36));
    if (value > ULONG_MAX) return Number(ULONG_MAX);
  }
  return Number(sign === "-" ? BigInt.asUintN(64, -value) : value);
}
