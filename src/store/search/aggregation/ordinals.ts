/** Small numbers for values and for pairs, in the order in which they were first seen. */
import type { Spend } from "../index/index-reader.ts";

/** Numbers in a growing array. */
export class Uint32List {
  #numbers = new Uint32Array(64);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(number: number): void {
    if (this.#length === this.#numbers.length) this.#numbers = grown(this.#numbers);
    this.#numbers[this.#length] = number;
    this.#length += 1;
  }

  at(index: number): number {
    return this.#numbers[index] as number;
  }

  set(index: number, number: number): void {
    this.#numbers[index] = number;
  }

  /** The numbers so far; after the next `push` perhaps a copy. */
  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.#length);
  }
}

function grown(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(64, 2 * numbers.length));
  larger.set(numbers);
  return larger;
}

const bits = new Float64Array(1);
const halves = new Uint32Array(bits.buffer);

/** Slots that a look-up passes without cost. */
const FREE_SLOTS = 16;

/**
 * Distinct numbers. -0 is 0, and a bigint never equals a number, because it is beyond the safe integers.
 *
 * Values can be chosen so that all have one hash, and then each look-up passes the slots of all before it. So the slots
 * that it passes are spent, and such an aggregation ends at the limit of its command.
 */
export class NumberOrdinals {
  readonly #spend: Spend;
  /** Ordinal plus one of the number in each slot; 0: the slot is free. A power of two. */
  #slots = new Uint32Array(64);
  #values = new Float64Array(32);
  #count = 0;
  /** By ordinal: values that are bigints. Their places in `#values` are not used. */
  #bigints: Map<number, bigint> | undefined;
  #ordinalsOfBigints: Map<bigint, number> | undefined;

  constructor(spend: Spend) {
    this.#spend = spend;
  }

  get count(): number {
    return this.#count;
  }

  valueAt(ordinal: number): number | bigint {
    return this.#bigints?.get(ordinal) ?? (this.#values[ordinal] as number);
  }

  ordinalOf(value: number | bigint): number {
    if (typeof value === "bigint") return this.#ordinalOfBigint(value);
    const plain = value + 0;
    const mask = this.#slots.length - 1;
    const first = hashOf(plain) & mask;
    let slot = first;
    let found = this.#slots[slot] as number;
    while (found !== 0 && this.#values[found - 1] !== plain) {
      slot = (slot + 1) & mask;
      found = this.#slots[slot] as number;
    }
    const passed = (slot - first) & mask;
    if (passed > FREE_SLOTS) this.#spend(passed);
    return found === 0 ? this.#add(slot, plain) : found - 1;
  }

  #add(slot: number, value: number): number {
    const ordinal = this.#next();
    this.#values[ordinal] = value;
    this.#slots[slot] = ordinal + 1;
    if (2 * this.#count > this.#slots.length) this.#enlarge();
    return ordinal;
  }

  #ordinalOfBigint(value: bigint): number {
    this.#bigints ??= new Map();
    this.#ordinalsOfBigints ??= new Map();
    const known = this.#ordinalsOfBigints.get(value);
    if (known !== undefined) return known;
    const ordinal = this.#next();
    // NaN equals no number.
    this.#values[ordinal] = Number.NaN;
    this.#bigints.set(ordinal, value);
    this.#ordinalsOfBigints.set(value, ordinal);
    return ordinal;
  }

  #next(): number {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(2 * this.#values.length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#count += 1;
    return this.#count - 1;
  }

  #enlarge(): void {
    const slots = new Uint32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let ordinal = 0; ordinal < this.#count; ordinal += 1) {
      const value = this.#values[ordinal] as number;
      if (Number.isNaN(value)) continue;
      let slot = hashOf(value) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = ordinal + 1;
    }
    this.#slots = slots;
  }
}

function hashOf(value: number): number {
  bits[0] = value;
  const mixed = Math.imul((halves[0] as number) ^ Math.imul(halves[1] as number, 0x9e37_79b1), 0x85eb_ca6b);
  return mixed ^ (mixed >>> 15);
}

/** The table of pairs takes at most 16 MB; above that a hash is used. */
const TABLE_ENTRIES_MAX = 2 ** 22;
/** Above all keys: owners times this are safe integers. */
const KEYS_MAX = 2 ** 29;

/**
 * The pairs of an owner and a key that occur, numbered from 0 in the order of their first occurrence: each is a bucket of
 * an owner, called a cell. It counts the documents of each.
 */
export class Cells {
  /** Cell plus one of each pair; 0: the pair has no cell yet. */
  #table: Uint32Array | undefined;
  readonly #keyLimit: number;
  readonly #hash: NumberOrdinals | undefined;
  readonly #owners = new Uint32List();
  readonly #keys = new Uint32List();
  readonly #counts = new Uint32List();
  /** The place plus one of the document that was counted last. */
  readonly #places = new Uint32List();

  /** Keys are below `keyLimit`, which is undefined if it is not known yet. */
  constructor(
    ownerCount: number,
    { keyLimit, spend }: { readonly keyLimit: number | undefined; readonly spend: Spend },
  ) {
    if (ownerCount === 1) {
      // Keys are dense, so the table grows with them.
      this.#keyLimit = 0;
      this.#table = new Uint32Array(keyLimit ?? 64);
    } else if (keyLimit !== undefined && ownerCount * keyLimit <= TABLE_ENTRIES_MAX) {
      this.#keyLimit = keyLimit;
      this.#table = new Uint32Array(ownerCount * keyLimit);
    } else {
      this.#keyLimit = KEYS_MAX;
      this.#hash = new NumberOrdinals(spend);
    }
  }

  get count(): number {
    return this.#counts.length;
  }

  ownerOf(cell: number): number {
    return this.#owners.at(cell);
  }

  keyOf(cell: number): number {
    return this.#keys.at(cell);
  }

  /** Documents in a cell. */
  countOf(cell: number): number {
    return this.#counts.at(cell);
  }

  /**
   * Counts the document at `place` of the group in the cell of an owner and a key, once. Returns the cell, or -1 if the
   * document was in it already.
   */
  add(place: number, owner: number, key: number): number {
    const cell = this.cellOf(owner, key);
    if (this.#places.at(cell) === place + 1) return -1;
    this.#places.set(cell, place + 1);
    this.#counts.set(cell, this.#counts.at(cell) + 1);
    return cell;
  }

  /** The number of documents of each cell, to count one in the cell of its only key; until the next cell is made. */
  get counts(): Uint32Array {
    return this.#counts.numbers;
  }

  /** The cell of an owner and a key. */
  cellOf(owner: number, key: number): number {
    const pair = owner * this.#keyLimit + key;
    if (this.#table !== undefined) {
      while (pair >= this.#table.length) this.#table = grown(this.#table);
      const found = this.#table[pair] as number;
      if (found !== 0) return found - 1;
      this.#table[pair] = this.count + 1;
    } else {
      const cell = (this.#hash as NumberOrdinals).ordinalOf(pair);
      if (cell < this.count) return cell;
    }
    this.#owners.push(owner);
    this.#keys.push(key);
    this.#counts.push(0);
    this.#places.push(0);
    return this.count - 1;
  }

  /** The cells of each owner, in the order of their first occurrence. */
  byOwner(ownerCount: number): (owner: number) => Uint32Array {
    const starts = new Uint32Array(ownerCount + 1);
    for (const owner of this.#owners.numbers) starts[owner + 1] = (starts[owner + 1] as number) + 1;
    for (let owner = 0; owner < ownerCount; owner += 1)
      starts[owner + 1] = (starts[owner + 1] as number) + (starts[owner] as number);
    const ends = starts.slice();
    const sorted = new Uint32Array(this.count);
    for (let cell = 0; cell < this.count; cell += 1) {
      const owner = this.#owners.at(cell);
      sorted[ends[owner] as number] = cell;
      ends[owner] = (ends[owner] as number) + 1;
    }
    return (owner) => sorted.subarray(starts[owner], starts[owner + 1]);
  }
}
