/**
 * Prints a float32 as the shortest decimal that reads back as the same float32;
 * among those, the nearest; among two equally near, the even one. The spelling is
 * JavaScript's, but whole numbers end in `.0` and minus zero is `-0.0`, so that a
 * reader that distinguishes integers from floats finds a float.
 *
 * A float is c * 2^q. Every number less than half a unit 2^q away reads back as
 * it. With 10^k the largest power of ten that is not wider than that interval,
 * the interval holds one or more multiples of 10^k, and at most one of 10^(k+1):
 * the answer is that one, or the nearest of the others.
 *
 * Nearly always float64 decides: it has the float in units of 10^k to within
 * 2^-24, and the answer is safe if no deciding distance is that close to the
 * bound it is compared with. Other floats, about one in a million, and those with
 * an asymmetric interval (below a power of two the neighbour is half as far) use
 * Schubfach, which is exact (Giulietti, "The Schubfach way to render doubles",
 * 2020).
 */
import { FINITE_SCALES, SCALES, TEXT, VALUES, WHOLE_POWERS } from "./float-text-memory";

const SIGNIFICAND_BITS: u32 = 23;
const HIDDEN_BIT: u32 = 1 << SIGNIFICAND_BITS;
const EXPONENT_MAX: u32 = 255;
const SIGN: u32 = 0x80000000;
/** The bias of the exponent if the significand is a whole number. */
const BIAS: i32 = 150;
/** The power of ten at SCALES. */
const SCALE_MIN: i32 = -31;
/** 2^-20: closer distances are left to Schubfach. */
const DOUBT: f64 = 1.0 / 1_048_576.0;

/** A row of FINITE_SCALES: 10^-k, half a unit 2^q in units of 10^k, and k. */
const SCALE_ROW: u32 = 24;

/** The most digits of a float32. */
const DIGITS: i32 = 9;
/** Between these exponents the digits are written out, as in JavaScript (ECMA-262, Number::toString). */
const POINT_MIN: i32 = -6;
const POINT_MAX: i32 = 21;

const EIGHT_ZEROS: u64 = 0x3030303030303030;
/** `0.000000`. */
const ZERO_POINT: u64 = 0x3030303030302e30;
/** `.0`. */
const POINT_ZERO: u16 = 0x302e;
/** `0.0`, and a byte that is overwritten. */
const ZERO_TEXT: u32 = 0x00302e30;
/** `null`. */
const NULL: u32 = 0x6c6c756e;

/** Prints `count` floats from VALUES to TEXT, separated by commas, and returns the bytes. Infinity and NaN are null. */
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
  const exponent = (bits >> SIGNIFICAND_BITS) & EXPONENT_MAX;
  // Neither 0 nor 255, and the significand is not 0.
  if (exponent - 1 >= EXPONENT_MAX - 1 || !(bits & (HIDDEN_BIT - 1))) return printRare(bits, out);
  const row = FINITE_SCALES + <usize>(exponent * SCALE_ROW);
  const half = load<f64>(row + 8);
  const value = <f64>reinterpret<f32>(bits & ~SIGN) * load<f64>(row);
  const tens = nearest(value * 0.1) * 10;
  const ones = nearest(value);
  const tensMargin = half - abs(value - tens);
  const onesMargin = 0.5 - abs(value - ones);
  if (abs(tensMargin) < DOUBT || onesMargin < DOUBT) return printRare(bits, out);
  const digits = select<i32>(<i32>tens, <i32>ones, tensMargin > 0);

  store<u8>(out, 0x2d);
  out += bits >> 31;
  // From 2^23 to 10 * 2^24: seven digits, eight or nine.
  const hasEight = u32(digits >= 10000000);
  const hasNine = u32(digits >= 100000000);
  const factor = select<u32>(1, select<u32>(10, 100, hasEight), hasNine);
  return write(digits * factor, load<i32>(row + 16) + 7 + hasEight + hasNine, out);
}

/** Zeros, infinities and NaN, powers of two, floats of less precision, and doubtful cases. */
function printRare(bits: u32, out: usize): usize {
  if (!(bits << 1)) {
    store<u8>(out, 0x2d);
    out += bits >> 31;
    store<u32>(out, ZERO_TEXT);
    return out + 3;
  }
  const significand = bits & (HIDDEN_BIT - 1);
  const exponent = (bits >> SIGNIFICAND_BITS) & EXPONENT_MAX;
  if (exponent == EXPONENT_MAX) {
    store<u32>(out, NULL);
    return out + 4;
  }
  store<u8>(out, 0x2d);
  out += bits >> 31;

  const c = exponent ? significand | HIDDEN_BIT : significand;
  const q = exponent ? <i32>exponent - BIAS : 1 - BIAS;
  const isLowerCloser = u32(!significand && exponent > 1);
  // The bounds themselves read back as c if c is even.
  const isOdd = c & 1;

  // floor(log10(2^q)), or that of 3/4 of it.
  const k = (q * 1262611 - select<i32>(524031, 0, isLowerCloser)) >> 22;
  const shift = q + ((-k * 1741647) >> 19) + 1;
  const scale = load<u64>(SCALES + (<usize>(-k - SCALE_MIN) << 3));
  // All in units of 10^k / 4.
  const middle = scaled(scale, (c << 2) << shift);
  const lower = scaled(scale, ((c << 2) - 2 + isLowerCloser) << shift) + isOdd;
  const upper = scaled(scale, ((c << 2) + 2) << shift) - isOdd;

  const below = middle >> 2;
  const tens = below / 10;
  const isTenBelowInside = u32(lower <= 40 * tens);
  const isTenAboveInside = u32(40 * tens + 40 <= upper);
  if (isTenBelowInside != isTenAboveInside) return writeAny(tens + isTenAboveInside, k + 1, out);

  const isBelowInside = u32(lower <= below << 2);
  const isAboveInside = u32((below << 2) + 4 <= upper);
  if (isBelowInside != isAboveInside) return writeAny(below + isAboveInside, k, out);
  const half = (below << 2) + 2;
  const isNearerAbove = u32(middle > half) | (u32(middle == half) & below & 1);
  return writeAny(below + isNearerAbove, k, out);
}

/** scale * factor / 2^64, rounded to odd: an inexact result gets its last bit set, so that comparisons stay correct. */
// @ts-ignore: decorator
@inline
function scaled(scale: u64, factor: u32): u32 {
  const low = (scale & 0xffffffff) * <u64>factor;
  const high = (scale >> 32) * <u64>factor + (low >> 32);
  return <u32>(high >> 32) | u32(<u32>high > 1);
}

/** Writes digits * 10^power. */
function writeAny(digits: u32, power: i32, out: usize): usize {
  let length = 1;
  while (length < DIGITS && digits >= powerOfTen(length)) length++;
  return write(digits * powerOfTen(DIGITS - length), power + length, out);
}

// @ts-ignore: decorator
@inline
function powerOfTen(exponent: i32): u32 {
  return <u32>load<u64>(WHOLE_POWERS + (<usize>exponent << 3));
}

/** Writes nine digits, of which `point` are before the decimal point. May store up to 16 bytes after its result. */
// @ts-ignore: decorator
@inline
function write(digits: u32, point: i32, out: usize): usize {
  const head = digits / 100000000;
  const tail = eightDigits(digits - head * 100000000);
  const headByte = head + 0x30;
  const tailBytes = tail | EIGHT_ZEROS;
  // Trailing zeros are the high bytes of the tail.
  const count = DIGITS - (<i32>clz(tail) >> 3);

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
    store<u16>(out + point, POINT_ZERO);
    return out + point + 2;
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

/** Eight decimal digits, one in each byte, the first in the lowest. Splits in halves, all lanes at once. */
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
