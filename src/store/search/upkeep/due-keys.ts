/**
 * Keys with a time each, the earliest first, and equal times in the order of the keys. A key that gets another time is
 * moved in the heap: a second entry would be left over, and many of those would have to be dropped at once.
 *
 * (1) `#slots` and `#moments` are a binary heap, and `#places` has the place of each key in it.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { Dictionary } from "../../structures/dictionary.ts";

export class DueKeys {
  /** Heap entries that were moved so far. Only grows; a test of the work reads it. */
  moves = 0;
  readonly #places: Dictionary<number>;
  /** By place in the heap: the slot of the key in `#places`. */
  readonly #slots: number[] = [];
  readonly #moments: number[] = [];

  /** @param hashSeed that of the keyspace */
  constructor(hashSeed: Uint8Array) {
    this.#places = new Dictionary(hashSeed, { sharesKeys: true });
  }

  get size(): number {
    return this.#slots.length;
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

  /** Sets the time of a key. */
  set(key: Bytes, ms: number): void {
    const known = this.#places.find(key);
    const slot = known < 0 ? this.#places.insert(key, this.size) : known;
    this.#settle(this.#places.valueAt(slot), { key, ms, slot });
  }

  delete(key: Bytes): void {
    const places = this.#places;
    const slot = places.find(key);
    if (slot < 0) return;
    const last = this.#entryAt(this.size - 1);
    this.#slots.pop();
    this.#moments.pop();
    if (last.slot !== slot) this.#settle(places.valueAt(slot), last);
    places.removeAt(slot);
    // The entry of the last slot is in this one now.
    if (slot < places.size) this.#slots[places.valueAt(slot)] = slot; // keeps (1)
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
      if (!isAfter(this.#entryAt(parent), entry)) break;
      this.#put(at, this.#entryAt(parent));
      at = parent;
    }
    this.#put(at === from ? this.#sink(at, entry) : at, entry);
  }

  /** Moves earlier entries below a free place up, and returns the place that is free then. */
  #sink(from: number, entry: Entry): number {
    const count = this.size;
    let at = from;
    for (let child = 2 * at + 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && isAfter(this.#entryAt(child), this.#entryAt(child + 1))) child += 1;
      if (isAfter(this.#entryAt(child), entry)) break;
      this.#put(at, this.#entryAt(child));
      at = child;
    }
    return at;
  }

  #entryAt(at: number): Entry {
    const slot = this.#slots[at] as number;
    return { slot, ms: this.#moments[at] as number, key: this.#places.keyAt(slot) };
  }

  #put(at: number, { slot, ms }: Entry): void {
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

function isAfter(one: Entry, other: Entry): boolean {
  return one.ms > other.ms || (one.ms === other.ms && one.key > other.key);
}
