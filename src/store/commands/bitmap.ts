/**
 * Bitmap commands. A bitmap is a string seen as bits: bit 0 is the highest bit
 * of byte 0, and every bit after the end is 0. Writing a bit after the end makes
 * the string longer. BITFIELD is in `bitfield.ts`, BITOP in `bitop.ts`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey } from "../command.ts";
import type { KeyPositions } from "../command-facts.ts";
import { bitNotBit, bitToFindNotBit, syntaxError } from "../errors.ts";
import { setStringRange } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { one, type Reply, zero } from "../reply/reply.ts";
import { countBits, findBit } from "../structures/bits.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { byteAt, type StringValue, viewOf } from "../values/string.ts";
import { isFarOffset, readBitOffset } from "./bit-offset.ts";
import { bitfield, bitfieldReadOnly, bitfieldUses, hasFarField } from "./bitfield.ts";
import { bitop } from "./bitop.ts";
import { overwritten, read } from "./command-keys.ts";

const keysFromSecond: KeyPositions = { first: 2, last: -1, step: 1 };

export const bitmapCommands = family("bitmap", [
  {
    name: "BITCOUNT",
    summary: "Counts the set bits of a string, in a range of bytes or bits",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: bitcount,
  },
  {
    name: "BITFIELD",
    summary: "Reads and writes integers of any width at any bit of a string",
    arity: -2,
    flags: ["write", "denyoom"],
    isQuick: true,
    isLongWith: hasFarField,
    keys: firstKey,
    keyUsesWith: bitfieldUses,
    run: bitfield,
  },
  {
    name: "BITFIELD_RO",
    summary: "Reads integers of any width at any bit of a string",
    arity: -2,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: bitfieldReadOnly,
  },
  {
    name: "BITOP",
    summary: "Combines strings bit by bit, stores the result and returns its length",
    arity: -4,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: keysFromSecond,
    keyUses: [overwritten, read],
    run: bitop,
  },
  {
    name: "BITPOS",
    summary: "Finds the first set or clear bit in a range of bytes or bits",
    arity: -3,
    flags: ["readonly"],
    keys: firstKey,
    run: bitpos,
  },
  {
    name: "GETBIT",
    summary: "Returns one bit of a string",
    arity: 3,
    flags: ["readonly", "fast"],
    keys: firstKey,
    run: ({ keyspace, arg }) => {
      const offset = readBitOffset(arg(2));
      return bitAt(keyspace.readString(arg(1)), offset);
    },
  },
  {
    name: "SETBIT",
    summary: "Sets or clears one bit of a string and returns the old bit",
    arity: 4,
    flags: ["write", "denyoom"],
    isQuick: true,
    isLongWith: (words) => isFarOffset(words[2] as Bytes),
    keys: firstKey,
    run: setbit,
  },
]);

// Offsets in bits are below 2^32, so they can be shifted without a sign, which takes a fraction of a division.

function bitAt(value: StringValue | undefined, offset: number): 0 | 1 {
  return (byteAt(value, offset >>> 3) >> (7 - (offset & 7))) & 1 ? 1 : 0;
}

function setbit({ keyspace, arg }: Call): Reply {
  const offset = readBitOffset(arg(2));
  const bit = parseInteger(arg(3));
  if (bit !== 0 && bit !== 1) throw bitNotBit;
  const key = arg(1);
  const old = keyspace.readString(key);
  const index = offset >>> 3;
  const oldByte = byteAt(old, index);
  const mask = 0x80 >> (offset & 7);
  const before = (oldByte & mask) === 0 ? 0 : 1;
  if (before !== bit || old === undefined || index >= old.length) {
    const byte = bit === 1 ? oldByte | mask : oldByte & ~mask;
    setStringRange(keyspace, key, { offset: index, bytes: String.fromCharCode(byte), old });
    keyspace.notify(events.setbit, key);
  }
  return before === 1 ? one : zero;
}

/** As Redis since 7.2, it checks all arguments before it looks for the key. */
function bitcount({ keyspace, arg, argCount, word, integer }: Call): Reply {
  if (argCount !== 2 && argCount !== 4 && argCount !== 5) throw syntaxError;
  const start = argCount > 2 ? integer(2) : 0;
  const end = argCount > 2 ? integer(3) : -1;
  const unitBits = argCount === 5 ? unitBitsOf(word(4)) : 8;
  const value = keyspace.readString(arg(1));
  if (value === undefined || (start < 0 && end < 0 && start > end)) return zero;
  if (argCount === 2) return countBits(viewOf(value), 0, value.length);
  const range = rangeOf({ start, end, unitBits, length: value.length });
  if (range === undefined) return zero;
  const view = viewOf(value);
  const firstByte = Math.floor(range.start / 8);
  const lastByte = Math.floor(range.end / 8);
  const before = (view[firstByte] as number) & ~(0xff >>> (range.start % 8));
  const after = (view[lastByte] as number) & (0x7f >>> (range.end % 8));
  return countBits(view, firstByte, lastByte + 1) - countBits(Uint8Array.of(before, after), 0, 2);
}

/** As Redis since 7.2, it checks all arguments before it looks for the key. */
function bitpos(call: Call): Reply {
  const { keyspace, arg, argCount, word } = call;
  const bit = call.integer(2);
  if (bit !== 0 && bit !== 1) throw bitToFindNotBit;
  if (argCount > 6) throw syntaxError;
  const start = argCount > 3 ? call.integer(3) : 0;
  const unitBits = argCount > 5 ? unitBitsOf(word(5)) : 8;
  const hasEnd = argCount > 4;
  const end = hasEnd ? call.integer(4) : -1;
  const value = keyspace.readString(arg(1));
  if (value === undefined) return bit === 1 ? -1 : 0;
  const range = rangeOf({ start, end, unitBits, length: value.length });
  if (range === undefined) return -1;
  const found = findBit(viewOf(value), bit, range);
  // All bits after the end of the string are clear, but bits after an explicit end do not count.
  return found === -1 && bit === 0 && !hasEnd ? value.length * 8 : found;
}

function unitBitsOf(word: string): number {
  if (word === "BYTE") return 8;
  if (word === "BIT") return 1;
  throw syntaxError;
}

/** The bits between two indexes, both included, negative ones counted from the end; undefined for an empty range. */
function rangeOf(interval: {
  start: number | bigint;
  end: number | bigint;
  unitBits: number;
  length: number;
}): { start: number; end: number } | undefined {
  const { unitBits } = interval;
  const total = (interval.length * 8) / unitBits;
  const start = Math.max(0, fromBeginning(interval.start, total));
  const end = Math.min(total - 1, Math.max(0, fromBeginning(interval.end, total)));
  return start > end ? undefined : { start: start * unitBits, end: end * unitBits + unitBits - 1 };
}

function fromBeginning(place: number | bigint, total: number): number {
  return place < 0 ? total + Number(place) : Number(place);
}
