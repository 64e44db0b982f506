/**
 * Numbers as Redis 7.0 reads and prints them. Integers are strict: what is
 * accepted is exactly what printing the number gives back, so a counter can be
 * kept as its text. Doubles are whatever C's `strtod` takes. The 80-bit numbers
 * of INCRBYFLOAT are in `long-double.ts`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type BinaryFormat, parseBinaryFloat } from "./binary-float.ts";

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

const DOUBLE: BinaryFormat = { mantissaBits: 53, exponentMin: -1_074, magnitudeMax: 1_024 };

// Each alternative can match in one way only, so a failing text is refused in linear time.
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const NONZERO_MANTISSA = /^[^eE]*[1-9]/;

/**
 * The double that `bytes` spell, or undefined (`string2d` in Redis): decimal, hexadecimal, `inf` or `infinity` in any
 * case; no spaces, no NaN, nothing that overflows, nothing that is not zero but rounds to zero.
 */
export function parseFloat64(bytes: Bytes): number | undefined {
  if (!DECIMAL.test(bytes)) {
    const parsed = parseBinaryFloat(bytes, DOUBLE);
    // Exact: the mantissa has 53 bits at most and the exponent is in range. Infinity comes out of 2 ** Infinity.
    return parsed === undefined ? undefined : Number(parsed.mantissa) * 2 ** parsed.exponent;
  }
  const value = Number(bytes);
  if (value === 0) return NONZERO_MANTISSA.test(bytes) ? undefined : value;
  return Number.isFinite(value) ? value : undefined;
}

/** Significant digits of `%.17g`. */
const DOUBLE_DIGITS = 17;

/**
 * A double as Redis 7.0 replies it: `%.17g`, so 3.1 is `3.1000000000000001`, and `inf`, `-inf`. (Redis 7.2 prints the
 * shortest text instead.)
 */
export function formatDouble(value: number): Bytes {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? "-0" : `${value}`;
  if (!Number.isFinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";

  const [mantissa = "", exponentText = ""] = roundToEven(value).split("e");
  const exponent = Number(exponentText);
  const sign = value < 0 ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "").replace(/0+$/, "");
  if (exponent < -4 || exponent >= DOUBLE_DIGITS) {
    const exponentDigits = `${Math.abs(exponent)}`.padStart(2, "0");
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${exponentDigits}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return digits.length > exponent + 1 ? `${sign}${whole}.${digits.slice(exponent + 1)}` : `${sign}${whole}`;
}

/** `toExponential` to 17 digits, but a value exactly in the middle goes to the even digit, as in C, not away from zero. */
function roundToEven(value: number): string {
  const nearest = value.toExponential(DOUBLE_DIGITS - 1);
  // With one digit more a middle is exact: a double whose digits end there differs from any other by more than that.
  const longer = value.toExponential(DOUBLE_DIGITS);
  const end = longer.indexOf("e");
  if (longer[end - 1] !== "5" || Number(longer[end - 2]) % 2 === 1) return nearest;
  const lower = `${longer.slice(0, end - 1)}${longer.slice(end)}`;
  return isExact(value, longer) ? lower : nearest;
}

/** True if a text with 18 digits is the double itself and not only near it. */
function isExact(value: number, text: string): boolean {
  const padded = value.toExponential(100);
  return /^-?\d\.\d{17}0{83}e/.test(padded) && padded.startsWith(text.slice(0, text.indexOf("e")));
}
