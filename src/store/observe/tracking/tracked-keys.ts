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
import { Tracker } from "./tracker.ts";

/**
 * The clients of a key, in the order of their reads. Most keys have few: an array of two takes a third of a set. `concat`
 * makes it as long as needed, while V8 gives an array that is spread or extended room for 16 more.
 */
type Readers = Tracker | readonly Tracker[] | Set<Tracker>;

/** More clients are a set. */
const LISTED_MAX = 8;
/** Approximate memory of an array or a set, and of each client in it. */
const LIST_BYTES = 48;
const LISTED_BYTES = 8;
const SET_BYTES = 200;
const MEMBER_BYTES = 32;

export class TrackedKeys {
  readonly #table: Dictionary<Readers>;
  #itemCount = 0;
  #readersBytes = 0;
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
    return this.#table.size === 0 ? 0 : this.#table.memoryBytes + this.#readersBytes;
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
      this.#readersBytes += MEMBER_BYTES;
    } else {
      const list = listOf(readers);
      if (list.includes(tracker)) return;
      this.#replace(slot, readersOf(list.concat(tracker)));
    }
    this.#itemCount += 1;
  }

  /** Removes a key and returns its clients in the order of their reads, or undefined. keeps (1) */
  take(key: Bytes): readonly Tracker[] | undefined {
    const slot = this.#table.find(key);
    if (slot < 0) return undefined;
    const readers = listOf(this.#table.valueAt(slot));
    this.#removeAt(slot);
    return readers;
  }

  /** A random key. There must be one. */
  pick(random: Random): Bytes {
    return this.#table.keyAt(random.below(this.#table.size));
  }

  clear(): void {
    this.#table.clear();
    this.#itemCount = 0;
    this.#readersBytes = 0;
    this.#unswept = 0;
    this.#mustSweepAgain = false;
  }

  /** A client has gone: `sweep` has its entries to remove. */
  leave(): void {
    if (this.#unswept === 0) this.#unswept = this.#table.size;
    else this.#mustSweepAgain = true;
  }

  /** Examines about `count` pairs, and removes those whose client is gone. False if nothing is left to examine. */
  sweep(count: number): boolean {
    // Backwards: a removal moves the last entry into the gap, which was examined already, or was read since then.
    for (let left = count; left > 0 && this.#unswept > 0; ) {
      this.#unswept = Math.min(this.#unswept, this.#table.size);
      if (this.#unswept === 0) break;
      this.#unswept -= 1;
      left -= this.#sweepAt(this.#unswept);
    }
    if (this.#unswept === 0 && this.#mustSweepAgain) {
      this.#mustSweepAgain = false;
      this.#unswept = this.#table.size;
    }
    return this.#unswept > 0;
  }

  /** Returns how many pairs it examined. */
  #sweepAt(slot: number): number {
    const list = listOf(this.#table.valueAt(slot));
    const open = list.filter(({ isOpen }) => isOpen);
    if (open.length === 0) this.#removeAt(slot);
    else if (open.length < list.length) {
      this.#itemCount -= list.length - open.length;
      this.#replace(slot, readersOf(open));
    }
    return list.length;
  }

  #replace(slot: number, readers: Readers): void {
    this.#readersBytes += bytesOf(readers) - bytesOf(this.#table.valueAt(slot));
    this.#table.setValueAt(slot, readers);
  }

  #removeAt(slot: number): void {
    const readers = this.#table.valueAt(slot);
    this.#itemCount -= countOf(readers);
    this.#readersBytes -= bytesOf(readers);
    this.#table.removeAt(slot);
  }
}

function listOf(readers: Readers): readonly Tracker[] {
  if (readers instanceof Set) return [...readers];
  return readers instanceof Tracker ? [readers] : readers;
}

/** There is at least one. */
function readersOf(list: readonly Tracker[]): Readers {
  if (list.length > LISTED_MAX) return new Set(list);
  return list.length === 1 ? (list[0] as Tracker) : list;
}

function countOf(readers: Readers): number {
  if (readers instanceof Set) return readers.size;
  return readers instanceof Tracker ? 1 : readers.length;
}

function bytesOf(readers: Readers): number {
  if (readers instanceof Set) return SET_BYTES + readers.size * MEMBER_BYTES;
  return readers instanceof Tracker ? 0 : LIST_BYTES + readers.length * LISTED_BYTES;
}
