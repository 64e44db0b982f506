/**
 * Numbers as Redis reads them. Integers are strict: what is accepted is
 * exactly what printing the number gives back, so a counter can be kept as its
 * text.
 */
import type { Bytes } from "../../kernel/bytes.ts";

export const INTEGER_MIN = -(2n ** 63n);
export const INTEGER_MAX = 2n ** 63n - 1n;

/** Digits that always fit a safe integer. */
const SAFE_DIGITS = 15;
/** `-9223372036854775808`. */
const INTEGER_LENGTH_MAX = 20;

/**
 * The signed 64-bit integer that `bytes` spells, or undefined: no plus, no space, no leading zero, no `-0` (string2ll in
 * Redis). A number where that is exact, a bigint beyond ±(2^53 - 1).
 */
export function parseInteger(bytes: Bytes): number | bigint | undefined {
  const length = bytes.length;
  if (length === 0 || length > INTEGER_LENGTH_MAX) return undefined;
  let at = 0;
  let digit = bytes.charCodeAt(0) - 48;
  const negative = digit === -3; // "-"
  if (negative) {
    if (length === 1) return undefined;
    at = 1;
    digit = bytes.charCodeAt(1) - 48;
  }
  if (digit === 0) return length === 1 ? 0 : undefined;
  let value = 0;
  for (;;) {
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
    at += 1;
    if (at === length) break;
    digit = bytes.charCodeAt(at) - 48;
  }
  if (at <= SAFE_DIGITS || Number.isSafeInteger(value)) return negative ? -value : value;
  const exact = BigInt(bytes);
  return exact < INTEGER_MIN || exact > INTEGER_MAX ? undefined : exact;
}
