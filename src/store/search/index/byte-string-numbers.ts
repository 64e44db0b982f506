/**
 * A table from byte strings to numbers. The Maps of V8 hash with a secret of the process, so nobody can choose strings
 * that collide. A Map ends at 2^24 entries, and growing it at 3 M entries takes 0.3 s, so a large table is divided.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

/** A power of two. */
const PART_COUNT = 64;
/** More entries than this are in several Maps. */
const WHOLE_COUNT_MAX = 4_096;

/** An entry of a Map is three words of 8 bytes, a bucket for two entries another one. */
const ENTRY_BYTES = 28;
const MAP_BYTES = 64;

export class ByteStringNumbers {
  #whole: Map<Bytes, number> | undefined = new Map();
  #parts: Map<Bytes, number>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(bytes: Bytes): number | undefined {
    return (this.#whole ?? this.#partOf(bytes)).get(bytes);
  }

  /** Adds a string that is not in the table. */
  add(bytes: Bytes, number: number): void {
    if (this.#whole !== undefined && this.#size === WHOLE_COUNT_MAX) this.#divide(this.#whole);
    (this.#whole ?? this.#partOf(bytes)).set(bytes, number);
    this.#size += 1;
  }

  delete(bytes: Bytes): void {
    if ((this.#whole ?? this.#partOf(bytes)).delete(bytes)) this.#size -= 1;
  }

  get memoryBytes(): number {
    const partCount = this.#whole === undefined ? PART_COUNT : 1;
    return partCount * (MAP_BYTES + ENTRY_BYTES * capacityOf(this.#size / partCount));
  }

  #divide(whole: Map<Bytes, number>): void {
    this.#whole = undefined;
    this.#parts = Array.from({ length: PART_COUNT }, () => new Map());
    for (const [bytes, number] of whole) this.#partOf(bytes).set(bytes, number);
  }

  #partOf(bytes: Bytes): Map<Bytes, number> {
    const { length } = bytes;
    let sum = length;
    // Keys and words of one kind differ most in their last characters.
    for (let i = Math.max(0, length - 4); i < length; i += 1) sum = Math.imul(sum, 31) + bytes.charCodeAt(i);
    return this.#parts[(sum ^ (sum >>> 6)) & (PART_COUNT - 1)] as Map<Bytes, number>;
  }
}

/** A Map of V8 doubles when it is full. */
function capacityOf(size: number): number {
  return size <= 4 ? 4 : 2 ** (32 - Math.clz32(Math.ceil(size) - 1));
}
