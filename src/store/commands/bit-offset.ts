/** Reads the bit offsets of bitmap commands. */
import type { Bytes } from "../../kernel/bytes.ts";
import { bitOffsetOutOfRange } from "../errors.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

/** The first refused offset: Redis' proto-max-bulk-len, in bits. */
const OFFSET_BITS_END = 512 * 1024 * 1024 * 8;

/** Offsets of up to so many characters are near: a string that grows up to there gets at most 800 KB of zeros. */
const NEAR_LENGTH_MAX = 6;

/** `#`: the offset is in units of a field. */
const HASH_SIGN = 0x23;

/**
 * An offset in a string, in bits. With `unitBits`, `#3` is the offset of the fourth unit of that many bits. Throws
 * `bitOffsetOutOfRange`.
 */
export function readBitOffset(text: Bytes, unitBits?: number): number {
  const isInUnits = unitBits !== undefined && text.charCodeAt(0) === HASH_SIGN;
  const value = parseInteger(text, isInUnits ? 1 : 0);
  if (value === undefined) throw bitOffsetOutOfRange;
  const offset = isInUnits ? product(value, unitBits) : value;
  if (offset < 0 || offset >= OFFSET_BITS_END) throw bitOffsetOutOfRange;
  return typeof offset === "number" ? offset : Number(offset);
}

/** Whether a write at this offset may take long, because a string that ends far before it grows. */
export function isFarOffset(text: Bytes): boolean {
  return text.length > NEAR_LENGTH_MAX;
}

/** As in Redis, the product wraps around in 64 bits. */
function product(value: number | bigint, unitBits: number): number | bigint {
  const exact = Number(value) * unitBits;
  return Number.isSafeInteger(exact) ? exact : BigInt.asIntN(64, BigInt(value) * BigInt(unitBits));
}
