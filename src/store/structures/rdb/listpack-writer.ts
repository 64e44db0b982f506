/** Writes a listpack, the flat form of Redis that `packed-lists.ts` describes. */
import type { Bytes } from "../../../kernel/bytes.ts";

const HEADER_BYTES = 6;
/** In the count of 16 bits: too many to count. */
const COUNT_UNKNOWN = 0xffff;
/** Upper bound of the head and tail of an element. */
const FRAME_BYTES_MAX = 16;

export class ListpackWriter {
  #buffer = Buffer.allocUnsafe(256);
  #length = HEADER_BYTES;
  #count = 0;

  /** A signed 64-bit number. */
  integer(value: number | bigint): this {
    this.#reserve(FRAME_BYTES_MAX);
    const start = this.#length;
    const buffer = this.#buffer;
    if (value >= 0 && value < 0x80) {
      buffer[this.#length++] = Number(value);
    } else if (value >= -0x1000 && value < 0x1000) {
      const low = Number(value) & 0x1fff;
      buffer[this.#length++] = 0xc0 | (low >> 8);
      buffer[this.#length++] = low & 0xff;
    } else if (value >= -0x8000_0000 && value < 0x8000_0000) {
      buffer[this.#length++] = 0xf3;
      this.#length = buffer.writeInt32LE(Number(value), this.#length);
    } else {
      buffer[this.#length++] = 0xf4;
      this.#length = buffer.writeBigInt64LE(BigInt(value), this.#length);
    }
    return this.#end(start);
  }

  string(bytes: Bytes): this {
    const { length } = bytes;
    this.#reserve(length + FRAME_BYTES_MAX);
    const start = this.#length;
    const buffer = this.#buffer;
    if (length < 0x40) {
      buffer[this.#length++] = 0x80 | length;
    } else if (length < 0x1000) {
      buffer[this.#length++] = 0xe0 | (length >> 8);
      buffer[this.#length++] = length & 0xff;
    } else {
      buffer[this.#length++] = 0xf0;
      this.#length = buffer.writeUInt32LE(length, this.#length);
    }
    buffer.latin1Write(bytes, this.#length, length);
    this.#length += length;
    return this.#end(start);
  }

  /** The whole listpack. */
  finish(): Buffer {
    this.#reserve(1);
    this.#buffer[this.#length++] = 0xff;
    this.#buffer.writeUInt32LE(this.#length, 0);
    this.#buffer.writeUInt16LE(Math.min(this.#count, COUNT_UNKNOWN), 4);
    return this.#buffer.subarray(0, this.#length);
  }

  /** After each element comes its length, seven bits a byte, highest first. */
  #end(start: number): this {
    const length = this.#length - start;
    const byteCount = length <= 127 ? 1 : length < 16_383 ? 2 : length < 2_097_151 ? 3 : length < 268_435_455 ? 4 : 5;
    let rest = length;
    for (let i = byteCount - 1; i >= 0; i -= 1) {
      this.#buffer[this.#length + i] = (rest % 0x80) | (i === 0 ? 0 : 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.#length += byteCount;
    this.#count += 1;
    return this;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
