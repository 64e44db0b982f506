/**
 * Eviction: removes keys, by the policy, until keys and values take at most
 * `maxmemory`.
 *
 * The policies that compare keys do not search for the one best key. As in
 * Redis, a few keys are sampled, and the best candidates so far stay in a pool
 * of 16 until the next time. A key of the pool that was used since is passed
 * over.
 *
 * (1) The pool is in ascending order of merit; merit is comparable within one
 *     policy, so the pool is emptied when the policy changes.
 * (2) An excess is evicted in time slices, but it never grows by more than one
 *     command adds, beyond `SLACK_SHARE` of the limit: a command that adds more
 *     waits until as much is evicted.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import type { Keyspace } from "../keyspace.ts";
import { evictKey } from "../mutations/generic.ts";
import type { Dictionary } from "../structures/dictionary.ts";
import { frequencyOf, idleUnitsOf } from "./key-usage.ts";
import { type EvictionPolicy, findEvictionPolicy } from "./memory-settings.ts";

/** Redis' EVPOOL_SIZE. */
const POOL_COUNT_MAX = 16;
/** The longest time that a command waits for the eviction of an excess that it did not cause. */
const SLICE_MS_MAX = 5;
/** Evictions between two readings of the clock. */
const KEYS_PER_LOOK = 16;
/** An excess up to this share of the limit may wait for the next slice. */
const SLACK_SHARE = 1 / 16;

export class Eviction {
  readonly #keyspace: Keyspace;
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #evicted: (key: Bytes) => void;
  #policy: EvictionPolicy | undefined;
  /** The excess at the end of the last slice. */
  #excessBytes = Number.POSITIVE_INFINITY;
  #hasBacklog = false;
  #hasRoom = true;
  /** The pool: (1). */
  readonly #keys: Bytes[] = [];
  readonly #merits: number[] = [];

  /** `evicted` is called after each eviction. */
  constructor(options: { keyspace: Keyspace; random: Random; clock: Clock; evicted?: (key: Bytes) => void }) {
    this.#keyspace = options.keyspace;
    this.#random = options.random;
    this.#clock = options.clock;
    this.#evicted = options.evicted ?? (() => {});
    this.settingsChanged();
  }

  /** True while there is more to evict than the last slice had time for. */
  get hasBacklog(): boolean {
    return this.#hasBacklog;
  }

  /** The last result of `makeRoom`. */
  get hasRoom(): boolean {
    return this.#hasRoom;
  }

  /** Applies the settings of the keyspace. */
  settingsChanged(): void {
    this.#policy = findEvictionPolicy(this.#keyspace.memory.policy);
    this.#excessBytes = Number.POSITIVE_INFINITY;
    this.#hasBacklog = false;
    this.#keys.length = 0; // keeps (1)
    this.#merits.length = 0;
  }

  /**
   * Removes keys as part of the running unit of work until the keyspace fits its limit, or the slice is over. False if
   * no key may be evicted although it does not fit: then it must not grow.
   */
  makeRoom(): boolean {
    const { bytesMax } = this.#keyspace.memory;
    this.#hasBacklog = false;
    this.#hasRoom = bytesMax === 0 || this.#evict(bytesMax);
    return this.#hasRoom;
  }

  #evict(bytesMax: number): boolean {
    const keyspace = this.#keyspace;
    if (keyspace.usedBytes <= bytesMax) return true;
    // Evictions must be recorded: without that nothing is evicted, and writes are refused for the same reason.
    if (!keyspace.mayRemoveExpired) return true;
    const startMs = this.#clock.monotonicMs();
    for (let count = 1; ; count += 1) {
      const key = this.#pick();
      if (key === undefined) return false;
      evictKey(keyspace, key);
      this.#evicted(key);
      const excessBytes = keyspace.usedBytes - bytesMax;
      if (excessBytes <= 0) {
        this.#excessBytes = 0;
        return true;
      }
      if (count % KEYS_PER_LOOK > 0 || excessBytes >= Math.max(this.#excessBytes, bytesMax * SLACK_SHARE)) continue;
      if (this.#clock.monotonicMs() - startMs < SLICE_MS_MAX) continue;
      this.#excessBytes = excessBytes; // keeps (2)
      this.#hasBacklog = true;
      return true;
    }
  }

  /** The next key to evict, or undefined if none may be evicted. */
  #pick(): Bytes | undefined {
    const keyspace = this.#keyspace;
    const policy = this.#policy;
    if (policy === undefined || policy.candidates === "none") return undefined;
    const table: Dictionary<unknown> = policy.candidates === "all" ? keyspace.entries : keyspace.expiries;
    const { search } = keyspace;
    // Search indexes have no expiry, and are never evicted.
    if (table.size <= (table === keyspace.entries ? search.definitions.size : 0)) return undefined;
    if (policy.first === "any") {
      for (;;) {
        const key = table.keyAt(this.#random.below(table.size));
        if (!search.definitions.has(key)) return key;
      }
    }
    for (;;) {
      this.#fillPool(table, policy);
      for (let key = this.#keys.pop(); key !== undefined; key = this.#keys.pop()) {
        const merit = this.#merits.pop() as number;
        const slot = table.find(key);
        // New candidates of the pool are not passed over, and not all keys are indexes, so the loops end.
        if (slot >= 0 && this.#meritOf(table, slot, policy) >= merit) return key;
      }
    }
  }

  /** Samples some keys and keeps the best of them and of the pool. */
  #fillPool(table: Dictionary<unknown>, policy: EvictionPolicy): void {
    const { definitions } = this.#keyspace.search;
    for (let left = Math.min(this.#keyspace.memory.samples, table.size); left > 0; left -= 1) {
      const slot = this.#random.below(table.size);
      const key = table.keyAt(slot);
      if (definitions.size === 0 || !definitions.has(key)) this.#offer(key, this.#meritOf(table, slot, policy));
    }
  }

  #offer(key: Bytes, merit: number): void {
    const keys = this.#keys;
    const merits = this.#merits;
    let place = 0;
    while (place < merits.length && (merits[place] as number) < merit) place += 1;
    if (merits.length === POOL_COUNT_MAX) {
      if (place === 0) return;
      merits.copyWithin(0, 1, place);
      keys.copyWithin(0, 1, place);
      place -= 1;
    } else {
      merits.push(0);
      keys.push("");
      merits.copyWithin(place + 1, place, merits.length - 1);
      keys.copyWithin(place + 1, place, keys.length - 1);
    }
    merits[place] = merit; // keeps (1)
    keys[place] = key;
  }

  /** The merit of the key in a slot of the table; the highest is evicted first. */
  #meritOf(table: Dictionary<unknown>, slot: number, { first }: EvictionPolicy): number {
    const { entries, expiries, nowMs, memory } = this.#keyspace;
    if (first === "soonest to expire") return -expiries.valueAt(slot);
    const stamp = entries.stampAt(table === expiries ? entries.find(table.keyAt(slot)) : slot);
    return first === "least often used" ? -frequencyOf(stamp, nowMs, memory) : idleUnitsOf(stamp, nowMs);
  }
}
