/**
 * Keys with a time each, the earliest first, and equal times in the order of the keys, so that the order does not depend
 * on the history. A key that gets another time is moved in the heap: a second entry would be left over, and many of those
 * would have to be dropped at once.
 *
 * (1) `#slots` and `#moments` are a binary heap, and `#places` has the place of each key in it.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { Dictionary } from "./dictionary.ts";

/** Memory of an entry of the heap: its slot and its time. */
const ENTRY_BYTES = 16;

export class DueKeys {
  /** Heap entries that were moved so far. Only grows; a test of the work reads it. */
  moves = 0;
  readonly #places: Dictionary<number>;
  /** By place in the heap: the slot of the key in `#places`. */
  readonly #slots: number[] = [];
  readonly #moments: number[] = [];

  /**
   * @param hashSeed that of the keyspace
   * @param options `sharesKeys`: the strings of the keys are shared with another table, which counts them
   */
  constructor(hashSeed: Uint8Array, options: { readonly sharesKeys: boolean }) {
    this.#places = new Dictionary(hashSeed, options);
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Approximate memory in bytes. */
  get memoryBytes(): number {
    return this.#places.memoryBytes + this.size * ENTRY_BYTES;
  }

  /** Entries examined or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#places.visits + this.#places.moves + this.moves;
  }

  /** The earliest time, or Infinity. */
  get firstMs(): number {
    return this.#moments[0] ?? Number.POSITIVE_INFINITY;
  }

  /** The key whose time is `firstMs`. */
  get firstKey(): Bytes | undefined {
    const slot = this.#slots[0];
    return slot === undefined ? undefined : this.#places.keyAt(slot);
  }

  /** The time of a key. */
  get(key: Bytes): number | undefined {
    const slot = this.#places.find(key);
    return slot < 0 ? undefined : this.#moments[this.#places.valueAt(slot)];
  }

  /** Whether a key has this time or a later one. Looks at all of them if none has. */
  hasFrom(ms: number): boolean {
    return this.#moments.some((moment) => moment >= ms);
  }

  /** Pairs of key and time. The keys must not change meanwhile. */
  *entries(): Generator<readonly [Bytes, number]> {
    for (const [key, place] of this.#places.entries()) yield [key, this.#moments[place] as number];
  }

  /** Sets the time of a key. */
  set(key: Bytes, ms: number): void {
    const known = this.#places.find(key);
    const slot = known < 0 ? this.#places.insert(key, this.size) : known;
    this.#settle(this.#places.valueAt(slot), { key, ms, slot });
  }

  /** True if the key had a time. */
  delete(key: Bytes): boolean {
    const places = this.#places;
    const slot = places.find(key);
    if (slot < 0) return false;
    const last = this.#entryAt(this.size - 1);
    this.#slots.pop();
    this.#moments.pop();
    if (last.slot !== slot) this.#settle(places.valueAt(slot), last);
    places.removeAt(slot);
    // The entry of the last slot is in this one now.
    if (slot < places.size) this.#slots[places.valueAt(slot)] = slot; // keeps (1)
    return true;
  }

  clear(): void {
    this.#places.clear();
    this.#slots.length = 0;
    this.#moments.length = 0;
  }

  /** Puts an entry where it is in order with those above and below. The place from which it starts is free. */
  #settle(from: number, entry: Entry): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isAfter(parent, entry)) break;
      this.#move(parent, at);
      at = parent;
    }
    if (at === from) at = this.#sink(at, entry);
    this.#put(at, entry.slot, entry.ms);
  }

  /** Moves earlier entries below a free place up, and returns the place that is free then. */
  #sink(from: number, entry: Entry): number {
    const count = this.size;
    let at = from;
    for (let child = 2 * at + 1; child < count; child = 2 * at + 1) {
      const next = child + 1;
      if (next < count && !this.#isBefore(child, next)) child = next;
      if (this.#isAfter(child, entry)) break;
      this.#move(child, at);
      at = child;
    }
    return at;
  }

  /** Whether the entry at a place comes after this one. Keys, which are far away in memory, are read for equal times only. */
  #isAfter(at: number, { ms, key }: Entry): boolean {
    const other = this.#moments[at] as number;
    return other > ms || (other === ms && this.#keyAt(at) > key);
  }

  /** The same for two places. */
  #isBefore(one: number, other: number): boolean {
    const ms = this.#moments[one] as number;
    const otherMs = this.#moments[other] as number;
    return ms < otherMs || (ms === otherMs && this.#keyAt(one) < this.#keyAt(other));
  }

  #keyAt(at: number): Bytes {
    return this.#places.keyAt(this.#slots[at] as number);
  }

  #entryAt(at: number): Entry {
    return { slot: this.#slots[at] as number, ms: this.#moments[at] as number, key: this.#keyAt(at) };
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#slots[from] as number, this.#moments[from] as number);
  }

  #put(at: number, slot: number, ms: number): void {
    this.moves += 1;
    this.#slots[at] = slot;
    this.#moments[at] = ms;
    this.#places.setValueAt(slot, at); // keeps (1)
  }
}

interface Entry {
  readonly key: Bytes;
  readonly ms: number;
  /** In the table of places. */
  readonly slot: number;
}
