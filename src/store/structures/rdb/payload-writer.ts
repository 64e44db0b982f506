/** Writes lengths and strings as in Redis' dumps; `payload-reader.ts` describes the forms. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { replyTooLarge } from "../../errors.ts";
import { parseInteger } from "../numbers/number-text.ts";
import type { Whole } from "../stream-id.ts";

const CAPACITY_BYTES_MIN = 128;
/** The limit of a string in Redis, and so of a dump. */
const PAYLOAD_BYTES_MAX = 512 * 1024 * 1024;
/** `-2147483648`: longer texts are not integers of 32 bits. */
const SHORT_INTEGER_LENGTH_MAX = 11;

export class PayloadWriter {
  #buffer = Buffer.allocUnsafe(CAPACITY_BYTES_MIN);
  #length = 0;

  byte(value: number): this {
    const at = this.#reserve(1);
    this.#buffer[at] = value;
    return this;
  }

  /** A length, or a number of 64 bits in the form of one. */
  length(value: Whole): this {
    if (typeof value === "number") {
      if (value < 0x40) return this.byte(value);
      if (value < 0x4000) return this.byte(0x40 | (value >>> 8)).byte(value & 0xff);
      if (value <= 0xffff_ffff) {
        this.byte(0x80);
        const at = this.#reserve(4);
        this.#buffer.writeUInt32BE(value, at);
        return this;
      }
    }
    this.byte(0x81);
    const at = this.#reserve(8);
    this.#buffer.writeBigUInt64BE(BigInt(value), at);
    return this;
  }

  /** A string; an integer of 32 bits takes one to four bytes, however the string is held. */
  string(bytes: Bytes | Uint8Array): this {
    if (bytes.length <= SHORT_INTEGER_LENGTH_MAX) {
      const value = parseInteger(typeof bytes === "string" ? bytes : String.fromCharCode(...bytes));
      if (typeof value === "number" && value === (value | 0)) return this.#integer(value);
    }
    this.length(bytes.length);
    if (typeof bytes !== "string") return this.raw(bytes);
    const start = this.#reserve(bytes.length);
    this.#buffer.latin1Write(bytes, start, bytes.length);
    return this;
  }

  /** The bytes as they are. */
  raw(bytes: Uint8Array): this {
    const at = this.#reserve(bytes.length);
    this.#buffer.set(bytes, at);
    return this;
  }

  binaryDouble(value: number): this {
    const at = this.#reserve(8);
    this.#buffer.writeDoubleLE(value, at);
    return this;
  }

  number64(value: number): this {
    const at = this.#reserve(8);
    this.#buffer.writeBigUInt64LE(BigInt(value), at);
    return this;
  }

  /** The written bytes, with capacity for `roomBytes` more after them. */
  take(roomBytes: number): Buffer {
    this.#reserve(roomBytes);
    return this.#buffer.subarray(0, this.#length);
  }

  #integer(value: number): this {
    if (value >= -0x80 && value < 0x80) {
      this.byte(0xc0);
      const at = this.#reserve(1);
      this.#buffer.writeInt8(value, at);
    } else if (value >= -0x8000 && value < 0x8000) {
      this.byte(0xc1);
      const at = this.#reserve(2);
      this.#buffer.writeInt16LE(value, at);
    } else {
      this.byte(0xc2);
      const at = this.#reserve(4);
      this.#buffer.writeInt32LE(value, at);
    }
    return this;
  }

  /** Reserves `count` more bytes, possibly in another buffer, and returns their start. */
  #reserve(count: number): number {
    const start = this.#length;
    const end = start + count;
    if (end > this.#buffer.length) {
      if (end > PAYLOAD_BYTES_MAX) throw replyTooLarge;
      const grown = Buffer.allocUnsafe(Math.max(end, this.#buffer.length * 2));
      this.#buffer.copy(grown, 0, 0, start);
      this.#buffer = grown;
    }
    this.#length = end;
    return start;
  }
}
