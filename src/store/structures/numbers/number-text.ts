/**
 * Numbers as Redis 7.0 reads and prints them. Integers are strict: only the
 * printed form of a number is accepted, so a counter can be stored as its text.
 * Doubles are all texts that C's `strtod` accepts. The 80-bit numbers of
 * INCRBYFLOAT are in `long-double.ts`.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { type BinaryFormat, parseBinaryFloat } from "./binary-float.ts";

export const INTEGER_MIN = -(2n ** 63n);
export const INTEGER_MAX = 2n ** 63n - 1n;

/** Digits that always fit 32 bits with a sign. */
const INT32_DIGITS = 9;
/** Digits that always fit a safe integer. */
const SAFE_DIGITS = 15;
/** `-9223372036854775808`. */
const INTEGER_LENGTH_MAX = 20;

/**
 * The signed 64-bit integer of `bytes`, or undefined: no plus, no space, no leading zero, no `-0` (string2ll in Redis).
 * A number if that is exact, a bigint beyond ±(2^53 - 1). `start`: where it begins in `bytes`.
 */
export function parseInteger(bytes: Bytes, start = 0): number | bigint | undefined {
  const { length } = bytes;
  if (length === start || length - start > INTEGER_LENGTH_MAX) return undefined;
  let at = start;
  let digit = bytes.charCodeAt(at) - 48;
  const negative = digit === -3; // "-"
  if (negative) {
    at += 1;
    if (length === at) return undefined;
    digit = bytes.charCodeAt(at) - 48;
  }
  if (digit === 0) return length - start === 1 ? 0 : undefined;
  let value = 0;
  if (length - at <= INT32_DIGITS) {
    // Most are short: machine integers take a fraction of doubles.
    for (;;) {
      if (digit < 0 || digit > 9) return undefined;
      value = (Math.imul(value, 10) + digit) | 0;
      at += 1;
      if (at === length) return negative ? -value : value;
      digit = bytes.charCodeAt(at) - 48;
    }
  }
  for (;;) {
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
    at += 1;
    if (at === length) break;
    digit = bytes.charCodeAt(at) - 48;
  }
  if (at - start <= SAFE_DIGITS || Number.isSafeInteger(value)) return negative ? -value : value;
  const exact = BigInt(bytes.slice(start));
  return exact < INTEGER_MIN || exact > INTEGER_MAX ? undefined : exact;
}

const DOUBLE: BinaryFormat = { mantissaBits: 53, exponentMin: -1_074, magnitudeMax: 1_024 };

// Each alternative can match in one way only, so a failing text is refused in linear time.
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const NONZERO_MANTISSA = /^[^eE]*[1-9]/;

/**
 * The double of `bytes`, or undefined (`string2d` in Redis): decimal, hexadecimal, `inf` or `infinity` in any case; no
 * spaces, no NaN, no overflow, nothing that is not zero but rounds to zero.
 */
export function parseFloat64(bytes: Bytes): number | undefined {
  // Most are integers, and exact ones read the same in either way.
  const integer = parseInteger(bytes);
  if (typeof integer === "number") return integer;
  if (!DECIMAL.test(bytes)) {
    const parsed = parseBinaryFloat(bytes, DOUBLE);
    // Exact: the mantissa has at most 53 bits and the exponent is in range. 2 ** Infinity is Infinity.
    return parsed === undefined ? undefined : Number(parsed.mantissa) * 2 ** parsed.exponent;
  }
  const value = Number(bytes);
  if (value === 0) return NONZERO_MANTISSA.test(bytes) ? undefined : value;
  return Number.isFinite(value) ? value : undefined;
}

/**
 * A double in a reply: the shortest text that reads back as the same number, as Redis prints them since 7.2, and `inf`,
 * `-inf`. Printed by JavaScript, so that a client that compares a number with its own spelling of it recognizes it as a
 * number.
 */
export function formatDouble(value: number): Bytes {
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : `${value}`;
  return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
}
