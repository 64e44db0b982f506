/**
 * Code points as the analysis of a TEXT sees them: which ones belong to a word, and which one is the lower case of
 * another. Both are those of Unicode, by the tables of the JavaScript engine.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const WORD_CHARACTER = /^[\p{Alphabetic}\p{N}]$/u;

/** No code point of a word: also the result for bytes that are not UTF-8. */
export const SEPARATOR = -1;

/** By code point below U+10000: 0 until it was asked for, `SEPARATES`, or the lower case of a code point of a word. */
const known = new Uint16Array(0x1_0000);
/** U+0001 is the lower case of no code point of a word. */
const SEPARATES = 1;

/**
 * The lower case of a code point that belongs to a word, or `SEPARATOR`. One code point becomes one, as in the simple
 * mapping of Unicode: İ becomes i, and Σ becomes σ at the end of a word too.
 */
export function wordCharacter(codePoint: number): number {
  if (codePoint > 0xffff) return classified(codePoint);
  const lower = known[codePoint] as number;
  if (lower > SEPARATES) return lower;
  if (lower === SEPARATES) return SEPARATOR;
  const found = classified(codePoint);
  known[codePoint] = found === SEPARATOR ? SEPARATES : found;
  return found;
}

function classified(codePoint: number): number {
  return WORD_CHARACTER.test(String.fromCodePoint(codePoint)) ? lowerCaseOf(codePoint) : SEPARATOR;
}

/** The simple lower case of any code point. Where JavaScript gives two code points, the first is the simple one. */
export function lowerCaseOf(codePoint: number): number {
  return String.fromCodePoint(codePoint).toLowerCase().codePointAt(0) as number;
}

/** Not a code point: the byte does not begin a sequence of UTF-8. */
export const INVALID = -1;

/**
 * The code point that begins at `at`, from the first byte of its sequence, which is 128 or more. `INVALID` for a byte
 * that begins no sequence, for a sequence that is cut off, and for one that UTF-8 forbids.
 */
export function codePointAt(text: Bytes, at: number): number {
  const first = text.charCodeAt(at);
  if (first < 0xc2 || first > 0xf4) return INVALID;
  // Past the end the code unit is NaN, which ^ takes for 0, so that the result is not below 0x40 either.
  const second = text.charCodeAt(at + 1) ^ 0x80;
  if (second > 0x3f) return INVALID;
  if (first < 0xe0) return ((first & 0x1f) << 6) | second;
  const third = text.charCodeAt(at + 2) ^ 0x80;
  if (third > 0x3f) return INVALID;
  if (first < 0xf0) {
    const codePoint = ((first & 0x0f) << 12) | (second << 6) | third;
    return codePoint < 0x800 || (codePoint >= 0xd800 && codePoint < 0xe000) ? INVALID : codePoint;
  }
  const fourth = text.charCodeAt(at + 3) ^ 0x80;
  if (fourth > 0x3f) return INVALID;
  const codePoint = ((first & 0x07) << 18) | (second << 12) | (third << 6) | fourth;
  return codePoint < 0x1_0000 || codePoint > 0x10_ffff ? INVALID : codePoint;
}

/** The bytes of a code point in UTF-8. */
export function byteCountOf(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x1_0000 ? 3 : 4;
}
