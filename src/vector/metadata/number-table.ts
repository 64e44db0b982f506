/**
 * Ids of numbers: a hash table of doubles that takes 8 to 16 bytes for each
 * beside the number itself. A `Map` takes about 50, and a field of times or
 * prices has as many values as there are records.
 *
 * (1) A slot holds the id of a number, or 0. The number of id i is `numbers[i]`,
 *     which belongs to whoever owns the table.
 * (2) Between a number's home slot and its slot none is empty. Removing moves
 *     later ones back instead of leaving a mark.
 *
 * The hash is seeded: whoever chooses the numbers does not choose the slots.
 */
import { secretBytes } from "../../kernel/random.ts";

const SLOTS_MIN = 16;

const hashSeed = Buffer.from(secretBytes(4)).readInt32LE(0);
const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

export class NumberTable {
  /** Its length is a power of two. */
  #slots = new Uint32Array(SLOTS_MIN);
  #count = 0;

  get byteCount(): number {
    return this.#slots.byteLength;
  }

  /** The id of a number, or 0. */
  find(number: number, numbers: Float64Array): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hashOf(number) & mask;
    for (;;) {
      const id = slots[at] as number;
      if (id === 0 || numbers[id] === number) return id;
      at = (at + 1) & mask;
    }
  }

  /** Adds `numbers[id]`, which has no id yet. */
  add(id: number, numbers: Float64Array): void {
    if (4 * (this.#count + 1) > 3 * this.#slots.length) this.#grow(numbers);
    this.#place(id, numbers);
    this.#count += 1;
  }

  /** Removes `numbers[id]`, which has this id. */
  remove(id: number, numbers: Float64Array): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let hole = hashOf(numbers[id] as number) & mask;
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
    this.#count -= 1;
  }

  #place(id: number, numbers: Float64Array): void {
    const mask = this.#slots.length - 1;
    let at = hashOf(numbers[id] as number) & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = id;
  }

  #grow(numbers: Float64Array): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 1) if (before[at] !== 0) this.#place(before[at] as number, numbers);
  }
}

/** 0 and -0 are one number, and hash as one: the caller has made -0 into 0. */
function hashOf(number: number): number {
  double[0] = number;
  let hash = Math.imul((halves[0] as number) ^ hashSeed, 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ (halves[1] as number), 0xc2b2_ae35);
  hash = Math.imul(hash ^ (hash >>> 13), 0x27d4_eb2f);
  return hash ^ (hash >>> 16);
}
