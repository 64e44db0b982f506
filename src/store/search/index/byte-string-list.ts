/** Byte strings by their number, with the memory that they take. */
import { type Bytes, memoryBytesOf } from "../../../kernel/bytes.ts";

/** An element of an array of V8. */
const POINTER_BYTES = 8;

export class ByteStringList {
  readonly items: Bytes[] = [];
  #stringBytes = 0;
  #capacity = 0;

  /** The string must own its characters: see `ownBytes`. */
  push(bytes: Bytes): void {
    // V8 grows an array by half and 16.
    if (this.items.length === this.#capacity) this.#capacity += (this.#capacity >>> 1) + 16;
    this.items.push(bytes);
    this.#stringBytes += memoryBytesOf(bytes);
  }

  /** Forgets a string, whose number is not used again. */
  drop(number: number): void {
    this.#stringBytes -= memoryBytesOf(this.items[number] as Bytes) - memoryBytesOf("");
    this.items[number] = "";
  }

  get memoryBytes(): number {
    return this.#stringBytes + POINTER_BYTES * this.#capacity;
  }
}

/** Parts of a string up to this length are copies; longer ones keep the whole string alive. */
const COPIED_LENGTH_MAX = 12;

/** The same bytes as a string that keeps no longer one alive. */
export function ownBytes(bytes: Bytes): Bytes {
  return bytes.length <= COPIED_LENGTH_MAX ? bytes : Buffer.from(bytes, "latin1").latin1Slice();
}
