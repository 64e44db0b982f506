/**
 * Binary floating point of any precision in exact arithmetic: as `strtod` and
 * `strtold`, for texts that JavaScript cannot read (hexadecimal) and for the
 * 80-bit format that it does not have.
 *
 * A value is `mantissa * 2^exponent`; rounding is to nearest, ties to even.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

export interface BinaryFloat {
  /** Includes the sign. Zero has no sign here. */
  readonly mantissa: bigint;
  /** `Infinity` for ±infinity; the mantissa is then ±1. */
  readonly exponent: number;
}

export interface BinaryFormat {
  readonly mantissaBits: number;
  /** Exponent of the last bit of the smallest number. */
  readonly exponentMin: number;
  /** Every finite number is smaller than two to this power. */
  readonly magnitudeMax: number;
}

export const ZERO: BinaryFloat = { mantissa: 0n, exponent: 0 };

// Each alternative can match in one way only, so a failing text is refused in linear time.
const DECIMAL = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?$/;
const HEXADECIMAL = /^([+-]?)0[xX](?:([\da-fA-F]+)(?:\.([\da-fA-F]*))?|\.([\da-fA-F]+))(?:[pP]([+-]?\d+))?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/** Beyond any exponent that the digits of a bounded text could compensate. */
const EXPONENT_SIZE_MAX = 1e12;
/** log2(10), from below and from above. */
const BITS_PER_DIGIT_MIN = 3.3219;
const BITS_PER_DIGIT_MAX = 3.322;
/** More bits than any mantissa needs for rounding, in addition to a sticky bit. */
const GUARD_BITS = 2;

/**
 * The number of a whole text, in one of the forms of `strtod`: decimal, hexadecimal, `inf`, `infinity`. Undefined for
 * anything else, for NaN, and, as in Redis, for a finite number that overflows or that is not zero but rounds to zero.
 * No spaces.
 */
export function parseBinaryFloat(text: Bytes, format: BinaryFormat): BinaryFloat | undefined {
  const infinite = INFINITE.exec(text);
  if (infinite !== null) return { mantissa: infinite[1] === "-" ? -1n : 1n, exponent: Number.POSITIVE_INFINITY };

  const decimal = DECIMAL.exec(text);
  const parts = decimal ?? HEXADECIMAL.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole = "", fraction = parts[4] ?? "", , exponentText = "0"] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return ZERO;
  const exponent = Math.max(-EXPONENT_SIZE_MAX, Math.min(EXPONENT_SIZE_MAX, Number(exponentText)));
  const size =
    decimal === null
      ? roundBinary({ mantissa: BigInt(`0x${digits}`), exponent: exponent - 4 * fraction.length }, format)
      : roundDecimal(digits, exponent - fraction.length, format);
  if (size.mantissa === 0n || size.exponent === Number.POSITIVE_INFINITY) return undefined;
  return sign === "-" ? { mantissa: -size.mantissa, exponent: size.exponent } : size;
}

/** `digits * 10^exponent` in a format. `digits` is not zero. */
function roundDecimal(digits: Bytes, exponent: number, format: BinaryFormat): BinaryFloat {
  // The length of a power of ten grows with its exponent: decide the extreme cases without it.
  const magnitude = digits.length + exponent;
  if ((magnitude - 1) * BITS_PER_DIGIT_MIN > format.magnitudeMax && magnitude > 1)
    return { mantissa: 1n, exponent: Number.POSITIVE_INFINITY };
  if (magnitude * BITS_PER_DIGIT_MIN < format.exponentMin - GUARD_BITS && magnitude < 0) return ZERO;

  const mantissa = BigInt(digits);
  if (exponent >= 0) return roundBinary({ mantissa: mantissa * 10n ** BigInt(exponent), exponent: 0 }, format);
  // Enough bits for a full mantissa of the quotient; the remainder becomes a last, sticky bit.
  const divisor = 10n ** BigInt(-exponent);
  const shift = Math.max(0, format.mantissaBits + GUARD_BITS + Math.ceil(-magnitude * BITS_PER_DIGIT_MAX) + 4);
  const scaled = mantissa << BigInt(shift);
  const quotient = scaled / divisor;
  const sticky = quotient * divisor === scaled ? 0n : 1n;
  return roundBinary({ mantissa: (quotient << 1n) | sticky, exponent: -shift - 1 }, format);
}

/** The nearest number of a format, or infinity. */
export function roundBinary(value: BinaryFloat, format: BinaryFormat): BinaryFloat {
  const negative = value.mantissa < 0n;
  let size = negative ? -value.mantissa : value.mantissa;
  let exponent = value.exponent;
  const length = bitLength(size);
  if (length + exponent < format.exponentMin) return ZERO;
  if (length + exponent > format.magnitudeMax) {
    return { mantissa: negative ? -1n : 1n, exponent: Number.POSITIVE_INFINITY };
  }
  const dropped = Math.max(length - format.mantissaBits, format.exponentMin - exponent);
  if (dropped > 0) {
    const rest = BigInt.asUintN(dropped, size);
    const half = 1n << BigInt(dropped - 1);
    size >>= BigInt(dropped);
    exponent += dropped;
    if (rest > half || (rest === half && (size & 1n) === 1n)) size += 1n;
    if (bitLength(size) + exponent > format.magnitudeMax) exponent = Number.POSITIVE_INFINITY;
  }
  if (exponent === Number.POSITIVE_INFINITY) size = 1n;
  return { mantissa: negative ? -size : size, exponent };
}

/** The number of bits of a non-negative value; 0 for 0. */
function bitLength(value: bigint): number {
  if (value === 0n) return 0;
  const digits = value.toString(16);
  return digits.length * 4 - (Math.clz32(Number.parseInt(digits[0] ?? "", 16)) - 28);
}
