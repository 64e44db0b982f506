/**
 * The keys of one database, with their expiry times.
 *
 * (1) Only the functions in `mutations/` change `entries`, `expiries` and
 *     `fieldExpiryKeys`. Each of them records its change in the frame, so
 *     nothing can change without being journaled.
 * (2) An expired key or hash field is never seen: the look-up that finds one
 *     removes it, and the removal is a record of its own at that point of the
 *     frame. Where nothing may be written, it is treated as absent and left in
 *     place. A hash whose fields have all expired is absent too.
 * (3) An empty collection does not exist: the mutation that takes its last
 *     element removes the key.
 * (4) `expiries` and `fieldExpiryKeys` hold only keys of `entries`, as the
 *     same strings.
 * (5) `meter` knows every value of `entries`, and is called before a change.
 * (6) While `undo` is set, whatever changes (1) pushes its inverse there before.
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
import type { UndoLog } from "./mutations/undo-log.ts";
import { events, type KeyspaceEvent } from "./observe/keyspace-events.ts";
import { SearchNames } from "./search/names.ts";
import { Dictionary } from "./structures/dictionary.ts";
import { HashValue } from "./values/hash.ts";
import { ListValue } from "./values/list.ts";
import { SetValue } from "./values/set.ts";
import { SortedSetValue } from "./values/sorted-set.ts";
import { StreamValue } from "./values/stream.ts";
import { isString, type StringValue } from "./values/string.ts";
import { type Value, valueBytesOf } from "./values/table.ts";

export type KeyspaceUndo = UndoLog<Value>;

/** Removes expired keys and fields: the part of `mutations/` that a look-up needs. Each function records its change. */
export interface Expiry {
  expireKey(keyspace: Keyspace, key: Bytes): void;
  /** Removes the expired fields of a hash, and the key with the last one. */
  expireFields(keyspace: Keyspace, key: Bytes, hash: HashValue): void;
}

export class Keyspace {
  readonly entries: Dictionary<Value>;
  /** Key to its expiry time in ms. Only keys that have one. */
  readonly expiries: Dictionary<number>;
  /** The hashes with at least one field that expires: where the sweep looks. */
  readonly fieldExpiryKeys: Dictionary<true>;
  readonly hashSeed: Uint8Array;
  /** The used memory without keys. */
  readonly emptyBytes: number;
  /** The search indexes among the keys, and their aliases. */
  readonly search = new SearchNames();
  /** The memory of the values. */
  readonly meter = new MemoryMeter();
  readonly #number: number;
  readonly #frame: FrameWriter;
  readonly #random: Random;
  readonly #expiry: Expiry;
  #memory: MemorySettings;
  /** True while stamps count uses of keys; else they are times of use (`key-usage.ts`). */
  #countsUses: boolean;

  /**
   * The time of the running unit of work, read from the clock once. While a journal is replayed it is the start time of
   * the store, and only OBJECT IDLETIME shows it.
   */
  nowMs: number;
  /** The inverses of the changes of the running unit of work, if it has more than one command: (6). */
  undo: KeyspaceUndo | undefined;
  /** True while the frames of a snapshot are replayed, in which each key of a string is new. */
  loadsSnapshot = false;
  /** False if expired keys must be left in place: a full disk, a read-only script. */
  mayRemoveExpired = true;
  /** Expired keys since the start. */
  expiredCount = 0;
  /** Expired hash fields since the start. */
  expiredFieldCount = 0;
  /** Evicted keys since the start. */
  evictedCount = 0;
  hitCount = 0;
  missCount = 0;
  /** Whether a look-up of a missing key is an event: the row of the running command decides. */
  notifiesMisses = false;
  /** True while the running command does not count as a use of keys: CLIENT NO-TOUCH. */
  isLeftUntouched = false;
  /**
   * Called before a key changes, while a client observes one (key-observers.ts). `isOwn`: the keyspace removes it, as it
   * has expired or is evicted. Never while a journal is replayed.
   */
  onChange: ((key: Bytes | undefined, isOwn?: boolean) => void) | undefined;
  /**
   * Called with a key that may serve a waiting client, while one waits (waiters.ts), and with its value: the key got
   * this value or an entry in it, or lost this stream or a group of it. `undefined`: before every key is removed. Never
   * while a journal is replayed.
   */
  onReady: ((key: Bytes | undefined, value?: Value) => void) | undefined;
  /** Called with each event of a key, while events are published. Never while a journal is replayed. */
  onEvent: ((event: KeyspaceEvent, key: Bytes) => void) | undefined;

  constructor(options: {
    number: number;
    frame: FrameWriter;
    hashSeed: Uint8Array;
    startedAtMs: number;
    /** Only for the counters of use, which affect nothing but eviction. */
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
    this.emptyBytes = this.usedBytes;
  }

  /** Opens a record of the running frame; for `mutations/` only. */
  record(code: number): FrameWriter {
    return this.#frame.record(this.#number, code);
  }

  /** Opens the record of a change of a key, which starts with the key; for `mutations/` only. */
  change(code: number, key: Bytes): FrameWriter {
    this.onChange?.(key);
    return this.#frame.record(this.#number, code).bytes(key);
  }

  /** As `change`, for a removal that no command requested: expiry or eviction. */
  changeOwn(code: number, key: Bytes): FrameWriter {
    this.onChange?.(key, true);
    return this.#frame.record(this.#number, code).bytes(key);
  }

  /** Announces the change of a key whose record does not start with the key; `undefined`: every key. */
  willChange(key: Bytes | undefined): void {
    this.onChange?.(key);
  }

  /** Publishes an event of a key. */
  notify(event: KeyspaceEvent, key: Bytes): void {
    this.onEvent?.(event, key);
  }

  /** Publishes that elements were taken from a key, and that the key was removed if it was. */
  notifyTaken(event: KeyspaceEvent, key: Bytes): void {
    if (this.onEvent === undefined) return;
    this.onEvent(event, key);
    if (this.entries.find(key) < 0) this.onEvent(events.del, key);
  }

  /** True if any key or hash field has an expiry. */
  get hasExpiries(): boolean {
    return this.expiries.size > 0 || this.fieldExpiryKeys.size > 0;
  }

  /** Keys, including expired ones that are not removed yet, as DBSIZE counts. */
  get size(): number {
    return this.entries.size;
  }

  /** Memory of keys, values and their tables in bytes: `maxmemory` bounds it. */
  get usedBytes(): number {
    return this.tableBytes + this.meter.totalBytes;
  }

  /** The part of it without values. */
  get tableBytes(): number {
    const { entries, expiries, fieldExpiryKeys, search } = this;
    return entries.memoryBytes + expiries.memoryBytes + fieldExpiryKeys.memoryBytes + search.aliasBytes;
  }

  /** The share of a key in it. The key must exist. */
  usedBytesOf(key: Bytes): number {
    const { entries, expiries, fieldExpiryKeys } = this;
    let bytes = entries.entryBytesOf(key) + valueBytesOf(entries.valueAt(entries.find(key)));
    for (const table of [expiries, fieldExpiryKeys]) if (table.has(key)) bytes += table.entryBytesOf(key);
    return bytes;
  }

  get memory(): MemorySettings {
    return this.#memory;
  }

  /** Applies new settings. If stamps change their form, each one is translated. */
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

  /** As `find`, but does not count as a use: for OBJECT, TTL, TYPE. */
  peek(key: Bytes): Value | undefined {
    const slot = this.#slotOf(key);
    return slot < 0 ? undefined : this.entries.valueAt(slot);
  }

  has(key: Bytes): boolean {
    return this.#slotOf(key) >= 0;
  }

  /** As `has`, and counts as a use of the key: for look-ups before a change. */
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

  /** The hash at a key, without expired fields, or undefined. Throws `wrongType`. */
  readHash(key: Bytes): HashValue | undefined {
    const value = this.find(key);
    if (value === undefined) return undefined;
    if (!(value instanceof HashValue)) throw wrongType;
    // Expired fields are removed by now, unless nothing may be written: then the copy omits them (2).
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

  /** The value at a key, of any type, without expired fields, or undefined. */
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

  /** The expiry time of the key in ms, or undefined if it has none or does not exist. */
  expiryOf(key: Bytes): number | undefined {
    return this.#slotOf(key) < 0 ? undefined : this.expiries.get(key);
  }

  /** True while uses of keys are counted, false while times of use are stored; the policy decides. */
  get countsUses(): boolean {
    return this.#countsUses;
  }

  /** Marks the entry in a slot as used now. */
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

  /** Stamps a new entry; for `mutations/` only. */
  stampNew(slot: number): void {
    this.entries.setStampAt(slot, this.#countsUses ? frequencyStamp(this.nowMs) : recencyStamp(this.nowMs));
  }

  /** Stamps an entry that got another value; for `mutations/` only. A use count stays, and draws no random number. */
  stampReplaced(slot: number): void {
    if (!this.#countsUses) this.entries.setStampAt(slot, recencyStamp(this.nowMs));
  }

  /** If events are published: before a key is replaced without a look-up, removes it if it has expired. */
  expireReplaced(key: Bytes): void {
    if (this.onEvent !== undefined) this.#slotOf(key);
  }

  /** As `expireReplaced`; also counts a use of the key, if uses are counted. */
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

  /** The use count of the key, 0 … 255. The key must exist, and uses must be counted. */
  frequencyOf(key: Bytes): number {
    return frequencyOf(this.entries.stampAt(this.entries.find(key)), this.nowMs, this.#memory);
  }

  /** Sets how long ago the key was used, unless uses are counted. The key must exist. */
  setIdleSeconds(key: Bytes, seconds: number): void {
    if (!this.#countsUses) this.entries.setStampAt(this.entries.find(key), recencyStampBefore(this.nowMs, seconds));
  }

  /** Sets the use count of the key, if uses are counted. The key must exist. */
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

  /** The slot of the key, or -1: (2). */
  #slotOf(key: Bytes): number {
    const slot = this.entries.find(key);
    if (slot < 0) return slot;
    // Most keyspaces have few keys with an expiry; the second look-up reuses the hash of the first.
    if (this.expiries.size > 0) {
      const atMs = this.expiries.get(key);
      // As in Redis, a key still exists in the millisecond of its expiry.
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

  /** Removes the expired fields of a hash, if it may. False if no field is left. */
  #outlivesDueFields(key: Bytes, hash: HashValue): boolean {
    if (!this.mayRemoveExpired) return hash.hasFieldNotDue(this.nowMs);
    this.#expiry.expireFields(this, key, hash);
    return hash.size > 0; // keeps (3): the key was removed with its last field
  }
}

function countsUses({ policy }: MemorySettings): boolean {
  return evictionPolicies.some(({ name, first }) => name === policy && first === "least often used");
}
