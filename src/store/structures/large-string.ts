/**
 * A byte string that may change in place: a Buffer outside the JavaScript heap
 * with room to grow behind its content.
 *
 *     | content: length bytes | room, any content |
 *
 * Growing by a constant factor makes n appends of one byte cost O(n) copies in
 * all. Room that was never written costs address space, not memory.
 *
 * (1) What was lent does not change: bytes are added behind it, and before a byte
 *     of it would change, the content moves to a buffer of its own. So a reply
 *     is a view, and many replies of one long value are no copies of it.
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
  /** Of the content as it is; undefined: not asked for since the last change. */
  #digest: Bytes | undefined;
  /** Somebody may hold a view of the content. */
  #isLent = false;

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

  /** The content itself, not a copy: good until the next change. */
  get view(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** As `view`, for changing bytes in it at once. keeps (1) */
  get ownView(): Buffer {
    this.#digest = undefined;
    this.#own();
    return this.view;
  }

  /** As `view`, good for as long as somebody holds it. keeps (1) */
  lend(): Buffer {
    this.#isLent = true;
    return this.view;
  }

  /** What `make` makes of the content, which is asked for once between two changes: hundreds of megabytes take long. */
  digest(make: (content: Buffer) => Bytes): Bytes {
    this.#digest ??= make(this.view);
    return this.#digest;
  }

  /** The byte at a place in 0 … length - 1. */
  byteAt(index: number): number {
    return this.#buffer[index] as number;
  }

  /** Adds bytes behind the content. Returns the new length. */
  append(bytes: Bytes): number {
    this.#digest = undefined;
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
    this.#digest = undefined;
    const oldLength = this.#length;
    if (offset < oldLength) this.#own();
    const end = offset + bytes.length;
    if (end > oldLength) this.#extend(end);
    if (offset > oldLength) this.#buffer.fill(0, oldLength, offset);
    if (bytes.length <= LOOP_LENGTH_MAX)
      for (let i = 0; i < bytes.length; i += 1) this.#buffer[offset + i] = bytes.charCodeAt(i);
    else this.#buffer.write(bytes, offset, "latin1");
    return this.#length;
  }

  /** Makes these bytes the content. True if they fit the room, most of it is used and nothing is lent; false: nothing was done. */
  replaceBy(bytes: Uint8Array): boolean {
    const capacity = this.#buffer.length;
    if (this.#isLent || bytes.length > capacity || bytes.length < capacity / 2) return false;
    this.#digest = undefined;
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
      this.#move(Math.max(length, grown, CAPACITY_BYTES_MIN));
    }
    this.#length = length;
  }

  #own(): void {
    if (this.#isLent) this.#move(this.#buffer.length);
  }

  /** Moves the content to a new buffer of this capacity. */
  #move(capacity: number): void {
    const buffer = Buffer.allocUnsafeSlow(capacity);
    buffer.set(this.view);
    this.#buffer = buffer;
    this.#isLent = false;
  }
}
