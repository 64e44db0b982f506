/**
 * CRC-32 (ISO 3309, as in zlib), continued from a start value.
 *
 * The native function takes about 100 ns to call whatever the length, so short
 * runs, which most frames are, go through a table here. bench/journal.bench.ts
 */
import { crc32 as nativeCrc32 } from "node:zlib";

const NATIVE_BYTES_MIN = 96;

const table = new Int32Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  table[byte] = crc;
}

/** The checksum of `bytes` from `start` to `end`, an unsigned 32-bit number. `seed` is the checksum so far. */
export function checksum(bytes: Uint8Array, span: { start: number; end: number; seed: number }): number {
  const { start, end, seed } = span;
  if (end - start >= NATIVE_BYTES_MIN) return nativeCrc32(bytes.subarray(start, end), seed);
  let crc = ~seed;
  for (let i = start; i < end; i += 1) crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
