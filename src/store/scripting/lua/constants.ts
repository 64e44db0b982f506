/**
 * The lengths of the chains that the strings and numbers of a source form in the
 * hash tables of Lua 5.1 (lstring.c, ltable.c), whose hashes have no seed.
 *
 * A table grows by doubling, so its size is a power of two that depends on the
 * number of its entries. For each size that a source of a megabyte can reach,
 * the chains contain all constants of the source. Smaller tables have chains so
 * short that they cost nothing.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const SIZE_BITS_MIN = 10;
const SIZE_BITS_MAX = 18;
/** That many bytes of two strings are compared in the time of one step along a chain. */
const BYTES_PER_STEP = 16;

export class LuaConstants {
  readonly #strings = new Set<Bytes>();
  readonly #numbers = new Set<number>();
  /** Numbers in a spelling that JavaScript does not have. They count as if all had one hash. */
  #oddCount = 0;

  addString(text: Bytes): void {
    this.#strings.add(text);
  }

  addNumber(text: Bytes): void {
    const value = Number(text);
    if (Number.isNaN(value)) this.#oddCount += 1;
    else this.#numbers.add(value);
  }

  /** Comparisons along chains, for the worst size of table. */
  steps(): number {
    const strings = Uint32Array.from(this.#strings, stringHash);
    const lengths = Uint32Array.from(this.#strings, (text) => text.length);
    const numbers = Uint32Array.from(this.#numbers, numberHash);
    let worst = 0;
    for (let bits = SIZE_BITS_MIN; bits <= SIZE_BITS_MAX; bits += 1) {
      const size = 2 ** bits;
      const counts = new Float64Array(size);
      const bytes = new Float64Array(size);
      for (let index = 0; index < strings.length; index += 1) {
        const place = (strings[index] as number) & (size - 1);
        counts[place] = (counts[place] as number) + 1;
        bytes[place] = (bytes[place] as number) + (lengths[index] as number);
      }
      for (const hash of numbers) counts[hash % (size - 1)] = (counts[hash % (size - 1)] as number) + 1;
      counts[0] = (counts[0] as number) + this.#oddCount;
      let steps = 0;
      for (let place = 0; place < size; place += 1) {
        const count = counts[place] as number;
        // Each is compared with half of the others, and strings of equal length byte by byte.
        steps += (count * (count + (bytes[place] as number) / BYTES_PER_STEP)) / 2;
      }
      worst = Math.max(worst, steps);
    }
    return worst;
  }
}

/** `luaS_newlstr`: of a long string only some bytes count. */
function stringHash(text: Bytes): number {
  let hash = text.length;
  const step = (text.length >> 5) + 1;
  for (let at = text.length; at >= step; at -= step) hash ^= ((hash << 5) + (hash >>> 2) + text.charCodeAt(at - 1)) | 0;
  return hash >>> 0;
}

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);

/** `hashnum` */
function numberHash(value: number): number {
  if (value === 0) return 0;
  double[0] = value;
  return ((words[0] as number) + (words[1] as number)) >>> 0;
}
