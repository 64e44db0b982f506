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
 * (4) `expiries` and `fieldExpiryKeys` hold keys of `entries` alone, and each
 *     is the very string that `entries` has.
 * (5) `meter` knows every value of `entries`, and is told before one changes.
 */
import type { Bytes } from "../kernel/bytes.ts";
import type { FrameWriter } from "../kernel/frame.ts";
import type { Random } from "../kernel/random.ts";
import { wrongType } from "./errors.ts";
import {
  frequencyFromRecency,
  frequencyOf,
  frequencyStamp,
  frequencyStampAfterUse,
  idleSecondsOf,
  recencyFromFrequency,
  recencyStamp,
  recencyStampBefore,
} from "./memory/key-usage.ts";
import { MemoryMeter } from "./memory/memory-meter.ts";
import { defaultMemorySettings, evictionPolicies, type MemorySettings } from "./memory/memory-settings.ts";
import { events, type KeyspaceEvent } from "./observe/keyspace-events.ts";
import { Dictionary } from "./structures/dictionary.ts";
import { HashValue } from "./values/hash.ts";
import { ListValue } from "./values/list.ts";
import { SetValue } from "./values/set.ts";
import { SortedSetValue } from "./values/sorted-set.ts";
import { StreamValue } from "./values/stream.ts";
import { isString, type StringValue } from "./values/string.ts";
import { type Value, valueBytesOf } from "./values/table.ts";

/** Removes what is past its time: the part of `mutations/` that a look-up needs. Each of them records what it does. */
export interface Expiry {
  expireKey(keyspace: Keyspace, key: Bytes): void;
  /** Removes the fields of a hash whose time is over, and the key with the last one. */
  expireFields(keyspace: Keyspace, key: Bytes, hash: HashValue): void;
}

export class Keyspace {
  readonly entries: Dictionary<Value>;
  /** Key to the moment it expires, in ms. Only keys that have one. */
  readonly expiries: Dictionary<number>;
  /** The hashes with at least one field that expires: where the sweep looks. */
  readonly fieldExpiryKeys: Dictionary<true>;
  readonly hashSeed: Uint8Array;
  /** What the values take in memory. */
  readonly meter = new MemoryMeter();
  readonly #number: number;
  readonly #frame: FrameWriter;
  readonly #random: Random;
  readonly #expiry: Expiry;
  #memory: MemorySettings;
  /** True while stamps say how often keys are used; else they say when (`key-usage.ts`). */
  #countsUses: boolean;

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
  /** Keys that went because memory was short, since the start. */
  evictedCount = 0;
  hitCount = 0;
  missCount = 0;
  /** Whether a key that is looked up in vain is an event: the row of the running command decides. */
  notifiesMisses = false;
  /** True while the running command is no use of keys: CLIENT NO-TOUCH. */
  isLeftUntouched = false;
  /** Called before a key changes, while somebody observes one (key-observers.ts). Never while a journal is replayed. */
  onChange: ((key: Bytes | undefined) => void) | undefined;
  /**
   * Called with a key that has become what somebody may wait for, while somebody waits (waiters.ts): it got a value or an
   * entry, or lost a stream or a group. `undefined`: every key. Never while a journal is replayed.
   */
  onReady: ((key: Bytes | undefined) => void) | undefined;
  /** Called with each event of a key, while somebody may be told. Never while a journal is replayed. */
  onEvent: ((event: KeyspaceEvent, key: Bytes) => void) | undefined;

  constructor(options: {
    number: number;
    frame: FrameWriter;
    hashSeed: Uint8Array;
    startedAtMs: number;
    /** For the counters of use alone, which no state depends on but what is evicted. */
    random: Random;
    expiry: Expiry;
    memory?: MemorySettings;
  }) {
    this.#number = options.number;
    this.#frame = options.frame;
    this.#random = options.random;
    this.#expiry = options.expiry;
    this.#memory = options.memory ?? defaultMemorySettings;
    this.#countsUses = countsUses(this.#memory);
    this.hashSeed = options.hashSeed;
    this.nowMs = options.startedAtMs;
    this.entries = new Dictionary(options.hashSeed, { stamps: true });
    this.expiries = new Dictionary(options.hashSeed, { sharesKeys: true, largeNumbers: true });
    this.fieldExpiryKeys = new Dictionary(options.hashSeed, { sharesKeys: true });
  }

  /** Opens a record of the running frame; for `mutations/` only. */
  record(code: number): FrameWriter {
    return this.#frame.record(this.#number, code);
  }

  /** Opens the record of a change of a key, which begins with it; for `mutations/` only. */
  change(code: number, key: Bytes): FrameWriter {
    this.onChange?.(key);
    return this.#frame.record(this.#number, code).bytes(key);
  }

  /** Says that a key is about to change where its record does not begin with it; `undefined`: every key. */
  willChange(key: Bytes | undefined): void {
    this.onChange?.(key);
  }

  /** Says what has happened to a key. */
  notify(event: KeyspaceEvent, key: Bytes): void {
    this.onEvent?.(event, key);
  }

  /** Says that something was taken from a key, and that the key went with it if it did. */
  notifyTaken(event: KeyspaceEvent, key: Bytes): void {
    if (this.onEvent === undefined) return;
    this.onEvent(event, key);
    if (this.entries.find(key) < 0) this.onEvent(events.del, key);
  }

  /** True if any key or hash field has an expiry. */
  get hasExpiries(): boolean {
    return this.expiries.size > 0 || this.fieldExpiryKeys.size > 0;
  }

  /** Keys, counting those whose time is over but which nobody has met yet, as DBSIZE does. */
  get size(): number {
    return this.entries.size;
  }

  /** What keys, values and the tables that hold them take in memory, in bytes: what `maxmemory` bounds. */
  get usedBytes(): number {
    return this.tableBytes + this.meter.totalBytes;
  }

  /** The part of it that is not values. */
  get tableBytes(): number {
    return this.entries.memoryBytes + this.expiries.memoryBytes + this.fieldExpiryKeys.memoryBytes;
  }

  /** What a key takes of that. The key must exist. */
  usedBytesOf(key: Bytes): number {
    const { entries, expiries, fieldExpiryKeys } = this;
    let bytes = entries.entryBytesOf(key) + valueBytesOf(entries.valueAt(entries.find(key)));
    for (const table of [expiries, fieldExpiryKeys]) if (table.has(key)) bytes += table.entryBytesOf(key);
    return bytes;
  }

  get memory(): MemorySettings {
    return this.#memory;
  }

  /** Puts other settings in force. Where stamps change their form, each one is translated. */
  set memory(settings: MemorySettings) {
    this.#memory = settings;
    const counts = countsUses(settings);
    if (counts === this.#countsUses) return;
    this.#countsUses = counts;
    const translate = counts ? frequencyFromRecency : recencyFromFrequency;
    const { entries, nowMs } = this;
    for (let slot = 0; slot < entries.size; slot += 1)
      entries.setStampAt(slot, translate(entries.stampAt(slot), nowMs));
  }

  /** The value at a key, or undefined. Counts as a use of the key. */
  find(key: Bytes): Value | undefined {
    const slot = this.#slotOf(key);
    if (slot < 0) {
      this.missCount += 1;
      if (this.notifiesMisses) this.onEvent?.(events.keymiss, key);
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

  /** As `has`, and counts as a use of the key: for what is looked up in order to be changed. */
  use(key: Bytes): boolean {
    const slot = this.#slotOf(key);
    if (slot >= 0) this.touchSlot(slot);
    return slot >= 0;
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

  /** The stream at a key, or undefined. Throws `wrongType`. */
  readStream(key: Bytes): StreamValue | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof StreamValue) return value;
    throw wrongType;
  }

  /** When the key expires, in ms, or undefined when it does not (or is absent). */
  expiryOf(key: Bytes): number | undefined {
    return this.#slotOf(key) < 0 ? undefined : this.expiries.get(key);
  }

  /** True while it is counted how often keys are used, and not kept when; the policy decides. */
  get countsUses(): boolean {
    return this.#countsUses;
  }

  /** Notes that the entry in a slot is used now. */
  touchSlot(slot: number): void {
    if (this.isLeftUntouched) return;
    const { entries, nowMs } = this;
    if (!this.#countsUses) {
      entries.setStampAt(slot, recencyStamp(nowMs));
      return;
    }
    const chance = { settings: this.#memory, random: this.#random };
    entries.setStampAt(slot, frequencyStampAfterUse(entries.stampAt(slot), nowMs, chance));
  }

  /** The first stamp of an entry; for `mutations/` only. */
  stampNew(slot: number): void {
    this.entries.setStampAt(slot, this.#countsUses ? frequencyStamp(this.nowMs) : recencyStamp(this.nowMs));
  }

  /** The stamp of an entry that got another value; for `mutations/` only. A count of uses goes on, and draws no dice. */
  stampReplaced(slot: number): void {
    if (!this.#countsUses) this.entries.setStampAt(slot, recencyStamp(this.nowMs));
  }

  /** Where events are told: a key that is about to be replaced without having been looked up expires first, if it has to. */
  expireReplaced(key: Bytes): void {
    if (this.onEvent !== undefined) this.#slotOf(key);
  }

  /** As that; and where uses are counted, it is one more of the key. */
  useReplaced(key: Bytes): void {
    this.expireReplaced(key);
    if (!this.#countsUses) return;
    const slot = this.entries.find(key);
    if (slot >= 0) this.touchSlot(slot);
  }

  /** Seconds since the key was last used. The key must exist, and uses must not be counted. */
  idleSecondsOf(key: Bytes): number {
    return idleSecondsOf(this.entries.stampAt(this.entries.find(key)), this.nowMs);
  }

  /** How often the key is used, 0 … 255. The key must exist, and uses must be counted. */
  frequencyOf(key: Bytes): number {
    return frequencyOf(this.entries.stampAt(this.entries.find(key)), this.nowMs, this.#memory);
  }

  /** Lets the key look as if it had been used so long ago, unless uses are counted. The key must exist. */
  setIdleSeconds(key: Bytes, seconds: number): void {
    if (!this.#countsUses) this.entries.setStampAt(this.entries.find(key), recencyStampBefore(this.nowMs, seconds));
  }

  /** Lets the key look as if it were used so often, if uses are counted. The key must exist. */
  setFrequency(key: Bytes, frequency: number): void {
    if (this.#countsUses) this.entries.setStampAt(this.entries.find(key), frequencyStamp(this.nowMs, frequency));
  }

  resetCounts(): void {
    this.expiredCount = 0;
    this.expiredFieldCount = 0;
    this.evictedCount = 0;
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
        if (this.mayRemoveExpired) this.#expiry.expireKey(this, key);
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
    this.#expiry.expireFields(this, key, hash);
    return hash.size > 0; // keeps (3): with its last field the key has gone
  }
}

function countsUses({ policy }: MemorySettings): boolean {
  return evictionPolicies.some(({ name, first }) => name === policy && first === "least often used");
}
