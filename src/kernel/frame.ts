/**
 * The payload of one journal frame: the changes of a unit of work to one tenant
 * of an area (a database, a user), or of several units in a row.
 *
 *     frame   | tenant number varint | record | record | …
 *     record  | code u8 | fields of the code's row in the engine |
 *
 *     varint  7 bits a byte, low first, high bit = more        (0 … 2^53 - 1)
 *     bytes   | length varint | bytes |
 *     double  f64 low first
 *     time    milliseconds since the epoch, u48 low first      (0 = none)
 *
 * Tenant number 0 means the area itself (a tenant created or dropped). A frame
 * is applied whole or not at all, and replaying it needs no clock.
 */
import { assert } from "./assert.ts";
import type { Bytes } from "./bytes.ts";
import { cutBytes } from "./short-bytes.ts";

const CAPACITY_BYTES_MIN = 4 * 1024;
/** A buffer that one large frame made larger than this is released after the frame. */
const CAPACITY_BYTES_KEPT = 1024 * 1024;
/** Up to this length a loop over char codes beats the call into the runtime: 18 ns for 10 of them, or for 30 written by the call. */
const LOOP_LENGTH_MAX = 10;
/** Views up to this length are cached; most frames are shorter. */
const VIEW_BYTES_MAX = 512;
/** The bytes of a longer field after so many are bulk. */
const BULK_BYTES_MIN = 256;
/** Longest varint: 53 bits at 7 a byte. */
const VARINT_BYTES_MAX = 8;
/** Up to here the bits of a number can be shifted. */
const INTEGER_31_MAX = 2 ** 31 - 1;

export class FrameWriter {
  #buffer = Buffer.allocUnsafe(CAPACITY_BYTES_MIN);
  #length = 0;
  #tenantNumber = 0;
  #bulkBytes = 0;
  /** The records of finished units are before it. */
  #unitStart = 0;
  /** Views of the start of the buffer, by their length: a view costs as much as the rest of a short frame. */
  #views: (Buffer | undefined)[] = [];

  /** True while nothing was recorded since the last `take`. */
  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Bytes that the running unit has recorded. */
  get unitByteCount(): number {
    return this.#length - this.#unitStart;
  }

  get byteCount(): number {
    return this.#length;
  }

  /** The tenant of the frame, from its first record. */
  get tenantNumber(): number {
    return this.#tenantNumber;
  }

  /**
   * Bytes that a replay of the frame only copies: those of each field after its first 256. Of the current frame, or of the
   * last one that was taken. Bytes before a cut do not count.
   */
  get bulkBytes(): number {
    return this.#bulkBytes;
  }

  /** Opens a record. The first record of a frame writes the tenant number before it. */
  record(tenantNumber: number, code: number): this {
    if (this.#length === 0) {
      this.#tenantNumber = tenantNumber;
      this.#bulkBytes = 0;
      this.number(tenantNumber);
    } else assert(tenantNumber === this.#tenantNumber, "the records of a frame belong to one tenant");
    this.#reserve(1);
    this.#buffer[this.#length++] = code;
    return this;
  }

  bytes(bytes: Bytes): this {
    const count = bytes.length;
    this.#reserve(count + VARINT_BYTES_MAX);
    if (count <= LOOP_LENGTH_MAX) {
      const buffer = this.#buffer;
      const start = this.#length;
      buffer[start] = count;
      for (let i = 0; i < count; i += 1) buffer[start + 1 + i] = bytes.charCodeAt(i);
      this.#length = start + 1;
    } else {
      this.#writeNumber(count);
      this.#buffer.latin1Write(bytes, this.#length, count);
      if (count > BULK_BYTES_MIN) this.#bulkBytes += count - BULK_BYTES_MIN;
    }
    this.#length += count;
    return this;
  }

  /** The same field as `bytes`, from a Buffer. */
  buffer(bytes: Uint8Array): this {
    this.#reserve(bytes.length + VARINT_BYTES_MAX);
    this.#writeNumber(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    if (bytes.length > BULK_BYTES_MIN) this.#bulkBytes += bytes.length - BULK_BYTES_MIN;
    return this;
  }

  /** A count or an offset: an integer in 0 … 2^53 - 1. */
  number(value: number): this {
    this.#reserve(VARINT_BYTES_MAX);
    if (value < 0x80) this.#buffer[this.#length++] = value;
    else this.#writeNumber(value);
    return this;
  }

  /** Any double, in its eight bytes. */
  double(value: number): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
    return this;
  }

  /** A time in ms, or 0 for none. */
  time(ms: number): this {
    assert(ms >= 0 && ms <= TIME_MS_MAX, "a recorded time fits 48 bits");
    this.#reserve(6);
    this.#length = this.#buffer.writeUIntLE(ms, this.#length, 6);
    return this;
  }

  /** Ends a unit whose records stay in the frame, before those of the next one. */
  endUnit(): void {
    this.#unitStart = this.#length;
  }

  /** Drops everything that the running unit has recorded after its first `byteCount` bytes, which end with a record. */
  cutUnit(byteCount: number): void {
    const length = this.#unitStart + byteCount;
    assert(length <= this.#length, "a unit is cut within its length");
    this.#length = length;
    this.#bulkBytes = 0;
    if (length === 0) this.#release();
  }

  /** The frame so far, valid until the next record; the writer is empty again. */
  take(): Buffer {
    const frame = this.#view(this.#length);
    this.#length = 0;
    this.#unitStart = 0;
    this.#release();
    return frame;
  }

  /** Gives back a buffer that one large frame needed. */
  #release(): void {
    if (this.#buffer.length > CAPACITY_BYTES_KEPT) this.#replaceBuffer(Buffer.allocUnsafe(CAPACITY_BYTES_MIN));
  }

  /** The first `length` bytes. */
  #view(length: number): Buffer {
    if (length > VIEW_BYTES_MAX) return this.#buffer.subarray(0, length);
    let view = this.#views[length];
    if (view === undefined) {
      view = this.#buffer.subarray(0, length);
      this.#views[length] = view;
    }
    return view;
  }

  #replaceBuffer(buffer: Buffer<ArrayBuffer>): void {
    this.#buffer = buffer;
    this.#views = [];
  }

  #writeNumber(value: number): void {
    const buffer = this.#buffer;
    let at = this.#length;
    let rest = value;
    while (rest > INTEGER_31_MAX) {
      buffer[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    // Shifts take a fraction of divisions.
    while (rest > 0x7f) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>= 7;
    }
    buffer[at] = rest;
    this.#length = at + 1;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#replaceBuffer(grown);
  }
}

/**
 * The latest time that can be stored: 2^48 - 1 ms, in the year 10889. A later
 * expiry is stored as this one.
 */
export const TIME_MS_MAX = 2 ** 48 - 1;

export class FrameReader {
  readonly #buffer: Buffer;
  #offset = 0;

  constructor(frame: Buffer) {
    this.#buffer = frame;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#buffer.length;
  }

  /** Bytes of the frame that were read. */
  get offset(): number {
    return this.#offset;
  }

  code(): number {
    assert(this.#offset < this.#buffer.length, "a record starts inside its frame");
    return this.#buffer[this.#offset++] as number;
  }

  bytes(): Bytes {
    const end = this.#end();
    const bytes = cutBytes(this.#buffer, this.#offset, end);
    this.#offset = end;
    return bytes;
  }

  /** A `bytes` field of less than `count` bytes as a string, a longer one as a view: no view is made of a short one. */
  bytesBelow(count: number): Bytes | Buffer {
    const start = this.#offset;
    const length = this.number();
    this.#offset = start;
    return length < count ? this.bytes() : this.buffer();
  }

  /** A `bytes` field as a view of the frame: copy it to store it. */
  buffer(): Buffer {
    const end = this.#end();
    const bytes = this.#buffer.subarray(this.#offset, end);
    this.#offset = end;
    return bytes;
  }

  number(): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      assert(this.#offset < this.#buffer.length, "a number ends inside its frame");
      const byte = this.#buffer[this.#offset++] as number;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
      unit *= 0x80;
    }
  }

  double(): number {
    assert(this.#offset + 8 <= this.#buffer.length, "a double ends inside its frame");
    const value = this.#buffer.readDoubleLE(this.#offset);
    this.#offset += 8;
    return value;
  }

  time(): number {
    assert(this.#offset + 6 <= this.#buffer.length, "a time ends inside its frame");
    const ms = this.#buffer.readUIntLE(this.#offset, 6);
    this.#offset += 6;
    return ms;
  }

  #end(): number {
    const count = this.number();
    assert(count <= this.#buffer.length - this.#offset, "a byte string ends inside its frame");
    return this.#offset + count;
  }
}
