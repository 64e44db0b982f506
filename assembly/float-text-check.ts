/**
 * Checks whether a value is JSON (exactly RFC 8259), where it ends, and facts that
 * its reader needs before. Nothing is built, and depth costs a byte for each
 * level, so that every document is cheap to refuse.
 */
import {
  ARRAY_END,
  ARRAY_START,
  BACKSLASH,
  COLON,
  COMMA,
  FIRST_PRINTABLE,
  MINUS,
  OBJECT_END,
  OBJECT_START,
  PLUS,
  POINT,
  QUOTE,
  SMALL_E,
  SMALL_U,
  STACK,
  ZERO,
  setFacts,
  skipSpace,
  stopAt,
} from "./float-text-memory";

/** Flags: a string has an escape; a number may be beyond float64; a number may have an unusual spelling. */
const HAS_ESCAPE: u32 = 1;
const HAS_LARGE_NUMBER: u32 = 2;
const HAS_ODD_NUMBER: u32 = 4;

/** Numbers of fewer bytes without an exponent are finite. */
const FINITE_BYTES: usize = 300;
/** A decimal of this many digits equals the printed float64, unless its fraction ends in a zero. */
const USUAL_DIGITS_MAX: usize = 15;
/** The most zeros after `0.` of a number that is printed without an exponent. */
const USUAL_ZEROS_MAX: usize = 5;

/** `true`, `null`, and `alse` of `false`, as words in memory. */
const TRUE: u32 = 0x65757274;
const NULL: u32 = 0x6c6c756e;
const ALSE: u32 = 0x65736c61;
const SMALL_F: u32 = 0x66;

/** Facts about the checked value: bytes of white space outside its strings, and flags. */
let spaces: u32 = 0;
let flags: u32 = 0;

/**
 * Returns the end of the value at `start`, or 0 if the call stopped at a wrong
 * byte; if the depth is above `depthMax`, that byte is valid but opens one level
 * too many. `depthMax` is at most 1023.
 */
export function checkValue(start: usize, depthMax: u32): usize {
  spaces = 0;
  flags = 0;
  let depth: u32 = 0;
  let deepest: u32 = 0;
  let at = start;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte == QUOTE) {
      at = checkString(at);
      if (!at) return 0;
    } else if (byte == OBJECT_START || byte == ARRAY_START) {
      depth++;
      if (depth > deepest) {
        deepest = depth;
        if (depth > depthMax) return tooDeepAt(at, depth);
      }
      // The closing byte.
      store<u8>(STACK + depth, byte + 2);
      at = skipCounting(at + 1);
      if (load<u8>(at) != byte + 2) {
        if (byte == ARRAY_START) continue;
        at = checkName(at);
        if (!at) return 0;
        continue;
      }
      depth--;
      at++;
    } else if (byte == MINUS || byte - ZERO <= 9) {
      at = checkNumber(at);
      if (!at) return 0;
    } else if (load<u32>(at) == TRUE || load<u32>(at) == NULL) at += 4;
    else if (byte == SMALL_F && load<u32>(at + 1) == ALSE) at += 5;
    else return wrongAt(at);

    // A value has ended, so the enclosing one may end too.
    while (true) {
      if (!depth) {
        setFacts(deepest, spaces, flags);
        return at;
      }
      at = skipCounting(at);
      const byte: u32 = load<u8>(at);
      const closing: u32 = load<u8>(STACK + depth);
      at++;
      if (byte == COMMA) {
        at = skipCounting(at);
        if (closing == OBJECT_END) {
          at = checkName(at);
          if (!at) return 0;
        }
        break;
      }
      if (byte != closing) return wrongAt(at - 1);
      depth--;
    }
  }
}

// @ts-ignore: decorator
@inline
function skipCounting(at: usize): usize {
  const end = skipSpace(at);
  spaces += <u32>(end - at);
  return end;
}

function wrongAt(at: usize): usize {
  return tooDeepAt(at, 0);
}

function tooDeepAt(at: usize, depth: u32): usize {
  stopAt(at);
  setFacts(depth, 0, 0);
  return 0;
}

/** Checks a member's name and its colon. Returns the start of the value, or 0. */
function checkName(start: usize): usize {
  if (load<u8>(start) != QUOTE) return wrongAt(start);
  let at = checkString(start);
  if (!at) return 0;
  at = skipCounting(at);
  return load<u8>(at) == COLON ? skipCounting(at + 1) : wrongAt(at);
}

/** The end of the string whose quote is at `start`, or 0. */
function checkString(start: usize): usize {
  let at = start + 1;
  while (true) {
    const block = v128.load(at);
    const marks = v128.or(
      v128.or(i8x16.eq(block, i8x16.splat(<i8>QUOTE)), i8x16.eq(block, i8x16.splat(<i8>BACKSLASH))),
      i8x16.lt_u(block, i8x16.splat(<i8>FIRST_PRINTABLE)),
    );
    const mask = i8x16.bitmask(marks);
    if (!mask) {
      at += 16;
      continue;
    }
    at += ctz(mask);
    const byte: u32 = load<u8>(at);
    if (byte == QUOTE) return at + 1;
    if (byte != BACKSLASH) return wrongAt(at);
    flags |= HAS_ESCAPE;
    const escaped: u32 = load<u8>(at + 1);
    if (escaped == SMALL_U) {
      for (let digit: usize = 2; digit < 6; digit++) {
        if (!isHexDigit(load<u8>(at + digit))) return wrongAt(at + digit);
      }
      at += 6;
    } else {
      if (!isEscape(escaped)) return wrongAt(at + 1);
      at += 2;
    }
  }
}

/** The bytes of `"\/bfnrt`. */
// @ts-ignore: decorator
@inline
function isEscape(byte: u32): bool {
  return (
    byte == QUOTE ||
    byte == BACKSLASH ||
    byte == 0x2f ||
    byte == 0x62 ||
    byte == 0x66 ||
    byte == 0x6e ||
    byte == 0x72 ||
    byte == 0x74
  );
}

// @ts-ignore: decorator
@inline
function isHexDigit(byte: u32): bool {
  return byte - ZERO <= 9 || (byte | 0x20) - 0x61 <= 5;
}

/** The end of the number at `start`, or 0. */
function checkNumber(start: usize): usize {
  const isNegative = load<u8>(start) == MINUS;
  const first = start + usize(isNegative);
  let at = first;
  const isBelowOne = load<u8>(at) == ZERO;
  if (isBelowOne) at++;
  else {
    at = checkDigits(at);
    if (!at) return 0;
  }
  if (load<u8>(at) == POINT) {
    const fraction = at + 1;
    at = checkDigits(fraction);
    if (!at) return 0;
    // The point is not a digit.
    if (load<u8>(at - 1) == ZERO || at - first - 1 > USUAL_DIGITS_MAX) flags |= HAS_ODD_NUMBER;
    else if (isBelowOne) {
      let digit = fraction;
      while (load<u8>(digit) == ZERO) digit++;
      if (digit - fraction > USUAL_ZEROS_MAX) flags |= HAS_ODD_NUMBER;
    }
  } else if ((isBelowOne && isNegative) || at - first > USUAL_DIGITS_MAX) flags |= HAS_ODD_NUMBER;
  if ((<u32>load<u8>(at) | 0x20) == SMALL_E) {
    flags |= HAS_LARGE_NUMBER | HAS_ODD_NUMBER;
    const sign: u32 = load<u8>(at + 1);
    at = checkDigits(at + 1 + usize(sign == MINUS || sign == PLUS));
    if (!at) return 0;
  }
  if (at - start >= FINITE_BYTES) flags |= HAS_LARGE_NUMBER;
  return at;
}

/** The end of one or more digits, or 0. */
function checkDigits(start: usize): usize {
  let at = start;
  while (<u32>load<u8>(at) - ZERO <= 9) at++;
  return at == start ? wrongAt(at) : at;
}
