/**
 * The content of long strings as JSON has it and as bytes, in this module's own
 * memory, a piece at a time:
 *
 *     0      | nothing                                                           |
 *     RESULT | where `unescape` stopped in the input, and why: two words         |
 *     INPUT  | a piece of at most PIECE_BYTES, and any SLACK_BYTES after it       |
 *     OUTPUT | its other form: six bytes for each byte at most, and SLACK_BYTES   |
 *
 * (1) Blocks of 16 bytes are loaded and stored across the ends of both, within
 *     the slack; what a load finds after the end is ignored.
 * (2) Bytes from 0x80 on are copied: the host knows that they are UTF-8.
 */
export const PIECE_BYTES: u32 = 65_536;
const SLACK_BYTES: usize = 64;
export const RESULT: usize = 16;
export const INPUT: usize = 1_024;
export const OUTPUT: usize = INPUT + PIECE_BYTES + SLACK_BYTES;
/** The host makes the memory this large. */
export const MEMORY_BYTES: usize = OUTPUT + 6 * PIECE_BYTES + SLACK_BYTES;

const QUOTE: u32 = 0x22;
const BACKSLASH: u32 = 0x5c;
const SMALL_U: u32 = 0x75;
/** Lower bytes are escaped in a string. */
const FIRST_PRINTABLE: u32 = 0x20;

/** Writes the input as `JSON.stringify` does between its quotes. Returns the number of written bytes. */
export function escape(length: u32): u32 {
  let to = OUTPUT;
  const end = INPUT + length;
  for (let block = INPUT; block < end; block += 16) {
    const blockEnd = min(block + 16, end);
    const bytes = v128.load(block);
    v128.store(to, bytes);
    let marks = marksIn(bytes, blockEnd - block);
    let from = block;
    // The bytes between two marks are stored as a whole block, whose rest is overwritten.
    while (marks != 0) {
      const mark = block + ctz(marks);
      marks &= marks - 1;
      to = writeEscape(to + (mark - from), load<u8>(mark));
      from = mark + 1;
      v128.store(to, v128.load(from));
    }
    to += blockEnd - from;
  }
  return <u32>(to - OUTPUT);
}

/** The length of what `escape` would write. */
export function escapedLength(length: u32): u32 {
  const end = INPUT + length;
  let result = length;
  for (let block = INPUT; block < end; block += 16) {
    const bytes = v128.load(block);
    result += popcnt(marksIn(bytes, end - block));
    let controls = within(i8x16.lt_u(bytes, i8x16.splat(<i8>FIRST_PRINTABLE)), end - block);
    for (; controls != 0; controls &= controls - 1) if (letterOf(load<u8>(block + ctz(controls))) == 0) result += 4;
  }
  return result;
}

/** A bit for each of the next `left` bytes that is escaped. */
// @ts-ignore: decorator
@inline
function marksIn(bytes: v128, left: usize): u32 {
  const isMarked = v128.or(
    v128.or(i8x16.eq(bytes, i8x16.splat(<i8>QUOTE)), i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH))),
    i8x16.lt_u(bytes, i8x16.splat(<i8>FIRST_PRINTABLE)),
  );
  return within(isMarked, left);
}

// @ts-ignore: decorator
@inline
function within(lanes: v128, left: usize): u32 {
  const bits: u32 = i8x16.bitmask(lanes);
  return left < 16 ? bits & ((1 << <u32>left) - 1) : bits;
}

/** Returns the address after the escape. */
// @ts-ignore: decorator
@inline
function writeEscape(to: usize, byte: u32): usize {
  const letter = letterOf(byte);
  store<u16>(to, BACKSLASH | (letter << 8));
  return letter == 0 ? writeNumber(to, byte) : to + 2;
}

/** As `\u001f`. */
function writeNumber(to: usize, byte: u32): usize {
  // `u00`
  store<u32>(to + 1, 0x303075);
  store<u8>(to + 4, 0x30 + (byte >> 4));
  const digit = byte & 15;
  store<u8>(to + 5, digit < 10 ? 0x30 + digit : 0x57 + digit);
  return to + 6;
}

/** The character after the backslash; 0 for a byte that is escaped by its number. */
function letterOf(byte: u32): u32 {
  if (byte >= FIRST_PRINTABLE) return byte;
  if (byte == 0x08) return 0x62;
  if (byte == 0x09) return 0x74;
  if (byte == 0x0a) return 0x6e;
  if (byte == 0x0c) return 0x66;
  return byte == 0x0d ? 0x72 : 0;
}

/** Why `unescape` stopped. */
export const AT_END: u32 = 0;
export const AFTER_QUOTE: u32 = 1;
export const MALFORMED: u32 = 2;

/** `\u` and four digits. */
const NUMBER_BYTES: usize = 6;
/** U+FFFD in UTF-8, from low to high. */
const REPLACEMENT: u32 = 0xbdbfef;
/** What `codeUnit` returns for other bytes. */
const NO_UNIT: u32 = 0x10000;

/**
 * Reads the rest of a string literal, without its first quote, as bytes. Returns their number. Stops after the quote,
 * or at the end of the input; then before an escape that may be incomplete, unless the input `isLast`.
 */
export function unescape(length: u32, isLast: bool): u32 {
  let to = OUTPUT;
  const end = INPUT + length;
  for (let block = INPUT; block < end; ) {
    const blockEnd = min(block + 16, end);
    const bytes = v128.load(block);
    v128.store(to, bytes);
    let marks = marksIn(bytes, blockEnd - block);
    let from = block;
    // As in `escape`, the bytes between two marks are stored as a whole block.
    while (marks != 0) {
      const mark = block + ctz(marks);
      to += mark - from;
      const byte: u32 = load<u8>(mark);
      if (byte == QUOTE) return stopAt(mark + 1, AFTER_QUOTE, to);
      if (byte < FIRST_PRINTABLE) return stopAt(mark, MALFORMED, to);
      if (!isLast && mark + 2 * NUMBER_BYTES > end) return stopAt(mark, AT_END, to);
      const single = mark + 1 < end ? singleOf(load<u8>(mark + 1)) : 0;
      if (single != 0) {
        store<u8>(to, single);
        to += 1;
        from = mark + 2;
      } else {
        const unit = codeUnit(mark, end);
        if (unit == NO_UNIT) return stopAt(mark, MALFORMED, to);
        from = mark + NUMBER_BYTES;
        const second = unit >> 10 == 0x36 ? codeUnit(from, end) : NO_UNIT;
        if (second >> 10 == 0x37) {
          to = writeCharacter(to, 0x10000 + ((unit & 0x3ff) << 10) + (second & 0x3ff));
          from += NUMBER_BYTES;
        } else to = writeCharacter(to, unit);
      }
      v128.store(to, v128.load(from));
      marks = from < block + 16 ? (marks >> <u32>(from - block)) << <u32>(from - block) : 0;
    }
    if (from < blockEnd) to += blockEnd - from;
    block = max(from, blockEnd);
  }
  return stopAt(end, AT_END, to);
}

function stopAt(at: usize, reason: u32, to: usize): u32 {
  store<u32>(RESULT, <u32>(at - INPUT));
  store<u32>(RESULT + 4, reason);
  return <u32>(to - OUTPUT);
}

/** The byte that a backslash and this byte stand for; 0 if they do not stand for one. */
// @ts-ignore: decorator
@inline
function singleOf(byte: u32): u32 {
  if (byte == QUOTE || byte == BACKSLASH || byte == 0x2f) return byte;
  if (byte == 0x6e) return 0x0a;
  if (byte == 0x72) return 0x0d;
  if (byte == 0x74) return 0x09;
  if (byte == 0x62) return 0x08;
  return byte == 0x66 ? 0x0c : 0;
}

/** The code unit whose escape is at `at`, or NO_UNIT. */
function codeUnit(at: usize, end: usize): u32 {
  if (at + NUMBER_BYTES > end || load<u8>(at) != BACKSLASH || load<u8>(at + 1) != SMALL_U) return NO_UNIT;
  let unit: u32 = 0;
  for (let i: usize = 2; i < NUMBER_BYTES; i++) {
    const byte: u32 = load<u8>(at + i);
    const letter = byte | 0x20;
    if (byte >= 0x30 && byte <= 0x39) unit = (unit << 4) | (byte - 0x30);
    else if (letter >= 0x61 && letter <= 0x66) unit = (unit << 4) | (letter - 0x57);
    else return NO_UNIT;
  }
  return unit;
}

/** Writes a character as UTF-8; a lone surrogate is U+FFFD. Returns the address after it. */
function writeCharacter(to: usize, code: u32): usize {
  if (code < 0x80) {
    store<u8>(to, code);
    return to + 1;
  }
  if (code < 0x800) {
    store<u16>(to, 0xc0 | (code >> 6) | ((0x80 | (code & 0x3f)) << 8));
    return to + 2;
  }
  if (code < 0x10000) {
    const bytes = 0xe0 | (code >> 12) | ((0x80 | ((code >> 6) & 0x3f)) << 8) | ((0x80 | (code & 0x3f)) << 16);
    store<u32>(to, code >> 11 == 0x1b ? REPLACEMENT : bytes);
    return to + 3;
  }
  const first = 0xf0 | (code >> 18) | ((0x80 | ((code >> 12) & 0x3f)) << 8);
  store<u32>(to, first | ((0x80 | ((code >> 6) & 0x3f)) << 16) | ((0x80 | (code & 0x3f)) << 24));
  return to + 4;
}
