/**
 * The index of a definition in the serving process, and what keeps it equal to the
 * keyspace.
 *
 * (1) Each document of the index is what its key had when it was last read, and
 *     every key that has changed since is in `dirty`: so after `catchUp` the index
 *     is right. While a scan is under way, keys that it has not reached are missing.
 * (2) Keys are taken in the order of their last change.
 * (3) A key that a unit of work has changed may get its old value back. Whatever is
 *     indexed while a unit can be undone is dirty again if it is.
 * (4) `due` has the time at which each document with an expiry, of the key or of a
 *     field, must be read again.
 * (5) Keys in `dirty` that are not weighed were noted by the unit of work that runs.
 *
 * The work of a step is counted, not timed, so that a simulation repeats it.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Keyspace } from "../../keyspace.ts";
import { DueKeys } from "../../structures/due-keys.ts";
import { HashValue } from "../../values/hash.ts";
import { hashOfKey, type IndexOfDefinition, type SearchDefinition } from "../../values/search-definition.ts";
import { type Value, valueBytesOf } from "../../values/table.ts";
import type { FieldValue, SearchDocument } from "../definition.ts";
import { documentReader, hasDataType } from "../document.ts";
import { SearchIndex } from "../index/search-index.ts";
import type { InSlices, Spend } from "../slices.ts";
import { analyzerFor } from "../text/analyzer.ts";
import { ChangedKeys } from "./changed-keys.ts";
import { HashRanks, SortedKeys } from "./sorted-keys.ts";

/** In steps of about 100 ns, for 100,000 documents of two fields, or of 46 words. */
const STEPS_PER_KEY = 5;
/** The place of a key in the stored order. */
const STEPS_PER_RANK = 2;
const STEPS_PER_DOCUMENT = 80;
const STEPS_PER_BYTE_OF_TEXT = 1;
/** A word that no document had is stemmed, and put to its place among all words. */
const STEPS_PER_NEW_TERM = 40;
/** A STRING is parsed. */
const BYTES_PER_STEP = 32;
/** Steps of the index in one of ours. */
const INDEX_STEPS = 10;
/** A removed document takes a step for each token, which are about so many bytes of its value. */
const REMOVED_BYTES_PER_STEP = 8;
/** The work of one slice: about 0.8 ms. A collection of young objects may come on top, which takes several times as long. */
export const SLICE_STEPS = 8_000;
/** The work of the command that begins a scan, so that the index of a small database is complete. */
const FIRST_SLICE_STEPS = 15_000;
/** Work that may wait for a search, about 10 ms; beyond that the command that changes a key indexes others. */
export const PENDING_STEPS_MAX = 100_000;

/**
 * A scan of all keys. `shows`: searches see the part that is done, as after SEARCH.CREATE and SEARCH.REINDEX; else they
 * wait for the end, as after a start.
 */
interface Scan {
  readonly shows: boolean;
  /** By the hashes of keys in the stored order; complete before the first key is collected. */
  readonly ranks: HashRanks;
  readonly keys: SortedKeys;
  /** Of `Dictionary.scan`; undefined when all keys are collected. */
  cursor: number | undefined;
}

/** Of all indexes of a database together. */
export interface NotedChanges {
  /** True if an index may have keys that are not weighed. */
  isAny: boolean;
}

export class LiveIndex implements IndexOfDefinition {
  readonly index: SearchIndex;
  readonly value: SearchDefinition;
  /** Keys that have changed since they were read: (1). */
  readonly dirty: ChangedKeys;
  readonly #keyspace: Keyspace;
  readonly #read: ReturnType<typeof documentReader>;
  /** Numbers of the TEXT fields. */
  readonly #textFields: readonly number[];
  readonly due: DueKeys;
  #scan: Scan | undefined;
  /** Whether documents have changed since their order was recorded. */
  hasNewOrder = true;
  readonly #noted: NotedChanges;

  constructor(keyspace: Keyspace, value: SearchDefinition, noted: NotedChanges) {
    this.#keyspace = keyspace;
    this.#noted = noted;
    this.dirty = new ChangedKeys(keyspace.hashSeed);
    this.due = new DueKeys(keyspace.hashSeed, { sharesKeys: true });
    this.value = value;
    this.index = new SearchIndex(value.definition, analyzerFor, keyspace.hashSeed);
    this.#read = documentReader(value.definition);
    this.#textFields = [...value.definition.fields.entries()].flatMap(([at, { type }]) =>
      type === "TEXT" ? [at] : [],
    );
  }

  /**
   * The share of the live documents in the memory of the index. Removed documents take memory until the index is
   * compacted, which is when a third of them are; if they counted, evicting documents would free too little.
   */
  get memoryBytes(): number {
    const { memoryBytes, documentCount, documentLimit } = this.index;
    return documentLimit === 0 ? memoryBytes : Math.ceil(memoryBytes * (documentCount / documentLimit));
  }

  keys(): Iterable<Bytes> {
    return this.index.keys();
  }

  /** The key is about to change. keeps (1) and (2) */
  note(key: Bytes): void {
    this.#noted.isAny = true;
    this.dirty.add(key, this.#removalSteps);
  }

  /** True while a slice has something to do. */
  get hasBacklog(): boolean {
    return this.pendingCount > 0 || this.index.isCompactable;
  }

  /** Keys that are not indexed yet, as far as they are known. */
  get pendingCount(): number {
    const { cursor, keys } = this.#scan ?? { cursor: undefined, keys: undefined };
    return this.dirty.size + (keys?.count ?? 0) + (cursor === undefined ? 0 : 1);
  }

  get isScanning(): boolean {
    return this.#scan !== undefined;
  }

  /** True while searches must wait. */
  get isRebuilding(): boolean {
    return this.#scan !== undefined && !this.#scan.shows;
  }

  /** Reads all keys again. The stored order of the definition decides in which order, then the bytes of the keys. */
  startScan({ shows }: { readonly shows: boolean }): void {
    const { length } = this.value.storedOrder;
    const ranks = new HashRanks(length, this.#keyspace.hashSeed);
    const rankOf = length > 0 ? (key: Bytes) => ranks.rankOf(hashOfKey(key)) : () => undefined;
    this.#scan = { shows, ranks, keys: new SortedKeys(rankOf), cursor: 0 };
  }

  /** Throws the documents away and reads all keys again: SEARCH.REINDEX. */
  restart(): void {
    this.#change();
    this.index.clear();
    this.dirty.clear();
    this.due.clear();
    this.#forgetOrder();
    this.startScan({ shows: true });
  }

  /** Takes the document of a removed key out. */
  remove(key: Bytes): void {
    this.#change();
    this.#keyspace.undo?.push(key.length, () => this.note(key)); // keeps (3)
    this.index.remove(key);
    this.due.delete(key);
    this.dirty.delete(key);
  }

  /** Weighs the changed keys, and reads them until no more work waits than may. keeps (5) */
  catchUp(): void {
    this.dirty.weigh(this.#pendingSteps);
    while (this.dirty.steps > PENDING_STEPS_MAX) this.#update(this.dirty.take() as Bytes);
  }

  /** True if `prepare` has something to do. */
  get mustPrepare(): boolean {
    return this.dirty.size > 0 || this.due.firstMs < this.#keyspace.nowMs;
  }

  /** Makes the index right for a search that follows, while no key changes. */
  *prepare(spend: Spend): InSlices<void> {
    yield* this.expire(spend);
    for (let key = this.dirty.take(); key !== undefined; key = this.dirty.take()) {
      if (spend(INDEX_STEPS * this.#update(key))) yield;
    }
  }

  /** Reads documents again that have expired in part or as a whole; afterwards they may be dirty. */
  *expire(spend: Spend): InSlices<void> {
    const keyspace = this.#keyspace;
    while (this.due.firstMs < keyspace.nowMs) {
      const key = this.due.firstKey as Bytes;
      this.due.delete(key);
      // The look-up removes what has expired, and so notes the key; where nothing may be written, it stays in place.
      keyspace.peek(key);
      if (!keyspace.mayRemoveExpired) this.#update(key);
      if (spend(INDEX_STEPS * STEPS_PER_KEY)) yield;
    }
  }

  /** One slice of the work that is left; without an argument the first one. Returns the steps that are left of the slice. */
  runSlice(steps = FIRST_SLICE_STEPS): number {
    let left = steps;
    while (this.dirty.size > 0) {
      if (left <= 0) return left;
      left -= this.#update(this.dirty.take() as Bytes);
    }
    if (this.#scan !== undefined) left = this.#runScan(this.#scan, left);
    if (left > 0 && this.index.isCompactable) {
      this.#keyspace.meter.change(this.value);
      if (this.index.compact(left * INDEX_STEPS)) return 0;
    }
    return left;
  }

  #runScan(scan: Scan, steps: number): number {
    const { prefixes } = this.value.definition;
    const { entries } = this.#keyspace;
    const { storedOrder } = this.value;
    let left = steps;
    for (const { ranks } = scan; ranks.count < storedOrder.length; left -= STEPS_PER_RANK) {
      if (left <= 0) return left;
      ranks.add(storedOrder[ranks.count] as number);
    }
    while (scan.cursor !== undefined) {
      if (left <= 0) return left;
      const next = entries.scan(scan.cursor, (slot) => {
        const key = entries.keyAt(slot);
        left -= 1;
        if (!prefixes.some((prefix) => key.startsWith(prefix))) return;
        scan.keys.add(key);
        left -= STEPS_PER_KEY;
      });
      left -= 1;
      scan.cursor = next === 0 ? undefined : next;
    }
    for (let key = scan.keys.take(); key !== undefined; key = scan.keys.take()) {
      // One that was written since is up to date, or dirty.
      left -= this.index.has(key) || this.dirty.has(key) ? 1 : this.#update(key);
      // After the last key the scan is over: nothing would be left that asks for another slice.
      if (left <= 0 && scan.keys.count > 0) return left;
    }
    this.#scan = undefined;
    this.#forgetOrder();
    return left;
  }

  /** About the steps that `#update` will take to index a key. Words that will be new are not known. */
  readonly #pendingSteps = (key: Bytes): number => {
    const bytes = this.#documentBytes(key);
    return bytes === 0 ? STEPS_PER_KEY : STEPS_PER_KEY + STEPS_PER_DOCUMENT + STEPS_PER_BYTE_OF_TEXT * bytes;
  };

  /** The same to remove the document that a key has before it changes. */
  readonly #removalSteps = (key: Bytes): number => Math.ceil(this.#documentBytes(key) / REMOVED_BYTES_PER_STEP);

  /** The memory of a value that may be a document; 0 for others. */
  #documentBytes(key: Bytes): number {
    const { entries } = this.#keyspace;
    const slot = entries.find(key);
    if (slot < 0) return 0;
    const value = entries.valueAt(slot);
    return hasDataType(this.value.definition.dataType, value) ? valueBytesOf(value) : 0;
  }

  /** Reads a key, and returns the steps that it took. */
  #update(key: Bytes): number {
    const { entries, expiries, nowMs, undo } = this.#keyspace;
    const slot = entries.find(key);
    const value = slot < 0 ? undefined : entries.valueAt(slot);
    const expiresAtMs = value === undefined ? undefined : expiries.get(key);
    const dueMs = value === undefined ? Number.POSITIVE_INFINITY : dueMsOf(value, expiresAtMs);
    // A field that has expired is left out by `#read`; a key in the millisecond of its expiry still exists.
    const isGone = value === undefined || (expiresAtMs ?? nowMs) < nowMs;
    const document = isGone ? undefined : this.#read(value, nowMs);
    this.#change();
    undo?.push(key.length, () => this.note(key)); // keeps (3)
    const removalSteps = STEPS_PER_KEY + this.index.tokenCountOf(key);
    if (document === undefined) {
      this.index.remove(key);
      this.due.delete(key);
      return removalSteps;
    }
    const kept = entries.keyAt(slot);
    const { termCount } = this.index;
    this.index.put(kept, document);
    const newTermSteps = STEPS_PER_NEW_TERM * (this.index.termCount - termCount);
    if (dueMs < Number.POSITIVE_INFINITY)
      this.due.set(kept, Math.max(dueMs, nowMs)); // keeps (4)
    else this.due.delete(kept);
    const valueSteps = Math.ceil(valueBytesOf(value as Value) / BYTES_PER_STEP);
    return removalSteps + STEPS_PER_DOCUMENT + valueSteps + this.#stepsOfTexts(document) + newTermSteps;
  }

  #stepsOfTexts(document: SearchDocument): number {
    let steps = 0;
    // Iterators would be the objects of each document.
    for (let i = 0; i < this.#textFields.length; i += 1) {
      const texts = document[this.#textFields[i] as number] ?? NO_TEXTS;
      for (let at = 0; at < texts.length; at += 1) steps += STEPS_PER_BYTE_OF_TEXT * (texts[at] as Bytes).length;
    }
    return steps;
  }

  #change(): void {
    this.#keyspace.meter.change(this.value);
    this.hasNewOrder = true;
  }

  #forgetOrder(): void {
    this.#keyspace.meter.change(this.value);
    this.value.storeOrder(0, []);
  }
}

const NO_TEXTS: readonly FieldValue[] = [];

/** When a document must be read again. */
function dueMsOf(value: Value, expiresAtMs = Number.POSITIVE_INFINITY): number {
  return value instanceof HashValue ? Math.min(expiresAtMs, value.nextDueMs) : expiresAtMs;
}
