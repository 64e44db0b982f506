/**
 * Byte strings. Inside `store/` a run of bytes is a JavaScript string of code
 * units 0-255, one per byte: it hashes, compares and concatenates at native
 * speed and takes less than half the memory of a small Buffer.
 *
 * Text is converted once, at the edge. ASCII is the same in both forms.
 * A `Bytes` must never be cut (`slice`, `substring`) from a longer string that
 * does not live as long: V8 keeps the whole parent alive. `copyOf` cuts safely.
 */

declare global {
  // Part of Node.js, absent from its published types.
  interface Buffer<TArrayBuffer extends ArrayBufferLike = ArrayBufferLike> extends Uint8Array<TArrayBuffer> {
    latin1Slice(start?: number, end?: number): string;
    utf8Slice(start?: number, end?: number): string;
    latin1Write(text: string, offset?: number, length?: number): number;
    utf8Write(text: string, offset?: number, length?: number): number;
  }
}

/** A string of code units 0-255, each one byte. */
export type Bytes = string;

/** The bytes of `buffer` from `start` to `end`, as their own string. */
export function bytesFrom(buffer: Buffer, start = 0, end = buffer.length): Bytes {
  return buffer.latin1Slice(start, end);
}

/** The bytes as a fresh Buffer. */
export function bufferFrom(bytes: Bytes): Buffer {
  return Buffer.from(bytes, "latin1");
}

const NON_ASCII = /[\u0080-\uffff]/;

/** True if every byte is below 128, so that bytes and text are the same string. */
export function isAscii(bytes: string): boolean {
  return !NON_ASCII.test(bytes);
}

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. */
export function bytesFromText(text: string): Bytes {
  return isAscii(text) ? text : Buffer.from(text, "utf8").latin1Slice();
}

/** The text that the bytes spell in UTF-8; each invalid sequence becomes U+FFFD. */
export function textFromBytes(bytes: Bytes): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, "latin1").utf8Slice();
}

/** V8 keeps a parent alive only for slices of at least this many characters; shorter ones are copied. */
const SLICE_LENGTH_MIN = 13;

/** `bytes.slice(start, end)` as a string of its own, which does not keep `bytes` alive. */
export function copyOf(bytes: Bytes, start: number, end: number): Bytes {
  if (end - start < SLICE_LENGTH_MIN || (start === 0 && end === bytes.length)) return bytes.slice(start, end);
  return Buffer.from(bytes.slice(start, end), "latin1").latin1Slice();
}

/** The bytes with ASCII letters in upper case, as Redis compares names. */
export function upperCase(bytes: Bytes): Bytes {
  // Names and options are mostly in capitals, and most inputs are short.
  for (let i = 0; i < bytes.length; i += 1) {
    const code = bytes.charCodeAt(i);
    if (code >= SMALL_A && code <= SMALL_Z) return isAscii(bytes) ? bytes.toUpperCase() : withCapitals(bytes);
  }
  return bytes;
}

/** A pass over a buffer: a regular expression would call a function for each run of letters, possibly millions. */
function withCapitals(bytes: Bytes): Bytes {
  const buffer = bufferFrom(bytes);
  for (let i = 0; i < buffer.length; i += 1) {
    const code = buffer[i] as number;
    if (code >= SMALL_A && code <= SMALL_Z) buffer[i] = code - CASE;
  }
  return bytesFrom(buffer);
}

/** Removes the line breaks at the end. A regular expression would try a match at every line break. */
export function withoutLastBreaks(bytes: Bytes): Bytes {
  let end = bytes.length;
  while (end > 0 && isBreak(bytes.charCodeAt(end - 1))) end -= 1;
  return end === bytes.length ? bytes : bytes.slice(0, end);
}

const BREAK = /[\r\n]/;

/** Replaces each line break by a space. */
export function onOneLine(bytes: Bytes): Bytes {
  if (!BREAK.test(bytes)) return bytes;
  const buffer = bufferFrom(bytes);
  for (let i = 0; i < buffer.length; i += 1) if (isBreak(buffer[i] as number)) buffer[i] = SPACE;
  return bytesFrom(buffer);
}

function isBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d;
}

const SPACE = 0x20;
/** The difference between a lower-case letter and its capital. */
const CASE = 0x20;
const SMALL_A = 0x61;
const SMALL_Z = 0x7a;

/** V8's header of a sequential one-byte string. */
const STRING_HEADER_BYTES = 16;

/** The memory of a byte string, in bytes. */
export function memoryBytesOf(bytes: Bytes): number {
  return (STRING_HEADER_BYTES + bytes.length + 7) & ~7;
}
