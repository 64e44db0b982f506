/**
 * The keys that clients have read and may cache, and the clients of each: what
 * the default mode of CLIENT TRACKING remembers.
 *
 * (1) A key is in the table while a client may have it cached: from the read
 *     until the first change, which takes it out.
 * (2) An operation examines a few entries, whatever the size of the table. So a
 *     client that goes leaves its entries, and `sweep` removes them in steps.
 * (3) `bytes` is what the table takes, with the entries of clients that are gone.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Random } from "../../../kernel/random.ts";
import { Dictionary } from "../../structures/dictionary.ts";
import type { Tracker } from "./tracker.ts";

/** Approximate memory of the set of the clients of a key, and of each client in it. One client needs no set. */
const SET_BYTES = 200;
const ITEM_BYTES = 24;

type Readers = Tracker | Set<Tracker>;

export class TrackedKeys {
  readonly #table: Dictionary<Readers>;
  #itemCount = 0;
  #setBytes = 0;
  /** Slots that the sweep has not examined yet; 0: it has nothing to do. */
  #unswept = 0;
  #mustSweepAgain = false;

  constructor(hashSeed: Uint8Array) {
    this.#table = new Dictionary(hashSeed);
  }

  get count(): number {
    return this.#table.size;
  }

  /** Pairs of a key and a client. */
  get itemCount(): number {
    return this.#itemCount;
  }

  /** keeps (3) */
  get bytes(): number {
    return this.#table.size === 0 ? 0 : this.#table.memoryBytes + this.#setBytes;
  }

  /** Entries examined and moved so far, for complexity tests. */
  get work(): number {
    return this.#table.visits + this.#table.moves;
  }

  add(key: Bytes, tracker: Tracker): void {
    const slot = this.#table.find(key);
    if (slot < 0) {
      this.#table.insert(key, tracker);
      this.#itemCount += 1;
      return;
    }
    const readers = this.#table.valueAt(slot);
    if (readers instanceof Set) {
      if (readers.has(tracker)) return;
      readers.add(tracker);
    } else {
      if (readers === tracker) return;
      this.#table.setValueAt(slot, new Set([readers, tracker]));
      this.#setBytes += SET_BYTES + ITEM_BYTES;
    }
    this.#itemCount += 1;
    this.#setBytes += ITEM_BYTES;
  }

  /** Removes a key and returns its clients in the order of their reads, or undefined. keeps (1) */
  take(key: Bytes): readonly Tracker[] | undefined {
    const slot = this.#table.find(key);
    if (slot < 0) return undefined;
    const readers = this.#table.valueAt(slot);
    this.#removeAt(slot);
    return readers instanceof Set ? [...readers] : [readers];
  }

  /** A random key. There must be one. */
  pick(random: Random): Bytes {
    return this.#table.keyAt(random.below(this.#table.size));
  }

  clear(): void {
    this.#table.clear();
    this.#itemCount = 0;
    this.#setBytes = 0;
    this.#unswept = 0;
    this.#mustSweepAgain = false;
  }

  /** A client has gone: `sweep` has its entries to remove. */
  leave(): void {
    if (this.#unswept === 0) this.#unswept = this.#table.size;
    else this.#mustSweepAgain = true;
  }

  /** Examines at most `count` entries, and removes the clients that are gone. False if nothing is left to examine. */
  sweep(count: number): boolean {
    // Backwards: a removal moves the last entry into the gap, which was examined already, or was read since then.
    for (let left = count; left > 0 && this.#unswept > 0; left -= 1) {
      this.#unswept = Math.min(this.#unswept, this.#table.size) - 1;
      if (this.#unswept >= 0) this.#sweepAt(this.#unswept);
      else this.#unswept = 0;
    }
    if (this.#unswept === 0 && this.#mustSweepAgain) {
      this.#mustSweepAgain = false;
      this.#unswept = this.#table.size;
    }
    return this.#unswept > 0;
  }

  #sweepAt(slot: number): void {
    const readers = this.#table.valueAt(slot);
    if (!(readers instanceof Set)) {
      if (!readers.isOpen) this.#removeAt(slot);
      return;
    }
    for (const reader of readers) {
      if (reader.isOpen) continue;
      readers.delete(reader);
      this.#itemCount -= 1;
      this.#setBytes -= ITEM_BYTES;
    }
    if (readers.size === 0) this.#removeAt(slot);
  }

  #removeAt(slot: number): void {
    const readers = this.#table.valueAt(slot);
    if (readers instanceof Set) {
      this.#itemCount -= readers.size;
      this.#setBytes -= SET_BYTES + readers.size * ITEM_BYTES;
    } else {
      this.#itemCount -= 1;
    }
    this.#table.removeAt(slot);
  }
}
