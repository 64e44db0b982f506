/**
 * The keys of one database, with the time each of them may live.
 *
 * (1) `entries`, `expiries` and `fieldExpiryKeys` are changed by the functions
 *     in `mutations/` alone; each of them records what it did in the frame, so
 *     nothing can change without being journaled.
 * (2) A key past its expiry is never seen, nor is a hash field: whoever finds
 *     one removes it, and the removal is a record of its own at that place in
 *     the frame. Where nothing may be written it is treated as absent and left
 *     in place. A hash of which every field is past its time is absent too.
 * (3) An empty collection does not exist: the mutation that takes its last
 *     element removes the key.
 */
import type { Bytes } from "../kernel/bytes.ts";
import type { FrameWriter } from "../kernel/frame.ts";
import { wrongType } from "./errors.ts";
import { expireKey } from "./mutations/generic.ts";
import { expireFields } from "./mutations/hash.ts";
import { Dictionary } from "./structures/dictionary.ts";
import { HashValue } from "./values/hash.ts";
import { ListValue } from "./values/list.ts";
import { SetValue } from "./values/set.ts";
import { SortedSetValue } from "./values/sorted-set.ts";
import { isString, type StringValue } from "./values/string.ts";
import type { Value } from "./values.ts";

export class Keyspace {
  readonly entries: Dictionary<Value>;
  /** Key to the moment it expires, in ms. Only keys that have one. */
  readonly expiries: Dictionary<number>;
  /** The hashes with at least one field that expires: where the sweep looks. */
  readonly fieldExpiryKeys: Dictionary<true>;
  readonly hashSeed: Uint8Array;
  readonly #number: number;
  readonly #frame: FrameWriter;

  /**
   * The time of the unit of work that is running, read from the clock once. While a journal is replayed it stands at the
   * start of the store, and only OBJECT IDLETIME shows it.
   */
  nowMs: number;
  /** False where what is expired must be left in place: a full disk, a script that may not write. */
  mayRemoveExpired = true;
  /** Keys whose time ran out, since the start. */
  expiredCount = 0;
  /** Hash fields whose time ran out, since the start. */
  expiredFieldCount = 0;
  hitCount = 0;
  missCount = 0;

  constructor(options: { number: number; frame: FrameWriter; hashSeed: Uint8Array; startedAtMs: number }) {
    this.#number = options.number;
    this.#frame = options.frame;
    this.hashSeed = options.hashSeed;
    this.nowMs = options.startedAtMs;
    this.entries = new Dictionary(options.hashSeed, { stamps: true });
    this.expiries = new Dictionary(options.hashSeed);
    this.fieldExpiryKeys = new Dictionary(options.hashSeed);
  }

  /** Opens a record of the running frame; for `mutations/` only. */
  record(code: number): FrameWriter {
    return this.#frame.record(this.#number, code);
  }

  /** True if any key or hash field has an expiry. */
  get hasExpiries(): boolean {
    return this.expiries.size > 0 || this.fieldExpiryKeys.size > 0;
  }

  /** Keys, counting those whose time is over but which nobody has met yet, as DBSIZE does. */
  get size(): number {
    return this.entries.size;
  }

  /** The value at a key, or undefined. Counts as an access for OBJECT IDLETIME. */
  find(key: Bytes): Value | undefined {
    const slot = this.#slotOf(key);
    if (slot < 0) {
      this.missCount += 1;
      return undefined;
    }
    this.hitCount += 1;
    this.touchSlot(slot);
    return this.entries.valueAt(slot);
  }

  /** As `find`, but leaves no trace: for OBJECT, TTL, TYPE, EXISTS on behalf of nobody. */
  peek(key: Bytes): Value | undefined {
    const slot = this.#slotOf(key);
    return slot < 0 ? undefined : this.entries.valueAt(slot);
  }

  has(key: Bytes): boolean {
    return this.#slotOf(key) >= 0;
  }

  /** The string at a key, or undefined. Throws `wrongType` for any other value. */
  readString(key: Bytes): StringValue | undefined {
    const value = this.find(key);
    if (value === undefined || isString(value)) return value;
    throw wrongType;
  }

  /** The hash at a key, without fields past their time, or undefined. Throws `wrongType`. */
  readHash(key: Bytes): HashValue | undefined {
    const value = this.find(key);
    if (value === undefined) return undefined;
    if (!(value instanceof HashValue)) throw wrongType;
    // Fields past their time are gone by now, unless nothing may be written: then they are left out of the answer (2).
    return value.nextDueMs >= this.nowMs ? value : value.copyWithoutDue(this.nowMs);
  }

  /** The list at a key, or undefined. Throws `wrongType`. */
  readList(key: Bytes): ListValue | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof ListValue) return value;
    throw wrongType;
  }

  /** The set at a key, or undefined. Throws `wrongType`. */
  readSet(key: Bytes): SetValue | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof SetValue) return value;
    throw wrongType;
  }

  /** The value at a key whatever it is, without fields past their time, or undefined. */
  readWhole(key: Bytes): Value | undefined {
    const value = this.find(key);
    return value instanceof HashValue && value.nextDueMs < this.nowMs ? value.copyWithoutDue(this.nowMs) : value;
  }

  /** The sorted set at a key, or undefined. Throws `wrongType`. */
  readSortedSet(key: Bytes): SortedSetValue | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof SortedSetValue) return value;
    throw wrongType;
  }

  /** When the key expires, in ms, or undefined when it does not (or is absent). */
  expiryOf(key: Bytes): number | undefined {
    return this.#slotOf(key) < 0 ? undefined : this.expiries.get(key);
  }

  /** Notes that the entry in a slot is used now. */
  touchSlot(slot: number): void {
    this.entries.setStampAt(slot, secondsOf(this.nowMs));
  }

  /** Seconds since the key was last used. The key must exist. */
  idleSecondsOf(key: Bytes): number {
    const stamp = this.entries.stampAt(this.entries.find(key));
    return Math.max(0, secondsOf(this.nowMs) - stamp);
  }

  /** Lets the key look as if it had been used so long ago. The key must exist. */
  setIdleSeconds(key: Bytes, seconds: number): void {
    this.entries.setStampAt(this.entries.find(key), Math.max(0, secondsOf(this.nowMs) - seconds));
  }

  resetCounts(): void {
    this.expiredCount = 0;
    this.expiredFieldCount = 0;
    this.hitCount = 0;
    this.missCount = 0;
  }

  /** Where the key is, or -1: (2). */
  #slotOf(key: Bytes): number {
    const slot = this.entries.find(key);
    if (slot < 0) return slot;
    // Most keyspaces have few keys that expire; the second look-up reuses the first one's hash.
    if (this.expiries.size > 0) {
      const atMs = this.expiries.get(key);
      // As Redis: a key lives through the millisecond it expires at.
      if (atMs !== undefined && atMs < this.nowMs) {
        if (this.mayRemoveExpired) expireKey(this, key);
        return -1;
      }
    }
    if (this.fieldExpiryKeys.size > 0) {
      const value = this.entries.valueAt(slot);
      if (value instanceof HashValue && value.nextDueMs < this.nowMs && !this.#outlivesDueFields(key, value)) return -1;
    }
    return slot;
  }

  /** Removes the fields of a hash whose time is over, where it may. False if none is left. */
  #outlivesDueFields(key: Bytes, hash: HashValue): boolean {
    if (!this.mayRemoveExpired) return hash.hasFieldNotDue(this.nowMs);
    expireFields(this, key, hash);
    return hash.size > 0; // keeps (3): with its last field the key has gone
  }
}

/** Whole seconds, kept in 32 bits until the year 2106. */
function secondsOf(ms: number): number {
  return Math.floor(ms / 1_000) >>> 0;
}
