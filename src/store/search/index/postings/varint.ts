/** Numbers below 2^32 in one to five bytes: seven bits each, the lowest first. */

/** Where the last read number ended. */
export const reading = { at: 0 };

/** Writes a number; returns the place after it. */
export function writeVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value >>> 0;
  while (rest > 0x7f) {
    bytes[at] = (rest & 0x7f) | 0x80;
    at += 1;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}

/** The number at a place; `reading.at` is the place after it. */
export function readVarint(bytes: Uint8Array, start: number): number {
  let at = start;
  let byte = bytes[at] as number;
  at += 1;
  let value = byte & 0x7f;
  for (let shift = 7; byte > 0x7f; shift += 7) {
    byte = bytes[at] as number;
    at += 1;
    value |= (byte & 0x7f) << shift;
  }
  reading.at = at;
  return value >>> 0;
}

/** The bytes that a number takes. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

/** The place after `count` numbers. */
export function skipVarints(bytes: Uint8Array, start: number, count: number): number {
  let at = start;
  for (let left = count; left > 0; at += 1) if ((bytes[at] as number) < 0x80) left -= 1;
  return at;
}
