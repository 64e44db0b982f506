/**
 * Memory for many small blocks, in segments of 1 MiB. A reference to a block is a number: its place in units of 8 bytes.
 *
 * Blocks that grow have a size class and go to a list of free blocks of their class when they are replaced; others are
 * cut to measure and stay until the arena is dropped.
 */
import { assert } from "../../../../kernel/assert.ts";

const UNIT_BYTES = 8;
const SEGMENT_UNIT_BITS = 17;
const SEGMENT_UNITS = 1 << SEGMENT_UNIT_BITS;
/** The first segment begins with this, so that a small index is small. */
const FIRST_BYTES = 2_048;

/** A reference to nothing. */
export const NO_BLOCK = 0;

export class ByteArena {
  /** By the number of the segment. A first segment that grows is replaced. */
  readonly bytes: Uint8Array[] = [];
  /** The same memory. */
  readonly words: Uint32Array[] = [];
  readonly #free = new Uint32Array(classBytes.length);
  #segment = 0;
  /** In units, within the segment. Block 0 is nobody's. */
  #end = 1;
  #memoryBytes = 0;

  constructor() {
    this.#setSegment(0, FIRST_BYTES);
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** A block of exactly this many bytes, which is never freed. Its bytes may be any. */
  allocate(byteCount: number): number {
    const units = Math.ceil(byteCount / UNIT_BYTES);
    if (units > SEGMENT_UNITS) return this.#allocateLarge(units);
    if (this.#end + units > SEGMENT_UNITS) {
      this.#segment = this.#addSegments(1, SEGMENT_UNITS);
      this.#end = 0;
    }
    const reference = this.#segment * SEGMENT_UNITS + this.#end;
    this.#end += units;
    if (this.#segment === 0) this.#growFirst();
    return reference;
  }

  /** A block of a size class. */
  take(sizeClass: number): number {
    const free = this.#free[sizeClass] as number;
    if (free === NO_BLOCK) return this.allocate(classBytes[sizeClass] as number);
    this.#free[sizeClass] = this.wordsOf(free)[wordOffset(free)] as number;
    return free;
  }

  /** Gives back a block of a size class. */
  free(reference: number, sizeClass: number): void {
    this.wordsOf(reference)[wordOffset(reference)] = this.#free[sizeClass] as number;
    this.#free[sizeClass] = reference;
  }

  bytesOf(reference: number): Uint8Array {
    return this.bytes[reference >>> SEGMENT_UNIT_BITS] as Uint8Array;
  }

  wordsOf(reference: number): Uint32Array {
    return this.words[reference >>> SEGMENT_UNIT_BITS] as Uint32Array;
  }

  #allocateLarge(units: number): number {
    return this.#addSegments(Math.ceil(units / SEGMENT_UNITS), units) * SEGMENT_UNITS;
  }

  /** Adds one segment that has the numbers of `count` segments; returns its first number. */
  #addSegments(count: number, units: number): number {
    const number = this.bytes.length;
    assert((number + count) * SEGMENT_UNITS <= 2 ** 32, "an arena has at most 32 GiB");
    this.#setSegment(number, units * UNIT_BYTES);
    for (let i = 1; i < count; i += 1) this.#setSegment(number + i, 0);
    return number;
  }

  #growFirst(): void {
    const { length } = this.bytes[0] as Uint8Array;
    if (this.#end * UNIT_BYTES <= length) return;
    const old = this.bytes[0] as Uint8Array;
    this.#memoryBytes -= length;
    let larger = 2 * length;
    while (larger < this.#end * UNIT_BYTES) larger *= 2;
    this.#setSegment(0, Math.min(larger, SEGMENT_UNITS * UNIT_BYTES));
    (this.bytes[0] as Uint8Array).set(old);
  }

  #setSegment(number: number, byteCount: number): void {
    const buffer = new ArrayBuffer(byteCount);
    this.bytes[number] = new Uint8Array(buffer);
    this.words[number] = new Uint32Array(buffer);
    this.#memoryBytes += byteCount;
  }
}

/** Where a block begins in the bytes of its segment. */
export function byteOffset(reference: number): number {
  return (reference & (SEGMENT_UNITS - 1)) * UNIT_BYTES;
}

/** Where a block begins in the words of its segment. */
export function wordOffset(reference: number): number {
  return (reference & (SEGMENT_UNITS - 1)) * 2;
}

/** The sizes of the classes, in bytes: each is a third or a half larger than the one before. */
export const classBytes: readonly number[] = (() => {
  const sizes = [8];
  for (let size = 16; size < 2 ** 31; size *= 2) sizes.push(size, size + size / 2);
  return sizes;
})();

/** The smallest class, from `first` on, whose blocks have this many bytes. */
export function classFor(byteCount: number, first: number): number {
  let sizeClass = first;
  while ((classBytes[sizeClass] as number) < byteCount) sizeClass += 1;
  return sizeClass;
}
