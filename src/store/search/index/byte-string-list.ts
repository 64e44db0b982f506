/** Byte strings by their number, with the memory that they take, in pages: no growth copies more than one of them. */
import { type Bytes, memoryBytesOf } from "../../../kernel/bytes.ts";

/** An element of an array of V8. */
const POINTER_BYTES = 8;

const PAGE_BITS = 12;
const PAGE_STRINGS = 1 << PAGE_BITS;

export class ByteStringList {
  readonly #pages: Bytes[][] = [];
  #length = 0;
  #stringBytes = 0;
  /** Of the last page. */
  #capacity = 0;

  get length(): number {
    return this.#length;
  }

  at(number: number): Bytes {
    return (this.#pages[number >>> PAGE_BITS] as Bytes[])[number & (PAGE_STRINGS - 1)] as Bytes;
  }

  /** The string must own its characters: see `ownBytes`. */
  push(bytes: Bytes): void {
    const used = this.#length & (PAGE_STRINGS - 1);
    if (used === 0) {
      this.#pages.push([]);
      this.#capacity = 0;
    }
    // V8 grows an array by half and 16.
    if (used === this.#capacity) this.#capacity += (this.#capacity >>> 1) + 16;
    (this.#pages[this.#length >>> PAGE_BITS] as Bytes[]).push(bytes);
    this.#length += 1;
    this.#stringBytes += memoryBytesOf(bytes);
  }

  /** Forgets a string, whose number is not used again. */
  drop(number: number): void {
    this.#stringBytes -= memoryBytesOf(this.at(number)) - memoryBytesOf("");
    (this.#pages[number >>> PAGE_BITS] as Bytes[])[number & (PAGE_STRINGS - 1)] = "";
  }

  get memoryBytes(): number {
    const fullPages = Math.max(0, this.#pages.length - 1);
    return this.#stringBytes + POINTER_BYTES * (fullPages * PAGE_STRINGS + this.#capacity);
  }
}

/** Parts of a string up to this length are copies; longer ones keep the whole string alive. */
const COPIED_LENGTH_MAX = 12;

/** The same bytes as a string that keeps no longer one alive. */
export function ownBytes(bytes: Bytes): Bytes {
  return bytes.length <= COPIED_LENGTH_MAX ? bytes : Buffer.from(bytes, "latin1").latin1Slice();
}
