/**
 * Checks the frames of a snapshot one by one: that each can be applied, and that
 * no key is in two of them. It keeps no values but the newest of each database,
 * whose records may continue in the next frame, and 96 bits of a hash for each
 * key. So it needs a fraction of the memory of the store.
 */
import { assert } from "../../kernel/assert.ts";
import { halfSipHash, hashKey } from "../../kernel/checksum/half-sip-hash.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import type { Database } from "../database.ts";
import { Store } from "../store.ts";
import { keepNewestKey } from "./generic.ts";

const HASH_SEED_BYTES = 8;
/** Two of a thousand million keys have the same hashes with a probability of 10^-11. */
const HASH_COUNT = 3;
/** Secret bytes for one check. */
export const SNAPSHOT_CHECK_SEED_BYTES = HASH_SEED_BYTES * HASH_COUNT;

export interface SnapshotCheckOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** `SNAPSHOT_CHECK_SEED_BYTES` secret bytes. */
  readonly seed: Uint8Array;
}

/** The returned function takes the frames in order, and throws an `AssertionFailure` at the first bad one. */
export function openSnapshotCheck({ clock, random, seed }: SnapshotCheckOptions): (frame: Buffer) => void {
  const hashKeys = Array.from({ length: HASH_COUNT }, (_, index) =>
    hashKey(seed.subarray(index * HASH_SEED_BYTES, (index + 1) * HASH_SEED_BYTES)),
  );
  const store = new Store({ clock, random, hashSeed: seed.subarray(0, HASH_SEED_BYTES) });
  store.beginRecovery();
  const seen = new HashSet();
  const hashes = new Int32Array(HASH_COUNT);
  const noteKeys = ({ keyspace: { entries }, number }: Database, first: number): void => {
    entries.endAppending();
    for (let slot = first; slot < entries.size; slot += 1) {
      const key = entries.keyAt(slot);
      for (const [index, { key0, key1 }] of hashKeys.entries()) hashes[index] = halfSipHash(key0 ^ number, key1, key);
      assert(seen.add(hashes), "a key is in one frame, or in frames that follow each other");
    }
  };
  return (frame) => {
    // The newest key of each database was noted with an earlier frame.
    const before = new Map(store.databases.map((database) => [database, database.keyspace.size]));
    store.replay(frame);
    for (const database of store.databases) {
      noteKeys(database, before.get(database) ?? 0);
      keepNewestKey(database.keyspace);
    }
  };
}

const CAPACITY_MIN = 1_024;

/** A set of hashes of `HASH_COUNT` words, without an object for each. */
class HashSet {
  #words = new Int32Array(CAPACITY_MIN * HASH_COUNT);
  /** A power of two. */
  #capacity = CAPACITY_MIN;
  #count = 0;

  /** False if it has them. */
  add(hashes: Int32Array): boolean {
    // Free places are zeros.
    if (hashes[0] === 0) hashes[0] = 1;
    if (this.#count * 4 >= this.#capacity * 3) this.#grow();
    if (!this.#put(hashes)) return false;
    this.#count += 1;
    return true;
  }

  #put(hashes: Int32Array): boolean {
    const words = this.#words;
    for (let place = (hashes[0] as number) & (this.#capacity - 1); ; place = (place + 1) & (this.#capacity - 1)) {
      const at = place * HASH_COUNT;
      if (words[at] === 0) {
        words.set(hashes, at);
        return true;
      }
      if (words[at] === hashes[0] && words[at + 1] === hashes[1] && words[at + 2] === hashes[2]) return false;
    }
  }

  #grow(): void {
    const old = this.#words;
    this.#capacity *= 2;
    this.#words = new Int32Array(this.#capacity * HASH_COUNT);
    for (let at = 0; at < old.length; at += HASH_COUNT) {
      if (old[at] !== 0) this.#put(old.subarray(at, at + HASH_COUNT));
    }
  }
}
