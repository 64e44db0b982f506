/**
 * A byte string that may change in place: a Buffer outside the JavaScript heap
 * with room to grow behind its content.
 *
 *     | content: length bytes | room, any content |
 *
 * Growing by a constant factor makes n appends of one byte cost O(n) copies in
 * all. Room that was never written costs address space, not memory.
 */
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";

/** From this length on a string is better off here than as `Bytes`: the bytes leave the heap that is marked by GC. */
export const LARGE_BYTES_MIN = 4_096;

/** Up to this size the room doubles; beyond it grows by half, so that little address space is held for nothing. */
const DOUBLING_BYTES_MAX = 1_048_576;

const CAPACITY_BYTES_MIN = 64;
/** Below this length a loop over char codes beats the call into the runtime, as in `kernel/frame.ts`. */
const LOOP_LENGTH_MAX = 24;

/** The object and its Buffer, without what is in it, as measured. */
const FIXED_BYTES = 256;

export class LargeString {
  #buffer: Buffer;
  #length: number;

  private constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#length = buffer.length;
  }

  static from(bytes: Bytes): LargeString {
    const buffer = Buffer.allocUnsafeSlow(bytes.length);
    buffer.write(bytes, "latin1");
    return new LargeString(buffer);
  }

  /** A string with a copy of the content of `buffer`. */
  static fromBuffer(buffer: Uint8Array): LargeString {
    const copy = Buffer.allocUnsafeSlow(buffer.length);
    copy.set(buffer);
    return new LargeString(copy);
  }

  get length(): number {
    return this.#length;
  }

  /** What it takes in memory, the room included, in bytes. */
  get memoryBytes(): number {
    return FIXED_BYTES + this.#buffer.length;
  }

  /** The content itself, not a copy: good until the next change. Bytes may be changed in it. */
  get view(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** The byte at a place in 0 … length - 1. */
  byteAt(index: number): number {
    return this.#buffer[index] as number;
  }

  /** Adds bytes behind the content. Returns the new length. */
  append(bytes: Bytes): number {
    const start = this.#length;
    this.#extend(start + bytes.length);
    this.#buffer.write(bytes, start, "latin1");
    return this.#length;
  }

  /**
   * Overwrites what is at `offset` and behind it; a gap between the content and `offset` becomes zero bytes. No bytes,
   * no change, as Redis' SETRANGE has it. Returns the new length.
   */
  setRange(offset: number, bytes: Bytes): number {
    if (bytes.length === 0) return this.#length;
    const oldLength = this.#length;
    const end = offset + bytes.length;
    if (end > oldLength) this.#extend(end);
    if (offset > oldLength) this.#buffer.fill(0, oldLength, offset);
    if (bytes.length <= LOOP_LENGTH_MAX)
      for (let i = 0; i < bytes.length; i += 1) this.#buffer[offset + i] = bytes.charCodeAt(i);
    else this.#buffer.write(bytes, offset, "latin1");
    return this.#length;
  }

  /** Makes these bytes the content. True if they fit the room and most of it is used; false: nothing was done. */
  replaceBy(bytes: Uint8Array): boolean {
    const capacity = this.#buffer.length;
    if (bytes.length > capacity || bytes.length < capacity / 2) return false;
    this.#buffer.set(bytes);
    this.#length = bytes.length;
    return true;
  }

  /** The bytes from `start` up to, not including, `end`; both within 0 .. length. */
  slice(start: number, end: number): Bytes {
    return bytesFrom(this.#buffer, start, Math.min(end, this.#length));
  }

  /** The whole content. Fails beyond V8's longest string (2^29 - 24 bytes): then take `toBuffer`. */
  toBytes(): Bytes {
    return bytesFrom(this.#buffer, 0, this.#length);
  }

  /** The whole content as a Buffer that no later change touches. */
  toBuffer(): Buffer {
    return Buffer.from(this.view);
  }

  /** A string of its own with the same content and no room. */
  copy(): LargeString {
    return LargeString.fromBuffer(this.view);
  }

  /** Makes the content `length` bytes long; the new bytes are whatever was there. */
  #extend(length: number): void {
    if (length > this.#buffer.length) {
      const capacity = this.#buffer.length;
      const grown = capacity < DOUBLING_BYTES_MAX ? capacity * 2 : Math.floor(capacity * 1.5);
      const buffer = Buffer.allocUnsafeSlow(Math.max(length, grown, CAPACITY_BYTES_MIN));
      buffer.set(this.view);
      this.#buffer = buffer;
    }
    this.#length = length;
  }
}
