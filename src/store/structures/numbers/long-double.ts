/**
 * The 80-bit `long double` of x86, in which Redis adds for INCRBYFLOAT and
 * HINCRBYFLOAT, so that our sums agree with Redis' to the last digit
 * (threats A-12).
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { type BinaryFloat, type BinaryFormat, parseBinaryFloat, roundBinary } from "./binary-float.ts";

export type LongDouble = BinaryFloat;

const LONG_DOUBLE: BinaryFormat = { mantissaBits: 64, exponentMin: -16_445, magnitudeMax: 16_384 };

/** Redis reads the text into a buffer of 5 KiB, with a zero at its end. */
const TEXT_LENGTH_MAX = 5 * 1024 - 1;

/** Digits after the point that Redis prints. */
const FRACTION_DIGITS = 17;
const FRACTION_SCALE = 10n ** BigInt(FRACTION_DIGITS);

/** The number of a whole text, or undefined (`string2ld` in Redis). Infinities are numbers here, NaN is not. */
export function parseLongDouble(text: Bytes): LongDouble | undefined {
  return text.length > TEXT_LENGTH_MAX ? undefined : parseBinaryFloat(text, LONG_DOUBLE);
}

export function isInfinite(value: LongDouble): boolean {
  return value.exponent === Number.POSITIVE_INFINITY;
}

/** The sum, or undefined if it would be infinite or NaN. */
export function addLongDoubles(one: LongDouble, other: LongDouble): LongDouble | undefined {
  if (isInfinite(one) || isInfinite(other)) return undefined;
  const exponent = Math.min(one.exponent, other.exponent);
  const mantissa =
    (one.mantissa << BigInt(one.exponent - exponent)) + (other.mantissa << BigInt(other.exponent - exponent));
  const sum = roundBinary({ mantissa, exponent }, LONG_DOUBLE);
  return isInfinite(sum) ? undefined : sum;
}

export function negativeOf({ mantissa, exponent }: LongDouble): LongDouble {
  return { mantissa: -mantissa, exponent };
}

/** Negative if the first is less, positive if it is greater. */
export function compareLongDoubles(one: LongDouble, other: LongDouble): number {
  // Infinities have the mantissa 1 or -1.
  if (isInfinite(one) || isInfinite(other))
    return (isInfinite(one) ? Number(one.mantissa) : 0) - (isInfinite(other) ? Number(other.mantissa) : 0);
  const exponent = Math.min(one.exponent, other.exponent);
  const left = one.mantissa << BigInt(one.exponent - exponent);
  const right = other.mantissa << BigInt(other.exponent - exponent);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A finite number as Redis prints it for people: `%.17Lf` without trailing zeros, and never `-0`. */
export function formatLongDouble(value: LongDouble): Bytes {
  if (value.exponent >= 0) return (value.mantissa << BigInt(value.exponent)).toString();
  const negative = value.mantissa < 0n;
  const scaled = (negative ? -value.mantissa : value.mantissa) * FRACTION_SCALE;
  const dropped = -value.exponent;
  const rest = BigInt.asUintN(dropped, scaled);
  const half = 1n << BigInt(dropped - 1);
  let rounded = scaled >> BigInt(dropped);
  if (rest > half || (rest === half && (rounded & 1n) === 1n)) rounded += 1n;

  if (rounded === 0n) return "0";
  const digits = rounded.toString().padStart(FRACTION_DIGITS + 1, "0");
  const whole = digits.slice(0, -FRACTION_DIGITS);
  let end = FRACTION_DIGITS;
  const fraction = digits.slice(-FRACTION_DIGITS);
  while (end > 0 && fraction.charCodeAt(end - 1) === 0x30) end -= 1;
  return `${negative ? "-" : ""}${whole}${end > 0 ? `.${fraction.slice(0, end)}` : ""}`;
}
