/**
 * Integers in any base, as C's `strtoul` reads them with a `long` of 64 bits, as
 * where Redis runs: in WebAssembly it has 32, and `tonumber(text, 16)` of nine
 * digits would be another number.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const PARTS = /^[ \t\n\v\f\r]*([+-]?)([0-9a-zA-Z]+)/;
const HEX_MARK = /^0[xX]/;
const ULONG_MAX = 2n ** 64n - 1n;
/** Fewer digits than these are exact as a number in every base. */
const EXACT_DIGITS = 10;

/**
 * The number at the start of the text, whose digits must be of this base (2 to 36). Beyond 64 bits it is the largest,
 * and a `0x` without digits is not a number.
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
