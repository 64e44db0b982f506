/**
 * A HyperLogLog in the bytes of Redis: 16384 registers, each with the longest
 * run of zeros at the start of a hash of its share.
 *
 *     header   | HYLL | encoding u8 | 0 0 0 | cardinality u64, low first |     highest bit: cardinality is invalid
 *     dense    six bits a register, from the lowest bit of the first byte on
 *     sparse   00nnnnnn            n + 1 registers of zero
 *              01nnnnnn nnnnnnnn   n + 1 registers of zero
 *              1vvvvvnn            n + 1 registers of v + 1
 *
 * The sparse form becomes dense when a register exceeds 32 or when it would grow
 * beyond `SPARSE_BYTES_MAX`, never back. Runs are split and joined exactly as in
 * Redis, so that a key has the same bytes in both.
 *
 * The bytes come from a string that any client may have written: if they do not
 * cover exactly 16384 registers, that is `corruptedHyperLogLog`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { corruptedHyperLogLog, notHyperLogLog } from "../errors.ts";
import { hashed, murmurHash64 } from "./hashing/murmur-hash.ts";
import { estimate } from "./hyperloglog-estimate.ts";

export const REGISTER_COUNT = 16_384;
/** Redis' hll-sparse-max-bytes. */
export const SPARSE_BYTES_MAX = 3_000;

const HEADER_BYTES = 16;
const DENSE_BYTES = HEADER_BYTES + (REGISTER_COUNT * 6) / 8;
const MAGIC: Bytes = "HYLL";
const ENCODING_AT = 4;
/** The offset of the last count in the string, in eight bytes. */
export const CARDINALITY_AT = 8;
const DENSE = 0;
const SPARSE = 1;
/** In the last byte of the header. */
const STALE_AT = 15;
const STALE_BIT = 0x80;

const ZERO_RUN_MAX = 64;
const VALUE_RUN_MAX = 4;
const SPARSE_VALUE_MAX = 32;
/** Runs that are checked for equal neighbours after a change. */
const JOIN_RUNS_MAX = 5;
/** The most by which one change lengthens the sparse form. */
const GROWTH_BYTES_MAX = 4;

/** Register and rank of an element. */
export interface Raise {
  readonly register: number;
  readonly rank: number;
}

export function raiseOf(element: Bytes): Raise {
  murmurHash64(element);
  // The lowest 14 bits choose the register; the zeros below the lowest one of the other 50 are counted.
  const low = (hashed.low >>> 14) | (hashed.high << 18) | 0;
  const high = (hashed.high >>> 14) | 0x4_0000;
  const zeros = low !== 0 ? 31 - Math.clz32(low & -low) : 63 - Math.clz32(high & -high);
  return { register: hashed.low & (REGISTER_COUNT - 1), rank: zeros + 1 };
}

/** The stored form of a count at `CARDINALITY_AT`. */
export function cardinalityBytes(count: number | bigint): Bytes {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(count)));
  return bytes.latin1Slice();
}

export class HyperLogLog {
  #buffer: Buffer;
  #length: number;
  /** False while a sparse one reads foreign bytes. */
  #isOwn = false;

  private constructor(buffer: Buffer, length: number) {
    this.#buffer = buffer;
    this.#length = length;
  }

  /** An empty one, as PFADD creates it. */
  static empty(): HyperLogLog {
    const buffer = Buffer.alloc(64);
    buffer.latin1Write(`${MAGIC}\x01`);
    // One run over all registers.
    buffer[HEADER_BYTES] = 0x7f;
    buffer[HEADER_BYTES + 1] = 0xff;
    return new HyperLogLog(buffer, HEADER_BYTES + 2);
  }

  /**
   * Uses the bytes directly, and changes them in place while they are dense; a sparse one moves into its own buffer at
   * the first change. Throws `notHyperLogLog`.
   */
  static from(bytes: Buffer): HyperLogLog {
    const encoding = bytes[ENCODING_AT] as number;
    if (
      bytes.length < HEADER_BYTES ||
      bytes.latin1Slice(0, 4) !== MAGIC ||
      encoding > SPARSE ||
      (encoding === DENSE && bytes.length !== DENSE_BYTES)
    )
      throw notHyperLogLog;
    return new HyperLogLog(bytes, bytes.length);
  }

  /** The bytes: valid until the next change. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  get isDense(): boolean {
    return this.#buffer[ENCODING_AT] === DENSE;
  }

  /** The result of the last count, or undefined if there were changes since. */
  get cachedCardinality(): bigint | undefined {
    if (((this.#buffer[STALE_AT] as number) & STALE_BIT) !== 0) return undefined;
    return this.#buffer.readBigUInt64LE(CARDINALITY_AT);
  }

  markStale(): void {
    this.#buffer[STALE_AT] = (this.#buffer[STALE_AT] as number) | STALE_BIT;
  }

  /** The approximate number of distinct added elements. Throws `corruptedHyperLogLog`. */
  count(): number | bigint {
    const ranks = new Uint8Array(REGISTER_COUNT);
    this.raiseInto(ranks);
    return estimate(ranks);
  }

  /** Raises each of `ranks` to that of its register here. Throws `corruptedHyperLogLog`. */
  raiseInto(ranks: Uint8Array): void {
    if (this.isDense) {
      for (let register = 0; register < REGISTER_COUNT; register += 1) {
        const rank = this.#denseRank(register);
        if (rank > (ranks[register] as number)) ranks[register] = rank;
      }
      return;
    }
    let register = 0;
    for (let at = HEADER_BYTES; at < this.#length; at += this.#runBytes(at)) {
      const rank = this.#runRank(at);
      const end = register + this.#runLength(at);
      if (end > REGISTER_COUNT) throw corruptedHyperLogLog;
      if (rank > 0) for (let i = register; i < end; i += 1) if (rank > (ranks[i] as number)) ranks[i] = rank;
      register = end;
    }
    if (register !== REGISTER_COUNT) throw corruptedHyperLogLog;
  }

  /** True if the register was lower. Throws `corruptedHyperLogLog`. */
  raise({ register, rank }: Raise): boolean {
    return this.isDense ? this.#raiseDense(register, rank) : this.#raiseSparse(register, rank);
  }

  /** Converts the sparse form to the dense one. Throws `corruptedHyperLogLog`. */
  makeDense(): void {
    if (this.isDense) return;
    const ranks = new Uint8Array(REGISTER_COUNT);
    this.raiseInto(ranks);
    const dense = Buffer.alloc(DENSE_BYTES);
    this.#buffer.copy(dense, 0, 0, HEADER_BYTES);
    dense[ENCODING_AT] = DENSE;
    this.#buffer = dense;
    this.#length = DENSE_BYTES;
    for (let register = 0; register < REGISTER_COUNT; register += 1) {
      const rank = ranks[register] as number;
      if (rank > 0) this.#setDense(register, rank);
    }
  }

  #denseRank(register: number): number {
    const at = HEADER_BYTES + ((register * 6) >>> 3);
    const shift = (register * 6) & 7;
    // The last register ends with the last byte; a missing next byte counts as zero.
    return (((this.#buffer[at] as number) | ((this.#buffer[at + 1] ?? 0) << 8)) >>> shift) & 0x3f;
  }

  #setDense(register: number, rank: number): void {
    const at = HEADER_BYTES + ((register * 6) >>> 3);
    const shift = (register * 6) & 7;
    this.#buffer[at] = ((this.#buffer[at] as number) & ~(0x3f << shift)) | (rank << shift);
    if (shift <= 2) return;
    this.#buffer[at + 1] = ((this.#buffer[at + 1] as number) & ~(0x3f >>> (8 - shift))) | (rank >>> (8 - shift));
  }

  #raiseDense(register: number, rank: number): boolean {
    if (this.#denseRank(register) >= rank) return false;
    this.#setDense(register, rank);
    return true;
  }

  #runBytes(at: number): number {
    return ((this.#buffer[at] as number) & 0xc0) === 0x40 ? 2 : 1;
  }

  #runLength(at: number): number {
    const first = this.#buffer[at] as number;
    if (first >= 0x80) return (first & 3) + 1;
    if (first < 0x40) return (first & 0x3f) + 1;
    // A long run that is cut ends in a zero, as C strings do.
    const second = at + 1 < this.#length ? (this.#buffer[at + 1] as number) : 0;
    return (((first & 0x3f) << 8) | second) + 1;
  }

  /** 0 for a run of zeros. */
  #runRank(at: number): number {
    const first = this.#buffer[at] as number;
    return first >= 0x80 ? ((first >>> 2) & 0x1f) + 1 : 0;
  }

  #raiseSparse(register: number, rank: number): boolean {
    if (rank > SPARSE_VALUE_MAX) return this.#raiseBeyondSparse(register, rank);

    // The run that contains the register, and the one before it.
    let at = HEADER_BYTES;
    let before = HEADER_BYTES;
    let first = 0;
    let length = 0;
    for (; at < this.#length; at += this.#runBytes(at)) {
      length = this.#runLength(at);
      if (register < first + length) break;
      before = at;
      first += length;
    }
    if (at >= this.#length) throw corruptedHyperLogLog;

    const oldRank = this.#runRank(at);
    if (oldRank >= rank) return false;
    const oldBytes = this.#runBytes(at);
    if (length === 1 && oldBytes === 1) {
      this.#reserve();
      this.#buffer[at] = valueRun(rank, 1);
    } else {
      // Split into the part before the register, the register, and the part after it.
      const runs: number[] = [];
      pushRun(runs, oldRank, register - first);
      runs.push(valueRun(rank, 1));
      pushRun(runs, oldRank, first + length - 1 - register);
      const growth = runs.length - oldBytes;
      if (growth > 0 && this.#length + growth > SPARSE_BYTES_MAX) return this.#raiseBeyondSparse(register, rank);
      this.#reserve();
      this.#buffer.copy(this.#buffer, at + runs.length, at + oldBytes, this.#length);
      this.#buffer.set(runs, at);
      this.#length += growth;
    }
    this.#joinRuns(before);
    return true;
  }

  #raiseBeyondSparse(register: number, rank: number): boolean {
    this.makeDense();
    return this.#raiseDense(register, rank);
  }

  /** Joins neighbouring runs of the same value from `start` on, as far as Redis does. */
  #joinRuns(start: number): void {
    let at = start;
    for (let left = JOIN_RUNS_MAX; left > 0 && at < this.#length; left -= 1) {
      const rank = this.#runRank(at);
      if (rank > 0 && at + 1 < this.#length && this.#runRank(at + 1) === rank) {
        const length = this.#runLength(at) + this.#runLength(at + 1);
        if (length <= VALUE_RUN_MAX) {
          this.#buffer[at + 1] = valueRun(rank, length);
          this.#buffer.copy(this.#buffer, at, at + 1, this.#length);
          this.#length -= 1;
          // The same position again: the joined run may be joined once more.
          continue;
        }
      }
      at += this.#runBytes(at);
    }
  }

  /** Reserves space for one change in its own buffer, since the bytes may be foreign. */
  #reserve(): void {
    if (this.#isOwn && this.#length + GROWTH_BYTES_MAX <= this.#buffer.length) return;
    const grown = Buffer.alloc(this.#length + 64 + (this.#length >>> 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    this.#isOwn = true;
  }
}

function valueRun(rank: number, length: number): number {
  return 0x80 | ((rank - 1) << 2) | (length - 1);
}

function pushRun(runs: number[], rank: number, length: number): void {
  if (length === 0) return;
  if (rank > 0) runs.push(valueRun(rank, length));
  else if (length <= ZERO_RUN_MAX) runs.push(length - 1);
  else runs.push(0x40 | ((length - 1) >>> 8), (length - 1) & 0xff);
}
