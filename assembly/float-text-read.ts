/**
 * Reads lists of JSON numbers into VALUES. A float32 has the same bits as the
 * rounded float64 of the text: `Math.fround(Number(text))`.
 *
 * The first 16 to 19 significant digits are a whole number w. Up to 2^53, and
 * times a power of ten up to 10^22, one operation gives the float64 exactly
 * (Clinger, "How to read floating point numbers accurately", 1990). Otherwise
 * w, the power and the operation are each off by at most half a unit, and dropped
 * digits weigh less than 10^-15: the float64 is within MARGIN of the product.
 * Rounding never reverses an order, so if both ends of that interval round to
 * one float32, it is the answer. Otherwise, once in millions, the host reads the
 * text.
 *
 * Only lists of numbers are accepted: for anything else a function returns the
 * error, and `checkValue` shows whether it was JSON.
 */
import {
  ARRAY_END,
  ARRAY_START,
  COMMA,
  MINUS,
  PLUS,
  POINT,
  POWERS,
  SMALL_E,
  VALUES,
  VALUES_MAX,
  WHOLE_POWERS,
  ZERO,
  setFaultIndex,
  skipSpace,
  stopAt,
} from "./float-text-memory";

/** `Number` of the document's text from `start` to `end`. */
// @ts-ignore: decorator
@external("host", "numberAt")
declare function numberAt(start: usize, end: usize): f64;

const NO_LIST: i32 = -1;
const NO_NUMBER: i32 = -2;
const OUT_OF_RANGE: i32 = -3;
const TOO_MANY: i32 = -4;

/** The most digits that always fit into 64 bits. */
const DIGITS_MAX: u32 = 19;
/** Digits after the point that are read at once; later ones are too small to matter. */
const BLOCK_DIGITS: u32 = 16;
const EXACT_MAX: u64 = 1 << 53;
const EXACT_POWER_MAX: i64 = 22;
/** 10^-65 times 19 digits rounds to 0, 10^39 times 1 is beyond float32. */
const POWER_MIN: i64 = -64;
const POWER_MAX: i64 = 38;
/** 2^-48. */
const MARGIN: f64 = 1.0 / 281_474_976_710_656.0;
/** Exponents are not read further beyond this; no document has this many digits. */
const EXPONENT_MAX: i64 = 1_000_000_000_000;

const EIGHT_ZEROS: u64 = 0x3030303030303030;
const HIGH_BITS: u64 = 0x8080808080808080;
/** Added to a digit's value, the sum stays below the high bit; added to 10, it reaches it. */
const ABOVE_NINE: u64 = 0x7676767676767676;

/** The end of the last number read, or 0. */
let numberEnd: usize = 0;

/** Reads a list at `start` into VALUES. Returns the count of values, at most `countMax`, or the error. */
export function readFloats(start: usize, countMax: u32): i32 {
  if (load<u8>(start) != ARRAY_START) return fail(NO_LIST, start, 0);
  let at = skipSpace(start + 1);
  if (load<u8>(at) == ARRAY_END) {
    stopAt(at + 1);
    return 0;
  }
  let count: u32 = 0;
  while (true) {
    if (count == countMax || count == VALUES_MAX) return fail(TOO_MANY, at, count);
    const value = readFloat(at);
    if (!numberEnd) return fail(NO_NUMBER, at, count);
    // Infinity minus itself is NaN, and so is NaN minus itself.
    if (value - value != 0) return fail(OUT_OF_RANGE, at, count);
    store<f32>(VALUES + (<usize>count << 2), value);
    count++;
    at = numberEnd;
    let byte: u32 = load<u8>(at);
    if (byte != COMMA) {
      at = skipSpace(at);
      byte = load<u8>(at);
      if (byte == ARRAY_END) {
        stopAt(at + 1);
        return count;
      }
      if (byte != COMMA) return fail(NO_NUMBER, at, count);
    }
    at = skipSpace(at + 1);
  }
}

/** The same for whole numbers of 32 bits with sign; `1.0` and `1e2` are whole. */
export function readWholeNumbers(start: usize, countMax: u32): i32 {
  if (load<u8>(start) != ARRAY_START) return fail(NO_LIST, start, 0);
  let at = skipSpace(start + 1);
  if (load<u8>(at) == ARRAY_END) {
    stopAt(at + 1);
    return 0;
  }
  let count: u32 = 0;
  while (true) {
    if (count == countMax || count == VALUES_MAX) return fail(TOO_MANY, at, count);
    readFloat(at);
    if (!numberEnd) return fail(NO_NUMBER, at, count);
    const value = wholeNumberAt(at, numberEnd);
    if (value != nearest(value) || value < -2147483648 || value > 2147483647) return fail(OUT_OF_RANGE, at, count);
    store<i32>(VALUES + (<usize>count << 2), <i32>value);
    count++;
    at = skipSpace(numberEnd);
    const byte: u32 = load<u8>(at);
    if (byte == ARRAY_END) {
      stopAt(at + 1);
      return count;
    }
    if (byte != COMMA) return fail(NO_NUMBER, at, count);
    at = skipSpace(at + 1);
  }
}

function fail(failure: i32, at: usize, index: u32): i32 {
  stopAt(at);
  setFaultIndex(index);
  return failure;
}

/** The value of a number's text; most texts are only a few digits. */
function wholeNumberAt(start: usize, end: usize): f64 {
  const isNegative = load<u8>(start) == MINUS;
  const first = start + usize(isNegative);
  if (end - first > 15) return numberAt(start, end);
  let value: i64 = 0;
  for (let at = first; at < end; at++) {
    const digit = <u32>load<u8>(at) - ZERO;
    if (digit > 9) return numberAt(start, end);
    value = value * 10 + digit;
  }
  return <f64>(isNegative ? -value : value);
}

/** The number at `start` (RFC 8259 section 6). Sets `numberEnd` to its end, or to 0 if there is no number. */
// @ts-ignore: decorator
@inline
function readFloat(start: usize): f32 {
  let at = start;
  const isNegative = load<u8>(at) == MINUS;
  at += usize(isNegative);

  // The whole part: 0, or digits whose first is not 0.
  let digits: u64 = 0;
  let power: i64 = 0;
  let digitCount: u32 = 0;
  let isCut = false;
  let digit: u32 = <u32>load<u8>(at) - ZERO;
  if (digit > 9) {
    numberEnd = 0;
    return 0;
  }
  at++;
  if (digit) {
    digitCount = 1;
    digits = digit;
    for (; (digit = <u32>load<u8>(at) - ZERO) <= 9; at++) {
      if (digitCount < DIGITS_MAX) {
        digits = digits * 10 + digit;
        digitCount++;
      } else {
        power++;
        isCut = true;
      }
    }
  }

  let byte: u32 = load<u8>(at);
  if (byte == POINT) {
    at++;
    const fraction = at;
    if (!digits) while (load<u8>(at) == ZERO) at++;
    const block = i8x16.sub(v128.load(at), i8x16.splat(<i8>ZERO));
    const count = <u32>ctz(i8x16.bitmask(i8x16.gt_u(block, i8x16.splat(9))) | (1 << BLOCK_DIGITS));
    const kept = min(count, DIGITS_MAX - digitCount);
    // Leading zeros: swizzle gives 0 for indices outside of the block.
    const aligned = i8x16.swizzle(block, i8x16.add(ramp(), i8x16.splat(<i8>(kept - BLOCK_DIGITS))));
    digits = digits * load<u64>(WHOLE_POWERS + (<usize>kept << 3)) + sixteenDigits(aligned);
    power -= <i64>(at - fraction + kept);
    at += count;
    if (count == BLOCK_DIGITS) {
      const end = skipDigits(at);
      isCut = isCut || end != at;
      at = end;
    }
    isCut = isCut || kept < count;
    if (at == fraction) {
      numberEnd = 0;
      return 0;
    }
    byte = load<u8>(at);
  }

  if ((byte | 0x20) == SMALL_E) {
    at++;
    byte = load<u8>(at);
    const isExponentNegative = byte == MINUS;
    if (isExponentNegative || byte == PLUS) at++;
    digit = <u32>load<u8>(at) - ZERO;
    if (digit > 9) {
      numberEnd = 0;
      return 0;
    }
    let exponent: i64 = 0;
    for (; (digit = <u32>load<u8>(at) - ZERO) <= 9; at++) {
      if (exponent < EXPONENT_MAX) exponent = exponent * 10 + digit;
    }
    power += isExponentNegative ? -exponent : exponent;
  }
  numberEnd = at;

  if (!digits || power < POWER_MIN) return signed(0, isNegative);
  if (power > POWER_MAX) return Infinity;
  const value = scaledBy(<f64>digits, power);
  const low = <f32>(value * (1 - MARGIN));
  const high = <f32>(value * (1 + MARGIN));
  if (low == high) return signed(low, isNegative);
  const isExact =
    digits <= EXACT_MAX && power >= -EXACT_POWER_MAX && power <= EXACT_POWER_MAX && !isCut;
  return isExact ? signed(<f32>value, isNegative) : <f32>numberAt(start, at);
}

/** Sets the sign by its bit: a branch would be mispredicted for half of all numbers. */
// @ts-ignore: decorator
@inline
function signed(value: f32, isNegative: bool): f32 {
  return reinterpret<f32>(reinterpret<u32>(value) | (u32(isNegative) << 31));
}

// @ts-ignore: decorator
@inline
function scaledBy(value: f64, power: i64): f64 {
  return power < 0 ? value / load<f64>(POWERS - (<usize>power << 3)) : value * load<f64>(POWERS + (<usize>power << 3));
}

/** The end of the digits at `at`. Reads eight at a time, because the count varies from number to number. */
// @ts-ignore: decorator
@inline
function skipDigits(at: usize): usize {
  while (true) {
    const block = load<u64>(at) ^ EIGHT_ZEROS;
    const others = ((block + ABOVE_NINE) | block) & HIGH_BITS;
    if (others) return at + (<usize>ctz(others) >> 3);
    at += 8;
  }
}

/** The number of sixteen digits, one in each byte, the first in the lowest. Joins pairs, then fours, then eights. */
// @ts-ignore: decorator
@inline
function sixteenDigits(block: v128): u64 {
  const pairs = i16x8.add(
    i16x8.mul(v128.and(block, i16x8.splat(0x00ff)), i16x8.splat(10)),
    i16x8.shr_u(block, 8),
  );
  const fours = i32x4.dot_i16x8_s(pairs, i16x8(100, 1, 100, 1, 100, 1, 100, 1));
  const eights = i32x4.dot_i16x8_s(
    i16x8.narrow_i32x4_u(fours, fours),
    i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1),
  );
  return <u64>(<u32>i32x4.extract_lane(eights, 0)) * 100000000 + <u64>(<u32>i32x4.extract_lane(eights, 1));
}

/** The bytes 0 to 15. */
// @ts-ignore: decorator
@inline
function ramp(): v128 {
  return i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
