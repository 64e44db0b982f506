/**
 * Lengths and strings as in Redis' dumps.
 *
 *     00nnnnnn                    a length of 6 bits
 *     01nnnnnn nnnnnnnn           of 14 bits
 *     10000000 u32, 10000001 u64  longer ones, highest byte first
 *     11000000 i8, 11000001 i16, 11000010 i32                 a string that is an integer, lowest byte first
 *     11000011 length compressed, length, LZF                 a compressed string
 *
 * A string is a length and its bytes. Nothing is trusted: declared bytes must
 * exist before memory is allocated for them, and the total is bounded.
 */
import { type Bytes, bytesFrom } from "../../../kernel/bytes.ts";
import { cutBytes } from "../../../kernel/short-bytes.ts";
import { badDataFormat } from "../../errors.ts";
import { type Whole, wholeOf } from "../stream-id.ts";
import { lzfDecompress } from "./lzf.ts";

/** The limit of an unpacked payload: that of the longest string. */
export const UNFOLDED_BYTES_MAX = 512 * 1024 * 1024;
/** Approximate memory of an element, however short it is. */
const ELEMENT_BYTES = 16;

export class PayloadReader {
  readonly #buffer: Buffer;
  #offset = 0;
  #leftBytes: number;

  constructor(buffer: Buffer, unfoldedBytesMax = UNFOLDED_BYTES_MAX) {
    this.#buffer = buffer;
    this.#leftBytes = unfoldedBytesMax;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#buffer.length;
  }

  /** Counts one element of a collection. Bound, so that it can be passed as a function. */
  readonly countElement = (byteCount: number): void => this.#take(byteCount + ELEMENT_BYTES);

  byte(): number {
    return this.#buffer[this.#advance(1)] as number;
  }

  /** A count or a length; one above 2^53 is refused, since nothing is that long. */
  length(): number {
    const first = this.byte();
    if (first >= 0xc0) throw badDataFormat;
    return this.#plainLength(first);
  }

  /** A length that represents a number of 64 bits. */
  wholeLength(): Whole {
    const first = this.byte();
    if (first >= 0xc0) throw badDataFormat;
    return first === 0x81 ? wholeOf(this.#buffer.readBigUInt64BE(this.#advance(8))) : this.#plainLength(first);
  }

  /** The number of following elements: at least one, each with at least `bytesEach` bytes in the payload. */
  elementCount(bytesEach: number): number {
    const count = this.countFromZero(bytesEach);
    if (count === 0) throw badDataFormat;
    return count;
  }

  /** As `elementCount`, but may be zero. */
  countFromZero(bytesEach: number): number {
    const count = this.length();
    if (count > (this.#buffer.length - this.#offset) / bytesEach) throw badDataFormat;
    return count;
  }

  /** An element of a collection. */
  element(): Bytes {
    const first = this.#buffer[this.#offset] ?? 0xff;
    if (first < 0xc0) {
      // Most elements: no view of the payload is made.
      const length = this.#plainLength(this.byte());
      const start = this.#advance(length);
      this.countElement(length);
      return cutBytes(this.#buffer, start, start + length);
    }
    const string = this.string();
    this.countElement(string.length);
    return typeof string === "string" ? string : bytesFrom(string);
  }

  /** A string that is a collection in a flat form. */
  blob(): Buffer {
    const string = this.string();
    return typeof string === "string" ? Buffer.from(string, "latin1") : string;
  }

  /** A string: an integer as its digits, anything else as a view of the payload or as separate bytes. */
  string(): Bytes | Buffer {
    const first = this.byte();
    if (first < 0xc0) {
      const length = this.#plainLength(first);
      const start = this.#advance(length);
      return this.#buffer.subarray(start, start + length);
    }
    switch (first) {
      case 0xc0:
        return `${this.#buffer.readInt8(this.#advance(1))}`;
      case 0xc1:
        return `${this.#buffer.readInt16LE(this.#advance(2))}`;
      case 0xc2:
        return `${this.#buffer.readInt32LE(this.#advance(4))}`;
      case 0xc3:
        return this.#compressed();
      default:
        throw badDataFormat;
    }
  }

  /** A double in eight bytes. */
  binaryDouble(): number {
    return this.#buffer.readDoubleLE(this.#advance(8));
  }

  /** This many literal bytes. */
  raw(count: number): Bytes {
    const start = this.#advance(count);
    return bytesFrom(this.#buffer, start, start + count);
  }

  /** Four bytes, lowest first. */
  number32(): number {
    return this.#buffer.readUInt32LE(this.#advance(4));
  }

  /** Eight bytes, lowest first; refused above 2^53. */
  number64(): number {
    const value = this.#buffer.readBigUInt64LE(this.#advance(8));
    if (value > Number.MAX_SAFE_INTEGER) throw badDataFormat;
    return Number(value);
  }

  /** Eight bytes with a sign, lowest first. */
  signed64(): bigint {
    return this.#buffer.readBigInt64LE(this.#advance(8));
  }

  #plainLength(first: number): number {
    if (first < 0x40) return first;
    if (first < 0x80) return ((first & 0x3f) << 8) | this.byte();
    if (first === 0x80) return this.#buffer.readUInt32BE(this.#advance(4));
    if (first !== 0x81) throw badDataFormat;
    const value = this.#buffer.readBigUInt64BE(this.#advance(8));
    if (value > Number.MAX_SAFE_INTEGER) throw badDataFormat;
    return Number(value);
  }

  #compressed(): Buffer {
    const compressedLength = this.length();
    const length = this.length();
    const start = this.#advance(compressedLength);
    this.#take(length);
    const bytes = lzfDecompress(this.#buffer.subarray(start, start + compressedLength), length);
    if (bytes === undefined) throw badDataFormat;
    return bytes;
  }

  /** Skips `count` bytes, which must exist, and returns their start. */
  #advance(count: number): number {
    const start = this.#offset;
    if (count > this.#buffer.length - start) throw badDataFormat;
    this.#offset = start + count;
    return start;
  }

  #take(byteCount: number): void {
    this.#leftBytes -= byteCount;
    if (this.#leftBytes < 0) throw badDataFormat;
  }
}
