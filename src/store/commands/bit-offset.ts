/** Where a bit stands, as the bitmap commands are told. */
import type { Bytes } from "../../kernel/bytes.ts";
import { bitOffsetOutOfRange } from "../errors.ts";
import { parseInteger } from "../structures/number-text.ts";

/** The first offset that is refused: Redis' proto-max-bulk-len, in bits. */
const OFFSET_BITS_END = 512 * 1024 * 1024 * 8;

/**
 * A place in a string, in bits. With `unitBits`, `#3` is the place of the fourth unit of so many bits. Throws
 * `bitOffsetOutOfRange`.
 */
export function readBitOffset(text: Bytes, unitBits?: number): number {
  const isInUnits = unitBits !== undefined && text.startsWith("#");
  const value = parseInteger(isInUnits ? text.slice(1) : text);
  if (value === undefined) throw bitOffsetOutOfRange;
  // The product wraps around in 64 bits, as in Redis.
  const offset = isInUnits ? BigInt.asIntN(64, BigInt(value) * BigInt(unitBits)) : value;
  if (offset < 0 || offset >= OFFSET_BITS_END) throw bitOffsetOutOfRange;
  return Number(offset);
}
