/**
 * The content of long strings as JSON has it and as bytes, in this module's own
 * memory, a piece at a time:
 *
 *     0      | nothing                                                           |
 *     INPUT  | a piece of at most PIECE_BYTES, and any SLACK_BYTES after it       |
 *     OUTPUT | its other form: six bytes for each byte at most, and SLACK_BYTES   |
 *
 * (1) Blocks of 16 bytes are loaded and stored across the ends of both, within
 *     the slack; what a load finds after the end is ignored.
 * (2) Bytes from 0x80 on are copied: the host knows that they are UTF-8.
 */
export const PIECE_BYTES: u32 = 65_536;
const SLACK_BYTES: usize = 64;
export const INPUT: usize = 1_024;
export const OUTPUT: usize = INPUT + PIECE_BYTES + SLACK_BYTES;
/** The host makes the memory this large. */
export const MEMORY_BYTES: usize = OUTPUT + 6 * PIECE_BYTES + SLACK_BYTES;

const QUOTE: u32 = 0x22;
const BACKSLASH: u32 = 0x5c;
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
