/**
 * Many keys in order, without a long pause: first those that have a rank, by their ranks, then the others by their bytes,
 * which are sorted in short runs while they are collected, and merged while they are taken.
 *
 * There is no object for a key: those of 100,000 keys would be copied by the next collections of young objects, which took
 * 30 ms at a time.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

/** A sort of so many takes less than a millisecond. */
const RUN_LENGTH_MAX = 1_000;
/** Ranks of a page: no array has to grow with their number. */
const PAGE_BITS = 12;
const PAGE_RANKS = 1 << PAGE_BITS;

type Page = (Bytes | undefined)[];

interface Run {
  readonly keys: readonly Bytes[];
  at: number;
}

export class SortedKeys {
  readonly #rankOf: (key: Bytes) => number | undefined;
  /** By rank. */
  readonly #pages: (Page | undefined)[] = [];
  /** Ranks below it were taken. */
  #rank = 0;
  #open: Bytes[] = [];
  /** A binary heap by the next key of each run. */
  readonly #heap: Run[] = [];
  #count = 0;

  constructor(rankOf: (key: Bytes) => number | undefined) {
    this.#rankOf = rankOf;
  }

  /** Keys that were added and not taken. */
  get count(): number {
    return this.#count;
  }

  add(key: Bytes): void {
    this.#count += 1;
    const rank = this.#rankOf(key);
    if (rank !== undefined && this.#putAt(rank, key)) return;
    this.#open.push(key);
    if (this.#open.length === RUN_LENGTH_MAX) this.#closeRun();
  }

  /** False if another key has the rank already. */
  #putAt(rank: number, key: Bytes): boolean {
    const number = rank >>> PAGE_BITS;
    while (number >= this.#pages.length) this.#pages.push(undefined);
    const page = this.#pages[number] ?? new Array<Bytes | undefined>(PAGE_RANKS).fill(undefined);
    this.#pages[number] = page;
    const at = rank & (PAGE_RANKS - 1);
    if (page[at] !== undefined) return false;
    page[at] = key;
    return true;
  }

  /** The next key, or undefined after the last. No key may be added afterwards. */
  take(): Bytes | undefined {
    if (this.#count === 0) return undefined;
    this.#count -= 1;
    return this.#takeRanked() ?? this.#takeOther();
  }

  #takeRanked(): Bytes | undefined {
    while (this.#rank < this.#pages.length * PAGE_RANKS) {
      const page = this.#pages[this.#rank >>> PAGE_BITS];
      const key = page?.[this.#rank & (PAGE_RANKS - 1)];
      this.#rank += page === undefined ? PAGE_RANKS : 1;
      if (key !== undefined) return key;
    }
    return undefined;
  }

  #takeOther(): Bytes | undefined {
    if (this.#open.length > 0) this.#closeRun();
    const heap = this.#heap;
    const run = heap[0];
    if (run === undefined) return undefined;
    const key = run.keys[run.at];
    run.at += 1;
    if (run.at === run.keys.length) {
      const last = heap.pop() as Run;
      if (heap.length === 0) return key;
      heap[0] = last;
    }
    this.#sink();
    return key;
  }

  #closeRun(): void {
    const heap = this.#heap;
    // Strings of bytes compare as their bytes do.
    const run = { keys: this.#open.sort(), at: 0 };
    this.#open = [];
    let hole = heap.push(run) - 1;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!isAfter(heap[parent] as Run, run)) break;
      heap[hole] = heap[parent] as Run;
      hole = parent;
    }
    heap[hole] = run;
  }

  /** Moves the first run down to its place. */
  #sink(): void {
    const heap = this.#heap;
    const run = heap[0] as Run;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isAfter(heap[child] as Run, heap[child + 1] as Run)) child += 1;
      if (!isAfter(run, heap[child] as Run)) break;
      heap[hole] = heap[child] as Run;
      hole = child;
    }
    heap[hole] = run;
  }
}

function isAfter(one: Run, other: Run): boolean {
  return (one.keys[one.at] as Bytes) > (other.keys[other.at] as Bytes);
}

/**
 * The ranks of hashes, in the order in which they are added: an open table with room for all of them from the start, so
 * that none is ever moved.
 */
export class HashRanks {
  readonly #hashes: Float64Array;
  /** By slot: the rank plus 1, 0 if the slot is free. */
  readonly #ranks: Uint32Array;
  readonly #mask: number;
  /** Secret, so that nobody can choose keys whose hashes are in one place. */
  readonly #seeds: Int32Array;
  #count = 0;

  /** @param count how many hashes are going to be added */
  constructor(count: number, seed: Uint8Array) {
    this.#seeds = new Int32Array(seed.slice().buffer);
    const slots = 2 ** (33 - Math.clz32(count));
    this.#hashes = new Float64Array(slots);
    this.#ranks = new Uint32Array(slots);
    this.#mask = slots - 1;
  }

  /** Hashes that were added. */
  get count(): number {
    return this.#count;
  }

  add(hash: number): void {
    const slot = this.#slotOf(hash);
    this.#count += 1;
    this.#hashes[slot] = hash;
    this.#ranks[slot] = this.#count;
  }

  rankOf(hash: number): number | undefined {
    const rank = this.#ranks[this.#slotOf(hash)] as number;
    return rank === 0 ? undefined : rank - 1;
  }

  /** The slot of a hash, or a free one. */
  #slotOf(hash: number): number {
    const low = Math.imul((hash | 0) ^ (this.#seeds[0] as number), 0x9e37_79b1);
    const mixed = Math.imul(low ^ (hash / 2 ** 32) ^ (this.#seeds[1] as number), 0x85eb_ca6b);
    let slot = (mixed ^ (mixed >>> 15)) & this.#mask;
    while (this.#ranks[slot] !== 0 && this.#hashes[slot] !== hash) slot = (slot + 1) & this.#mask;
    return slot;
  }
}
