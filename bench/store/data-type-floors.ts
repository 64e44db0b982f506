/**
 * The least code that does the work of a command in JavaScript: it finds the
 * value in a `Map`, changes it, and returns the number of the reply. It checks
 * nothing, writes no journal, counts no memory, reads no clock and knows no user,
 * so it is a bound of what the engine can reach on this machine, and no server.
 *
 * It gets the words that fill the value and those of the timed command.
 */
import type { Words } from "./data-type-rows.ts";

type Floor = (words: Words) => number;

const BITMAP_BYTES = 4 * 1024 * 1024;
/** Elements of a packed block, as in `src/store/structures/list-block.ts`. */
const BLOCK_COUNT = 128;
const BLOCK_BYTES = 64 * 1024;

/** By the name of a row, the function for one run of it. */
export const dataTypeFloors: ReadonlyMap<string, () => Floor> = new Map([
  ["SETBIT", bitmaps],
  ["BITOP AND", bitmaps],
  ["BITFIELD, one sum", bitmaps],
  ["RPUSH", list],
  ["XACK", pendingEntries],
]);

/** Bitmaps of a fixed size: nothing grows. */
function bitmaps(): Floor {
  const bitmapByKey = new Map<string, Buffer>();
  let endByte = 0;
  return (words) => {
    const key = words[1] as string;
    const name = words[0] as string;
    if (name === "BITOP") {
      const target = bitmapByKey.get(words[2] as string) ?? Buffer.allocUnsafeSlow(BITMAP_BYTES);
      bitmapByKey.set(words[2] as string, target);
      and(target, bitmapByKey.get(words[3] as string) as Buffer, {
        other: bitmapByKey.get(words[4] as string) as Buffer,
        length: endByte,
      });
      return endByte;
    }
    let bitmap = bitmapByKey.get(key);
    if (bitmap === undefined) {
      bitmap = Buffer.alloc(BITMAP_BYTES);
      bitmapByKey.set(key, bitmap);
    }
    if (name === "BITFIELD") return addToField(bitmap, words);
    const offset = digits(words[2] as string, 0);
    const mask = 0x80 >> (offset & 7);
    const byte = bitmap[offset >> 3] as number;
    if (offset >> 3 >= endByte) endByte = (offset >> 3) + 1;
    if ((byte & mask) !== 0) return 1;
    bitmap[offset >> 3] = byte | mask;
    return 0;
  };
}

/** `BITFIELD key INCRBY u8 #offset increment`, for unsigned fields of up to 16 bits. */
function addToField(bitmap: Buffer, words: Words): number {
  const bits = digits(words[3] as string, 1);
  const offset = digits(words[4] as string, 1) * bits;
  const at = offset >> 3;
  const shift = 24 - (offset & 7) - bits;
  const whole = ((bitmap[at] as number) << 16) | ((bitmap[at + 1] as number) << 8) | (bitmap[at + 2] as number);
  const most = (1 << bits) - 1;
  const sum = (((whole >> shift) & most) + digits(words[5] as string, 0)) & most;
  const written = (whole & ~(most << shift)) | (sum << shift);
  bitmap[at] = written >> 16;
  bitmap[at + 1] = written >> 8;
  bitmap[at + 2] = written;
  return sum;
}

/** Words of 64 bits, four at a time: the fastest loop that we know. */
function and(target: Buffer, one: Buffer, { other, length }: { other: Buffer; length: number }): void {
  const count = length >>> 3;
  const targets = new BigInt64Array(target.buffer, target.byteOffset, count);
  const ones = new BigInt64Array(one.buffer, one.byteOffset, count);
  const others = new BigInt64Array(other.buffer, other.byteOffset, count);
  for (let i = 0; i < count - 3; i += 4) {
    targets[i] = BigInt.asIntN(64, (ones[i] as bigint) & (others[i] as bigint));
    targets[i + 1] = BigInt.asIntN(64, (ones[i + 1] as bigint) & (others[i + 1] as bigint));
    targets[i + 2] = BigInt.asIntN(64, (ones[i + 2] as bigint) & (others[i + 2] as bigint));
    targets[i + 3] = BigInt.asIntN(64, (ones[i + 3] as bigint) & (others[i + 3] as bigint));
  }
}

/** A list whose full blocks are packed into one string each, which takes as much memory as in Redis. */
function list(): Floor {
  const blocks = new Map<string, string[]>();
  const scratch = Buffer.allocUnsafe(BLOCK_BYTES);
  let open: string[] = [];
  return (words) => {
    const key = words[1] as string;
    let packed = blocks.get(key);
    if (packed === undefined) {
      packed = [];
      blocks.set(key, packed);
    }
    open.push(words[2] as string);
    if (open.length < BLOCK_COUNT) return packed.length * BLOCK_COUNT + open.length;
    let end = 0;
    for (const element of open) {
      scratch[end] = element.length;
      scratch.latin1Write(element, end + 1, element.length);
      end += element.length + 1;
    }
    packed.push(scratch.latin1Slice(0, end));
    open = [];
    return packed.length * BLOCK_COUNT;
  };
}

interface PendingEntry {
  readonly ms: number;
  readonly seq: number;
  readonly consumer: (PendingEntry | undefined)[];
}

/** Entries that are acknowledged in the order in which they became pending, in a group and in its one consumer. */
function pendingEntries(): Floor {
  const groupsByKey = new Map<string, Map<string, (PendingEntry | undefined)[]>>();
  const consumer: (PendingEntry | undefined)[] = [];
  let first = 0;
  return (words) => {
    const name = words[0] as string;
    if (name === "XADD" || name === "XGROUP") return 0;
    if (name === "XREADGROUP") {
      const count = Number(words[5]);
      const entries = Array.from({ length: count }, (_, i): PendingEntry => ({ ms: i + 1, seq: 0, consumer }));
      consumer.length = 0;
      for (const entry of entries) consumer.push(entry);
      first = 0;
      groupsByKey.set(words[7] as string, new Map([[words[2] as string, entries]]));
      return count;
    }
    const group = groupsByKey.get(words[1] as string)?.get(words[2] as string);
    const id = words[3] as string;
    const dash = id.indexOf("-");
    const found = group?.[first];
    if (group === undefined || found?.ms !== digits(id, 0, dash) || found.seq !== digits(id, dash + 1)) return 0;
    group[first] = undefined;
    found.consumer[first] = undefined;
    first += 1;
    return 1;
  };
}

/** The number whose digits are in `text` from `start` up to, not including, `end`. */
function digits(text: string, start: number, end = text.length): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + text.charCodeAt(at) - 48;
  return value;
}
