/**
 * A byte string that may change in place: a Buffer outside the JavaScript heap
 * with spare capacity after its content.
 *
 *     | content: length bytes | spare, any content |
 *
 * Growth by a constant factor makes n appends of one byte cost O(n) copies in
 * all. Spare capacity that was never written costs address space, not memory.
 *
 * (1) Lent bytes do not change: bytes are added after them, and before one of
 *     them would change, the content moves to a new buffer. So a reply is a
 *     view, and many replies of one long value are not copies of it.
 */
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";

/** From this length on a string is better here than as `Bytes`: the bytes leave the heap that GC marks. */
export const LARGE_BYTES_MIN = 4_096;

/** Up to this size the capacity doubles; above it grows by half, to reserve little unused address space. */
const DOUBLING_BYTES_MAX = 1_048_576;

const CAPACITY_BYTES_MIN = 64;
/** Up to this length a loop over char codes is faster than a call into native code, as in `kernel/frame.ts`. */
const LOOP_LENGTH_MAX = 10;

/** The object and its Buffer, without content, as measured. */
const FIXED_BYTES = 256;

export class LargeString {
  #buffer: Buffer;
  #length: number;
  /** Of the current content; undefined if not computed since the last change. */
  #digest: Bytes | undefined;
  /** True if a view of the content may be in use. */
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

  /** A string whose content is `buffer` itself, which has no other user; or a copy, if it is a part of a larger memory. */
  static own(buffer: Buffer): LargeString {
    return buffer.length === buffer.buffer.byteLength ? new LargeString(buffer) : LargeString.fromBuffer(buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** The most bytes that its content may have before it takes more memory. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** Its memory, including spare capacity, in bytes. */
  get memoryBytes(): number {
    return FIXED_BYTES + this.#buffer.length;
  }

  /** The content itself, not a copy: valid until the next change. */
  get view(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** As `view`, for immediate changes of its bytes. keeps (1) */
  get ownView(): Buffer {
    this.#digest = undefined;
    this.#own();
    return this.view;
  }

  /** As `view`, valid without limit. keeps (1) */
  lend(): Buffer {
    this.#isLent = true;
    return this.view;
  }

  /** The result of `make` for the content, computed once between two changes: hundreds of megabytes take long. */
  digest(make: (content: Buffer) => Bytes): Bytes {
    this.#digest ??= make(this.view);
    return this.#digest;
  }

  /** The byte at an index in 0 … length - 1. */
  byteAt(index: number): number {
    return this.#buffer[index] as number;
  }

  /** The number of a few bytes from an index on, the first byte highest. Bytes after the content are zero. */
  numberAt(start: number, byteCount: number): number {
    const buffer = this.#buffer;
    const length = this.#length;
    let number = 0;
    for (let at = start; at < start + byteCount; at += 1)
      number = number * 256 + (at < length ? (buffer[at] as number) : 0);
    return number;
  }

  /** Appends bytes. Returns the new length. */
  append(bytes: Bytes): number {
    this.#digest = undefined;
    const start = this.#length;
    this.#extend(start + bytes.length);
    this.#buffer.write(bytes, start, "latin1");
    return this.#length;
  }

  /**
   * Overwrites from `offset` on; a gap between the content and `offset` becomes zero bytes. No bytes mean no change, as
   * in Redis' SETRANGE. Returns the new length.
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

  /**
   * Makes the content this long, with any bytes, and returns it to be overwritten at once. Undefined, without change,
   * unless the length fits and fills most of the capacity, and nothing is lent.
   */
  replaceable(length: number): Buffer | undefined {
    const capacity = this.#buffer.length;
    if (this.#isLent || length > capacity || length < capacity / 2) return undefined;
    this.#digest = undefined;
    this.#length = length;
    return this.view;
  }

  /** Replaces the content in its own memory. False, without change, unless it fills that exactly and nothing is lent. */
  overwrite(content: Uint8Array): boolean {
    if (this.#isLent || content.length !== this.#buffer.length) return false;
    this.#digest = undefined;
    this.#length = content.length;
    this.#buffer.set(content);
    return true;
  }

  /** The memory that `restorer` takes for these bytes. */
  restorerBytes(start: number, end: number): number {
    return this.#isLent ? 0 : Math.max(0, Math.min(end, this.#length) - start);
  }

  /**
   * Restores the current content, if only the bytes from `start` up to, not including, `end` or bytes after the content
   * have changed since.
   */
  restorer(start: number, end: number): () => void {
    const buffer = this.#buffer;
    const length = this.#length;
    const digest = this.#digest;
    const wasLent = this.#isLent;
    // Lent bytes do not change: (1).
    const bytes = wasLent ? undefined : Buffer.from(buffer.subarray(start, Math.min(end, length)));
    return () => {
      this.#isLent = wasLent || (this.#isLent && this.#buffer === buffer);
      this.#buffer = buffer;
      this.#length = length;
      this.#digest = digest;
      if (bytes !== undefined && bytes.length > 0) buffer.set(bytes, start);
    };
  }

  /** The bytes from `start` up to, not including, `end`; both within 0 .. length. */
  slice(start: number, end: number): Bytes {
    return bytesFrom(this.#buffer, start, Math.min(end, this.#length));
  }

  /** The whole content. Fails beyond V8's longest string (2^29 - 24 bytes): then take `toBuffer`. */
  toBytes(): Bytes {
    return bytesFrom(this.#buffer, 0, this.#length);
  }

  /** The whole content as a Buffer that later changes do not touch. */
  toBuffer(): Buffer {
    return Buffer.from(this.view);
  }

  /** A separate string with the same content and no spare capacity. */
  copy(): LargeString {
    return LargeString.fromBuffer(this.view);
  }

  /** Sets the length of the content; the new bytes are undefined. */
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
