/**
 * Float32 to the shortest decimal that reads back as the same float32 and, of
 * those, the nearest: Schubfach (Giulietti, "The Schubfach way to render
 * doubles", 2020) for 24 bits. Spelled as JavaScript spells a number.
 *
 * A float is c * 2^q. Whatever lies between its two neighbours' middles reads
 * back as it. With 10^k the largest power of ten that is not wider than that
 * interval, the interval holds one or more multiples of 10^k, and of 10^(k+1)
 * one at most. All three bounds are scaled to units of 10^k / 4 and rounded to
 * odd (an inexact result gets its last bit set), which keeps every comparison
 * true.
 */
import { SCALES, TEXT, VALUES, WHOLE_POWERS } from "./float-text-memory";

const SIGNIFICAND_BITS: u32 = 23;
const HIDDEN_BIT: u32 = 1 << SIGNIFICAND_BITS;
const EXPONENT_MAX: u32 = 255;
/** Of the exponent, when the significand is read as a whole number. */
const BIAS: i32 = 150;
/** The power of ten at SCALES. */
const SCALE_MIN: i32 = -31;

/** Most digits of a float32. */
const DIGITS: i32 = 9;
/** Between these the digits are written out: as JavaScript does (ECMA-262, Number::toString). */
const POINT_MIN: i32 = -6;
const POINT_MAX: i32 = 21;

const EIGHT_ZEROS: u64 = 0x3030303030303030;
/** `0.000000`. */
const ZERO_POINT: u64 = 0x3030303030302e30;
/** `null`. */
const NULL: u32 = 0x6c6c756e;

/** Prints `count` floats from VALUES to TEXT with commas between them, and returns the bytes. What is not finite is null. */
export function printFloats(count: u32): u32 {
  let out = TEXT;
  for (let at = VALUES, end = VALUES + (<usize>count << 2); at < end; at += 4) {
    out = printFloat(load<u32>(at), out);
    store<u8>(out, 0x2c);
    out++;
  }
  return <u32>(out - TEXT) - u32(count > 0);
}

// @ts-ignore: decorator
@inline
function printFloat(bits: u32, out: usize): usize {
  const significand = bits & (HIDDEN_BIT - 1);
  const exponent = (bits >> SIGNIFICAND_BITS) & EXPONENT_MAX;
  // -0 prints as 0.
  if (!(bits << 1)) {
    store<u8>(out, 0x30);
    return out + 1;
  }
  if (exponent == EXPONENT_MAX) {
    store<u32>(out, NULL);
    return out + 4;
  }
  store<u8>(out, 0x2d);
  out += bits >> 31;

  const c = exponent ? significand | HIDDEN_BIT : significand;
  const q = exponent ? <i32>exponent - BIAS : 1 - BIAS;
  // Below a power of two the neighbours are twice as dense.
  const isLowerCloser = u32(!significand && exponent > 1);
  // The bounds themselves read back as c when c is even.
  const isOdd = c & 1;

  // floor(log10(2^q)), or of 3/4 of it.
  const k = (q * 1262611 - select<i32>(524031, 0, isLowerCloser)) >> 22;
  const shift = q + ((-k * 1741647) >> 19) + 1;
  const scale = load<u64>(SCALES + (<usize>(-k - SCALE_MIN) << 3));
  const middle = scaled(scale, (c << 2) << shift);
  const lower = scaled(scale, ((c << 2) - 2 + isLowerCloser) << shift) + isOdd;
  const upper = scaled(scale, ((c << 2) + 2) << shift) - isOdd;

  const s = middle >> 2;
  const tens = s / 10;
  // At most one multiple of ten lies inside.
  const isTenBelowInside = u32(lower <= 40 * tens);
  const isTenAboveInside = u32(40 * tens + 40 <= upper);
  const isTenInside = isTenBelowInside ^ isTenAboveInside;
  const isBelowInside = u32(lower <= s << 2);
  const isAboveInside = u32((s << 2) + 4 <= upper);
  const half = (s << 2) + 2;
  const isNearerAbove = u32(middle > half) | (u32(middle == half) & s & 1);
  const ones = s + select<u32>(isAboveInside, isNearerAbove, isBelowInside ^ isAboveInside);
  // No branches: which of these it is changes from number to number.
  return write(select<u32>(tens + isTenAboveInside, ones, isTenInside), k + <i32>isTenInside, out);
}

/** scale * factor / 2^64, rounded to odd. */
// @ts-ignore: decorator
@inline
function scaled(scale: u64, factor: u32): u32 {
  const low = (scale & 0xffffffff) * <u64>factor;
  const high = (scale >> 32) * <u64>factor + (low >> 32);
  return <u32>(high >> 32) | u32(<u32>high > 1);
}

/** Writes digits * 10^power, with digits from 1 to 999 999 999. May store up to 16 bytes behind what it returns. */
// @ts-ignore: decorator
@inline
function write(digits: u32, power: i32, out: usize): usize {
  const length = lengthOf(digits);
  const aligned = digits * powerOfTen(DIGITS - length);
  const head = aligned / 100000000;
  const tail = eightDigits(aligned - head * 100000000);
  const headByte = head + 0x30;
  const tailBytes = tail | EIGHT_ZEROS;
  // Zeros at the end are the high bytes of the tail.
  const count = DIGITS - (<i32>clz(tail) >> 3);
  // The decimal point stands behind that many digits.
  const point = power + length;

  if (point > POINT_MIN && point <= 0) {
    store<u64>(out, ZERO_POINT);
    out += 2 - point;
    store<u8>(out, headByte);
    store<u64>(out + 1, tailBytes);
    return out + count;
  }
  store<u8>(out, headByte);
  if (point > 0 && point <= POINT_MAX) {
    store<u64>(out + 1, tailBytes);
    if (count > point) {
      const fraction = load<u64>(out + point);
      store<u8>(out + point, 0x2e);
      store<u64>(out + point + 1, fraction);
      return out + count + 1;
    }
    store<u64>(out + 9, EIGHT_ZEROS);
    store<u64>(out + 17, EIGHT_ZEROS);
    return out + point;
  }
  if (count > 1) {
    store<u8>(out + 1, 0x2e);
    store<u64>(out + 2, tailBytes);
    out += count;
  }
  return writeExponent(point - 1, out + 1);
}

function writeExponent(exponent: i32, out: usize): usize {
  const size = <u32>abs(exponent);
  store<u8>(out, 0x65);
  store<u8>(out + 1, exponent < 0 ? 0x2d : 0x2b);
  out += 2;
  if (size >= 10) {
    store<u8>(out, size / 10 + 0x30);
    out++;
  }
  store<u8>(out, (size % 10) + 0x30);
  return out + 1;
}

/** Decimal digits of a number from 1. */
// @ts-ignore: decorator
@inline
function lengthOf(digits: u32): i32 {
  const guess = ((32 - <i32>clz(digits)) * 1233) >> 12;
  return guess + i32(digits >= powerOfTen(guess));
}

/** 10^0 to 10^9. */
// @ts-ignore: decorator
@inline
function powerOfTen(exponent: i32): u32 {
  return <u32>load<u64>(WHOLE_POWERS + (<usize>exponent << 3));
}

/** Eight decimal digits, one in a byte, the first in the lowest. Splits in halves, all lanes at once. */
// @ts-ignore: decorator
@inline
function eightDigits(value: u32): u64 {
  const high = value / 10000;
  const fours = <u64>high | (<u64>(value - high * 10000) << 32);
  const hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007f;
  const twos = hundreds | ((fours - hundreds * 100) << 16);
  const tens = ((twos * 103) >> 10) & 0x000f000f000f000f;
  return tens | ((twos - tens * 10) << 8);
}
