/**
 * Ids of numbers: a hash table of doubles that takes 6 to 11 bytes for each
 * number besides the number itself. A `Map` takes about 50, and a field of times
 * or prices has as many values as there are records. The table grows by splitting
 * one of many segments, so that no insertion waits for all numbers to move.
 *
 * (1) A slot holds the id of a number, or 0. The number of id i is `numbers[i]`,
 *     which belongs to the owner of the table.
 * (2) No slot between a number's home slot and its slot is empty. Removing a
 *     number moves later ones back instead of leaving a mark.
 * (3) A segment of depth d is in the 2^(D-d) entries of the directory, of 2^D,
 *     that begin with the same d bits: those of the hashes of its numbers.
 *
 * The hash is seeded, so chosen numbers do not determine the slots.
 */
import { secretBytes } from "../../kernel/random.ts";

interface Segment {
  readonly depth: number;
  /** Its length is a power of two. */
  slots: Uint32Array;
  count: number;
}

const SLOTS_MIN = 16;
/** A full segment of this many slots is split, which takes about 0.1 ms. */
const SLOTS_MAX = 4_096;
/** Beyond this depth a segment grows: only more than a hundred million numbers need it. */
const DEPTH_MAX = 16;

const hashSeed = secretBytes(4).readInt32LE(0);
const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

export class NumberTable {
  #directory: Segment[] = [{ depth: 0, slots: new Uint32Array(SLOTS_MIN), count: 0 }];
  #depth = 0;
  #slotCount = SLOTS_MIN;

  get byteCount(): number {
    return this.#slotCount * Uint32Array.BYTES_PER_ELEMENT;
  }

  /** The id of a number that is not -0, or 0. */
  find(number: number, numbers: Float64Array): number {
    const hash = hashOf(number);
    const { slots } = this.#segmentOf(hash);
    const mask = slots.length - 1;
    let at = hash & mask;
    for (;;) {
      const id = slots[at] as number;
      if (id === 0 || numbers[id] === number) return id;
      at = (at + 1) & mask;
    }
  }

  /** Adds `numbers[id]`, which has no id yet and is not -0. */
  add(id: number, numbers: Float64Array): void {
    const hash = hashOf(numbers[id] as number);
    let segment = this.#segmentOf(hash);
    while (4 * (segment.count + 1) > 3 * segment.slots.length) {
      if (segment.slots.length < SLOTS_MAX || segment.depth === DEPTH_MAX) this.#grow(segment, numbers);
      else this.#split(segment, numbers);
      segment = this.#segmentOf(hash);
    }
    place(segment, id, hash);
  }

  /** Removes `numbers[id]`, which has this id. */
  remove(id: number, numbers: Float64Array): void {
    const hash = hashOf(numbers[id] as number);
    const segment = this.#segmentOf(hash);
    const { slots } = segment;
    const mask = slots.length - 1;
    let hole = hash & mask;
    while (slots[hole] !== id) hole = (hole + 1) & mask;
    // keeps (2)
    for (let at = (hole + 1) & mask; slots[at] !== 0; at = (at + 1) & mask) {
      const moving = slots[at] as number;
      const home = hashOf(numbers[moving] as number) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots[hole] = moving;
      hole = at;
    }
    slots[hole] = 0;
    segment.count -= 1;
  }

  #segmentOf(hash: number): Segment {
    return this.#directory[leading(hash, this.#depth)] as Segment;
  }

  #grow(segment: Segment, numbers: Float64Array): void {
    const before = segment.slots;
    segment.slots = new Uint32Array(2 * before.length);
    segment.count = 0;
    this.#slotCount += before.length;
    for (const id of before) if (id !== 0) place(segment, id, hashOf(numbers[id] as number));
  }

  #split(segment: Segment, numbers: Float64Array): void {
    const depth = segment.depth + 1;
    if (depth > this.#depth) {
      this.#directory = this.#directory.flatMap((each) => [each, each]);
      this.#depth = depth;
    }
    const halves = [0, 1].map((): Segment => ({ depth, slots: new Uint32Array(SLOTS_MAX), count: 0 }));
    this.#slotCount += SLOTS_MAX;
    for (const id of segment.slots) {
      if (id === 0) continue;
      const hash = hashOf(numbers[id] as number);
      place(halves[leading(hash, depth) & 1] as Segment, id, hash);
    }
    // keeps (3)
    for (let at = this.#directory.indexOf(segment); this.#directory[at] === segment; at += 1)
      this.#directory[at] = halves[(at >>> (this.#depth - depth)) & 1] as Segment;
  }
}

function place(segment: Segment, id: number, hash: number): void {
  const { slots } = segment;
  const mask = slots.length - 1;
  let at = hash & mask;
  while (slots[at] !== 0) at = (at + 1) & mask;
  slots[at] = id;
  segment.count += 1;
}

/** The first bits of a hash, as a number. */
function leading(hash: number, bitCount: number): number {
  // In two steps, because a shift by 32 does nothing.
  return (hash >>> 1) >>> (31 - bitCount);
}

function hashOf(number: number): number {
  double[0] = number;
  let hash = Math.imul((halves[0] as number) ^ hashSeed, 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ (halves[1] as number), 0xc2b2_ae35);
  hash = Math.imul(hash ^ (hash >>> 13), 0x27d4_eb2f);
  return hash ^ (hash >>> 16);
}
