/** Code points of UTF-8 in a byte string. A byte that belongs to no valid sequence is a code point of its own. */
import type { Bytes } from "../../../../kernel/bytes.ts";

/** Invalid bytes are this and the byte, above all code points. */
export const INVALID = 0x11_0000;
/** A sequence has at most this many bytes: so many decide whether a byte is invalid. */
export const SEQUENCE_BYTES_MAX = 4;

/** Where the last read code point ended. */
export const decoding = { end: 0 };

/** The code point at a place; `decoding.end` is the place after it. */
export function codePointAt(bytes: Bytes, at: number): number {
  const first = bytes.charCodeAt(at);
  decoding.end = at + 1;
  if (first < 0x80) return first;
  const size = sizeOf(first);
  if (size === 0 || at + size > bytes.length) return INVALID + first;
  let code = first & (0x7f >>> size);
  for (let i = 1; i < size; i += 1) {
    const byte = bytes.charCodeAt(at + i);
    if ((byte & 0xc0) !== 0x80) return INVALID + first;
    code = (code << 6) | (byte & 0x3f);
  }
  if (code < (leastCodes[size] as number) || code >= INVALID) return INVALID + first;
  decoding.end = at + size;
  return code;
}

/** The code points of a byte string. */
export function codePointsOf(bytes: Bytes): number[] {
  const codes: number[] = [];
  for (let at = 0; at < bytes.length; at = decoding.end) codes.push(codePointAt(bytes, at));
  return codes;
}

/** The least code point of each size: shorter ones may not be written so long. */
const leastCodes: readonly number[] = [0, 0, 0x80, 0x800, 0x1_0000];

/** The bytes of the sequence that begins with a byte, or 0. */
function sizeOf(first: number): number {
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}
