/**
 * HalfSipHash-1-3: a keyed 32-bit hash (Aumasson and Bernstein, "SipHash: a
 * fast short-input PRF"; one round per word, three at the end). Without the key,
 * nobody can choose inputs that fall into one bucket, so a hash table of
 * untrusted keys stays fast (threats A-20).
 */
import type { Bytes } from "../bytes.ts";

/** From this length on, copying the bytes out of the string and reading words is faster than reading single bytes. */
const COPY_LENGTH_MIN = 160;

/** Bytes per copy; a multiple of four. */
const WINDOW_BYTES = 16_384;

const windowBytes = Buffer.alloc(WINDOW_BYTES);
const windowWords = new DataView(windowBytes.buffer, windowBytes.byteOffset, WINDOW_BYTES);

/** The two halves of a hash key, from its eight bytes. */
export function hashKey(seed: Uint8Array): { key0: number; key1: number } {
  const view = new DataView(seed.buffer, seed.byteOffset, seed.byteLength);
  return { key0: view.getInt32(0, true), key1: view.getInt32(4, true) };
}

/** The hash of `bytes` under the key (`key0`, `key1`), as a signed 32-bit integer. */
export function halfSipHash(key0: number, key1: number, bytes: Bytes): number {
  const length = bytes.length;
  const wordsEnd = length & ~3;
  let v0 = key0;
  let v1 = key1;
  let v2 = 0x6c79_6765 ^ key0;
  let v3 = 0x7465_6462 ^ key1;

  if (length < COPY_LENGTH_MIN) {
    for (let i = 0; i < wordsEnd; i += 4) {
      const word =
        bytes.charCodeAt(i) |
        (bytes.charCodeAt(i + 1) << 8) |
        (bytes.charCodeAt(i + 2) << 16) |
        (bytes.charCodeAt(i + 3) << 24);
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
  } else {
    for (let start = 0; start < wordsEnd; start += WINDOW_BYTES) {
      const end = Math.min(wordsEnd, start + WINDOW_BYTES);
      windowBytes.write(start === 0 && end === length ? bytes : bytes.slice(start, end), "latin1");
      for (let i = 0; i < end - start; i += 4) {
        const word = windowWords.getInt32(i, true);
        v3 ^= word;
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
        v0 ^= word;
      }
    }
  }

  let last = length << 24;
  for (let i = wordsEnd; i < length; i += 1) last |= bytes.charCodeAt(i) << ((i & 3) * 8);

  // The last word takes one round, the end three: the same round four times.
  v3 ^= last;
  for (let round = 0; round < 4; round += 1) {
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    if (round === 0) {
      v0 ^= last;
      v2 ^= 0xff;
    }
  }
  return v1 ^ v3;
}
