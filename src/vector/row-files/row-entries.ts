/**
 * The bytes of a row file. Words are u32, in the byte order of the machine that
 * wrote them: other machines refuse the first word.
 *
 *     head    | magic | format | dimension | index | namespace | segment f64 | 0 … | CRC-32 of the words before |
 *     entry   | CRC-32 of the rest | squared length f32 | version f64 | row f32, padded with zeros to 16 bytes |
 *
 * The head has HEAD_BYTES, and as many entries of one size follow as were written.
 * An entry is whole if its checksum is right; a file without some of its pages, or
 * with pages of zeros, has entries that are not whole.
 */
import { assert } from "../../kernel/assert.ts";
import { crc32 } from "../../kernel/checksum/crc32.ts";
import { rowBytesOf } from "../rows/row-kernel.ts";

export const HEAD_BYTES = 64;
/** The bytes of an entry before its row. */
export const ENTRY_HEAD_BYTES = 16;

/** In a list of records by entry: no record has the row. */
export const NO_RECORD = 0xffff_ffff;

/** "lrw" and a byte that shows the byte order. */
const MAGIC = 0x6c72_7701;
const FORMAT = 1;
const HEAD_WORDS = HEAD_BYTES / 4;
/** The place of the segment as f64. */
const SEGMENT_AT = 3;
const CHECKSUM_BYTES = 4;

/** The rows that a file belongs to. Numbers of indexes and namespaces are never used again. */
export interface RowFileIdentity {
  readonly index: number;
  readonly namespace: number;
  readonly dimension: number;
}

export function entryBytesOf(dimension: number): number {
  return ENTRY_HEAD_BYTES + rowBytesOf(dimension);
}

export function headOf({ index, namespace, dimension }: RowFileIdentity, segment: number): Uint8Array {
  const words = new Uint32Array(HEAD_WORDS);
  words.set([MAGIC, FORMAT, dimension, index, namespace]);
  new Float64Array(words.buffer)[SEGMENT_AT] = segment;
  words[HEAD_WORDS - 1] = headChecksum(words);
  return new Uint8Array(words.buffer);
}

/** Why the first bytes of a file are not the head of this segment; undefined if they are. */
export function headFault(bytes: Uint8Array, identity: RowFileIdentity, segment: number): string | undefined {
  if (bytes.length < HEAD_BYTES) return "it is shorter than its head";
  const words = new Uint32Array(bytes.slice(0, HEAD_BYTES).buffer);
  if (words[0] !== MAGIC) return "it is not a row file of this machine";
  if (words[1] !== FORMAT) return `it has format ${words[1]}, but this version reads format ${FORMAT}`;
  if (words[HEAD_WORDS - 1] !== headChecksum(words)) return "the checksum of its head is wrong";
  const wanted = headOf(identity, segment);
  return wanted.every((byte, i) => byte === bytes[i]) ? undefined : "its head is that of another file";
}

/** The rows that the head of a file names; undefined if it is damaged, or of another machine or format. */
export function identityOf(bytes: Uint8Array): RowFileIdentity | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const words = new Uint32Array(bytes.slice(0, HEAD_BYTES).buffer);
  const [magic, format, dimension = 0, index = 0, namespace = 0] = words;
  if (magic !== MAGIC || format !== FORMAT || words[HEAD_WORDS - 1] !== headChecksum(words)) return undefined;
  return { index, namespace, dimension };
}

function headChecksum(words: Uint32Array): number {
  return crc32(new Uint8Array(words.buffer, words.byteOffset, HEAD_BYTES - CHECKSUM_BYTES));
}

/** A row with what identifies it: its version is unique among all rows of its index. */
export interface VersionedRow {
  readonly version: number;
  /** By the sums of the kernel. */
  readonly squaredLength: number;
  readonly values: Float32Array;
}

/** Consecutive entries in memory. */
export class RowEntries {
  readonly count: number;
  readonly entryBytes: number;
  /** The entries as a file has them. */
  readonly bytes: Uint8Array;
  readonly #dimension: number;
  readonly #words: Uint32Array;
  readonly #floats: Float32Array;
  readonly #doubles: Float64Array;

  /** New entries, which are not whole. */
  static ofCount(dimension: number, count: number): RowEntries {
    return new RowEntries(dimension, { buffer: new ArrayBuffer(count * entryBytesOf(dimension)), start: 0, count });
  }

  /** The entries from `start` bytes on, a multiple of 8. */
  constructor(dimension: number, place: { buffer: ArrayBufferLike; start: number; count: number }) {
    const { buffer, start, count } = place;
    this.count = count;
    this.entryBytes = entryBytesOf(dimension);
    this.#dimension = dimension;
    const byteCount = count * this.entryBytes;
    this.bytes = new Uint8Array(buffer, start, byteCount);
    this.#words = new Uint32Array(buffer, start, byteCount / 4);
    this.#floats = new Float32Array(buffer, start, byteCount / 4);
    this.#doubles = new Float64Array(buffer, start, byteCount / 8);
  }

  /** Writes an entry, of which nothing was written before. */
  put(entry: number, { version, squaredLength, values }: VersionedRow): void {
    assert(values.length === this.#dimension, "a stored row has the dimension of its file");
    const word = this.#wordOf(entry);
    this.#floats[word + 1] = squaredLength;
    this.#doubles[word / 2 + 1] = version;
    this.#floats.set(values, word + ENTRY_HEAD_BYTES / 4);
    this.#words[word] = this.#checksumNow(entry);
  }

  /** Copies an entry of others as it is. */
  copy(entry: number, from: RowEntries, other: number): void {
    const { entryBytes } = this;
    this.bytes.set(from.bytes.subarray(other * entryBytes, (other + 1) * entryBytes), entry * entryBytes);
  }

  /** Whether the entry is as it was written. */
  isWhole(entry: number): boolean {
    return this.checksumOf(entry) === this.#checksumNow(entry);
  }

  /** The stored checksum. */
  checksumOf(entry: number): number {
    return this.#words[this.#wordOf(entry)] as number;
  }

  squaredLengthOf(entry: number): number {
    return this.#floats[this.#wordOf(entry) + 1] as number;
  }

  versionOf(entry: number): number {
    return this.#doubles[this.#wordOf(entry) / 2 + 1] as number;
  }

  /** A view. */
  valuesOf(entry: number): Float32Array {
    const start = this.#wordOf(entry) + ENTRY_HEAD_BYTES / 4;
    return this.#floats.subarray(start, start + this.#dimension);
  }

  #wordOf(entry: number): number {
    return (entry * this.entryBytes) / 4;
  }

  #checksumNow(entry: number): number {
    const start = entry * this.entryBytes;
    return crc32(this.bytes.subarray(start + CHECKSUM_BYTES, start + this.entryBytes));
  }
}
