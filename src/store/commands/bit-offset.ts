/** Reads the bit offsets of bitmap commands. */
import type { Bytes } from "../../kernel/bytes.ts";
import { bitOffsetOutOfRange } from "../errors.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

/** The first refused offset: Redis' proto-max-bulk-len, in bits. */
const OFFSET_BITS_END = 512 * 1024 * 1024 * 8;

/**
 * An offset in a string, in bits. With `unitBits`, `#3` is the offset of the fourth unit of that many bits. Throws
 * `bitOffsetOutOfRange`.
 */
export function readBitOffset(text: Bytes, unitBits?: number): number {
  const isInUnits = unitBits !== undefined && text.startsWith("#");
  const value = parseInteger(isInUnits ? text.slice(1) : text);
  if (value === undefined) throw bitOffsetOutOfRange;
  const offset = isInUnits ? product(value, unitBits) : value;
  if (offset < 0 || offset >= OFFSET_BITS_END) throw bitOffsetOutOfRange;
  return Number(offset);
}

/** As in Redis, the product wraps around in 64 bits. */
function product(value: number | bigint, unitBits: number): number | bigint {
  const exact = Number(value) * unitBits;
  return Number.isSafeInteger(exact) ? exact : BigInt.asIntN(64, BigInt(value) * BigInt(unitBits));
}
