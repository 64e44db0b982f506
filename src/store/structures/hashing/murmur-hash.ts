/**
 * MurmurHash64A (Austin Appleby), whose 64 bits are two halves of 32: the hash
 * of Redis' HyperLogLogs, with Redis' seed. Not for hash tables, because the
 * seed is public.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const SEED = 0xadc83b19;
const FACTOR_HIGH = 0xc6a4a793;
const FACTOR_LOW = 0x5bd1e995;

/** The 64 bits of the last hash; both halves unsigned. */
export const hashed = { high: 0, low: 0 };

// The current value of the computation.
let high = 0;
let low = 0;

/** Hashes all bytes into `hashed`. */
export function murmurHash64(bytes: Bytes): void {
  const length = bytes.length;
  high = 0;
  low = length >>> 0;
  multiply();
  let sumHigh = high;
  let sumLow = low ^ SEED;

  const whole = length - (length % 8);
  for (let at = 0; at < whole; at += 8) {
    low = wordAt(bytes, at);
    high = wordAt(bytes, at + 4);
    multiply();
    // k ^= k >> 47
    low ^= high >>> 15;
    multiply();
    low ^= sumLow;
    high ^= sumHigh;
    multiply();
    sumLow = low;
    sumHigh = high;
  }

  low = sumLow;
  high = sumHigh;
  if (length > whole) {
    for (let at = length - 1; at >= whole; at -= 1) {
      const shift = 8 * (at - whole);
      const byte = bytes.charCodeAt(at);
      if (shift >= 32) high ^= byte << (shift - 32);
      else low ^= byte << shift;
    }
    multiply();
  }
  low ^= high >>> 15;
  multiply();
  low ^= high >>> 15;
  hashed.high = high >>> 0;
  hashed.low = low >>> 0;
}

function wordAt(bytes: Bytes, at: number): number {
  return (
    bytes.charCodeAt(at) |
    (bytes.charCodeAt(at + 1) << 8) |
    (bytes.charCodeAt(at + 2) << 16) |
    (bytes.charCodeAt(at + 3) << 24)
  );
}

/** Multiplies by the factor of the hash, modulo 2^64. */
function multiply(): void {
  const lowHalf = low & 0xffff;
  const highHalf = low >>> 16;
  const factorLowHalf = FACTOR_LOW & 0xffff;
  const factorHighHalf = FACTOR_LOW >>> 16;
  // The upper 32 bits of low * FACTOR_LOW, in products that fit a double.
  const bottom = lowHalf * factorLowHalf;
  const cross = highHalf * factorLowHalf + Math.floor(bottom / 0x1_0000);
  const middle = lowHalf * factorHighHalf + (cross % 0x1_0000);
  const carried = highHalf * factorHighHalf + Math.floor(cross / 0x1_0000) + Math.floor(middle / 0x1_0000);
  high = (carried + Math.imul(high, FACTOR_LOW) + Math.imul(low, FACTOR_HIGH)) | 0;
  low = Math.imul(low, FACTOR_LOW);
}
