/**
 * A hash: fields with their values, and expiry times of some fields.
 *
 * A small hash is one flat array (name, value, name, value, …) in the order of
 * insertion, searched from the front; a larger one becomes a dictionary and
 * stays a dictionary.
 *
 * (1) Every name in `#expiries` is a field of the hash.
 * (2) For each of them `#due` has an entry with its time, possibly among stale
 *     entries; `#due` is at most twice as long as `#expiries`, plus a few.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { Dictionary } from "../structures/dictionary.ts";
import { DueQueue } from "../structures/due-queue.ts";

/** Limit of fields in the flat array. */
const COMPACT_FIELDS_MAX = 128;
/** Redis' hash-max-listpack-value. */
export const COMPACT_BYTES_MAX = 64;
/** Redis' hash-max-listpack-entries: decides OBJECT ENCODING. */
export const LISTPACK_FIELDS_MAX = 512;
/** The object and its empty array, roughly. */
const FIXED_BYTES = 120;
/** An entry of the queue: two pointers, and a number object. */
const DUE_BYTES = 32;
/** The queue itself, and the spare capacity of its arrays and of a few expiries. */
const EXPIRING_BYTES = 500;
/** Stale entries that do not justify a rebuild. */
const DUE_SLACK = 16;

export class HashValue {
  readonly typeName = "hash";
  readonly #hashSeed: Uint8Array;
  #pairs: Bytes[] | undefined = [];
  #table: Dictionary<Bytes> | undefined;
  #expiries: Dictionary<number> | undefined;
  #due: DueQueue | undefined;
  /** Of all values, and of the names too while they are in the flat array. */
  #contentBytes = 0;
  /** True once it exceeded the bounds of Redis' listpack. */
  #wasLarge = false;

  constructor(hashSeed: Uint8Array) {
    this.#hashSeed = hashSeed;
  }

  get size(): number {
    return this.#table !== undefined ? this.#table.size : this.#compact.length / 2;
  }

  /** Approximate memory in bytes. */
  get memoryBytes(): number {
    const own = this.#table === undefined ? 8 * roomFor(2 * this.size) : this.#table.memoryBytes;
    // Not by the length of the queue: reads shrink it, but the memory of a hash may change with the hash alone.
    const expiries = this.#expiries;
    const expiring = expiries === undefined ? 0 : EXPIRING_BYTES + expiries.memoryBytes + expiries.size * DUE_BYTES;
    return FIXED_BYTES + own + this.#contentBytes + expiring;
  }

  /** Entries that its tables have examined or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    let work = 0;
    for (const table of [this.#table, this.#expiries]) if (table !== undefined) work += table.visits + table.moves;
    return work;
  }

  /** True while Redis would keep such a hash as a listpack; it never goes back. */
  get isListpack(): boolean {
    return !this.#wasLarge;
  }

  get(field: Bytes): Bytes | undefined {
    if (this.#table !== undefined) return this.#table.get(field);
    const index = this.#indexOf(field);
    return index < 0 ? undefined : this.#compact[index + 1];
  }

  has(field: Bytes): boolean {
    return this.#table !== undefined ? this.#table.has(field) : this.#indexOf(field) >= 0;
  }

  /** True if the field is new. Keeps the field's expiry. */
  set(field: Bytes, value: Bytes): boolean {
    const isLong = field.length > COMPACT_BYTES_MAX || value.length > COMPACT_BYTES_MAX;
    if (isLong) this.#wasLarge = true;
    this.#contentBytes += memoryBytesOf(value);
    const table = this.#table;
    if (table !== undefined) {
      const slot = table.find(field);
      if (slot >= 0) {
        this.#contentBytes -= memoryBytesOf(table.valueAt(slot));
        table.setValueAt(slot, value);
        return false;
      }
      table.insert(field, value);
      if (table.size > LISTPACK_FIELDS_MAX) this.#wasLarge = true;
      return true;
    }
    const pairs = this.#compact;
    const index = this.#indexOf(field);
    if (index >= 0) {
      this.#contentBytes -= memoryBytesOf(pairs[index + 1] as Bytes);
      pairs[index + 1] = value;
    } else {
      this.#contentBytes += memoryBytesOf(field);
      pairs.push(field, value);
    }
    if (isLong || pairs.length > 2 * COMPACT_FIELDS_MAX) this.#enlarge();
    return index < 0;
  }

  /** True if the field existed. */
  delete(field: Bytes): boolean {
    this.clearExpiry(field); // keeps (1)
    const table = this.#table;
    if (table !== undefined) {
      const slot = table.find(field);
      if (slot < 0) return false;
      this.#contentBytes -= memoryBytesOf(table.valueAt(slot));
      table.removeAt(slot);
      return true;
    }
    const index = this.#indexOf(field);
    if (index < 0) return false;
    const [, value = ""] = this.#compact.splice(index, 2);
    this.#contentBytes -= memoryBytesOf(field) + memoryBytesOf(value);
    return true;
  }

  /** The field at an index in 0 … size - 1, in no particular order. */
  fieldAt(place: number): Bytes {
    return this.#table !== undefined ? this.#table.keyAt(place) : (this.#compact[2 * place] as Bytes);
  }

  valueAt(place: number): Bytes {
    return this.#table !== undefined ? this.#table.valueAt(place) : (this.#compact[2 * place + 1] as Bytes);
  }

  /** One step of a SCAN: visits some entries and returns the next cursor, 0 at the end. */
  scan(cursor: number, visit: (place: number) => void): number {
    if (this.#table !== undefined) return this.#table.scan(cursor, visit);
    for (let place = 0; place < this.size; place += 1) visit(place);
    return 0;
  }

  /** The expiry time of the field in ms, or undefined. */
  expiryOf(field: Bytes): number | undefined {
    return this.#expiries?.get(field);
  }

  /** The field must exist. */
  setExpiry(field: Bytes, atMs: number): void {
    this.#expiries ??= new Dictionary(this.#hashSeed, { largeNumbers: true });
    this.#due ??= new DueQueue();
    this.#expiries.set(field, atMs);
    this.#due.push(atMs, field);
    // keeps (2)
    if (this.#due.length > 2 * this.#expiries.size + DUE_SLACK) this.#due.rebuild(this.#expiringFields());
  }

  /** True if the field had an expiry. */
  clearExpiry(field: Bytes): boolean {
    if (this.#expiries === undefined || !this.#expiries.delete(field)) return false;
    if (this.#expiries.size === 0) {
      this.#expiries = undefined;
      this.#due = undefined;
    }
    return true;
  }

  get hasExpiries(): boolean {
    return this.#expiries !== undefined;
  }

  /** The earliest expiry time of any field, or Infinity. */
  get nextDueMs(): number {
    const due = this.#due;
    if (due === undefined) return Number.POSITIVE_INFINITY;
    for (let name = due.firstName; name !== undefined; name = due.firstName) {
      if (this.#expiries?.get(name) === due.firstMs) return due.firstMs;
      due.pop(); // stale
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The field that expires first, if that is before `nowMs`. */
  findDue(nowMs: number): Bytes | undefined {
    return this.nextDueMs < nowMs ? this.#due?.firstName : undefined;
  }

  /** True if some field is not expired at `nowMs`. Checks every field if all are. */
  hasFieldNotDue(nowMs: number): boolean {
    const expiries = this.#expiries;
    if (expiries === undefined || expiries.size < this.size) return true;
    for (let slot = 0; slot < expiries.size; slot += 1) if (expiries.valueAt(slot) >= nowMs) return true;
    return false;
  }

  copy(): HashValue {
    return this.copyWithoutDue(Number.NEGATIVE_INFINITY);
  }

  /** A copy with the fields that are not expired at `nowMs`. */
  copyWithoutDue(nowMs: number): HashValue {
    const copy = new HashValue(this.#hashSeed);
    copy.#wasLarge = this.#wasLarge;
    for (let place = 0; place < this.size; place += 1) {
      const field = this.fieldAt(place);
      const atMs = this.expiryOf(field);
      if (atMs !== undefined && atMs < nowMs) continue;
      copy.set(field, this.valueAt(place));
      if (atMs !== undefined) copy.setExpiry(field, atMs);
    }
    return copy;
  }

  /** True while it is small enough to be saved as a whole, with `restorer`. */
  get isCompact(): boolean {
    return this.#table === undefined;
  }

  /** Makes it what it is now. It must be compact. */
  restorer(): () => void {
    const pairs = this.#compact.slice();
    const contentBytes = this.#contentBytes;
    const wasLarge = this.#wasLarge;
    const expiring = [...this.#expiringFields()];
    return () => {
      this.#pairs = pairs;
      this.#table = undefined;
      this.#contentBytes = contentBytes;
      this.#wasLarge = wasLarge;
      this.#expiries = undefined;
      this.#due = undefined;
      for (const [field, atMs] of expiring) this.setExpiry(field, atMs);
    };
  }

  /** Makes a field what it is now, if only this field has changed since. It must not be compact. */
  fieldRestorer(field: Bytes): () => void {
    const table = this.#table as Dictionary<Bytes>;
    const slot = table.find(field);
    const value = slot < 0 ? undefined : table.valueAt(slot);
    const atMs = this.expiryOf(field);
    const wasLarge = this.#wasLarge;
    return () => {
      if (value === undefined) this.delete(field);
      else if (table.has(field)) this.set(field, value);
      else this.#restoreAt(slot, field, value);
      if (atMs === undefined) this.clearExpiry(field);
      else if (this.expiryOf(field) !== atMs) this.setExpiry(field, atMs);
      this.#wasLarge = wasLarge;
    };
  }

  #restoreAt(slot: number, field: Bytes, value: Bytes): void {
    this.#contentBytes += memoryBytesOf(value);
    this.#table?.restoreAt(slot, field, value);
  }

  get #compact(): Bytes[] {
    return this.#pairs as Bytes[];
  }

  #indexOf(field: Bytes): number {
    const pairs = this.#compact;
    for (let index = 0; index < pairs.length; index += 2) if (pairs[index] === field) return index;
    return -1;
  }

  #enlarge(): void {
    const pairs = this.#compact;
    const table = new Dictionary<Bytes>(this.#hashSeed);
    for (let index = 0; index < pairs.length; index += 2) {
      table.set(pairs[index] as Bytes, pairs[index + 1] as Bytes);
      this.#contentBytes -= memoryBytesOf(pairs[index] as Bytes);
    }
    this.#table = table;
    this.#pairs = undefined;
  }

  *#expiringFields(): Generator<readonly [Bytes, number]> {
    const expiries = this.#expiries;
    if (expiries === undefined) return;
    for (let slot = 0; slot < expiries.size; slot += 1) yield [expiries.keyAt(slot), expiries.valueAt(slot)];
  }
}

/** The capacity that V8 reserves for an array that grew by pushes: it grows by half and sixteen. */
function roomFor(length: number): number {
  let room = 0;
  while (room < length) room += (room >>> 1) + 16 + (room === 0 ? 1 : 0);
  return room;
}
