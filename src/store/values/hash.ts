/**
 * A hash: fields with their values, and expiry times of some fields.
 *
 * A small hash is one flat array (name, value, name, value, …) in the order of
 * insertion, searched from the front; a larger one becomes a dictionary and
 * stays a dictionary.
 *
 * (1) Every name in `#due`, which has the expiry times, is a field of the hash.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { Dictionary } from "../structures/dictionary.ts";
import { DueKeys } from "../structures/due-keys.ts";

/** Limit of fields in the flat array. */
const COMPACT_FIELDS_MAX = 128;
/** Redis' hash-max-listpack-value. */
export const COMPACT_BYTES_MAX = 64;
/** Redis' hash-max-listpack-entries: decides OBJECT ENCODING. */
export const LISTPACK_FIELDS_MAX = 512;
/** The object and its empty array, roughly. */
const FIXED_BYTES = 120;
/** The object of the expiry times, and the spare capacity of its arrays and of a few entries. */
const EXPIRING_BYTES = 500;

export class HashValue {
  readonly typeName = "hash";
  readonly #hashSeed: Uint8Array;
  #pairs: Bytes[] | undefined = [];
  #table: Dictionary<Bytes> | undefined;
  #due: DueKeys | undefined;
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
    const expiring = this.#due === undefined ? 0 : EXPIRING_BYTES + this.#due.memoryBytes;
    return FIXED_BYTES + own + this.#contentBytes + expiring;
  }

  /** Entries that its tables have examined or moved so far. Only grows; complexity tests read it. */
  get work(): number {
    const table = this.#table;
    return (table === undefined ? 0 : table.visits + table.moves) + (this.#due?.work ?? 0);
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
    return this.#due?.get(field);
  }

  /** The field must exist. */
  setExpiry(field: Bytes, atMs: number): void {
    this.#due ??= new DueKeys(this.#hashSeed, { sharesKeys: false });
    this.#due.set(field, atMs);
  }

  /** True if the field had an expiry. */
  clearExpiry(field: Bytes): boolean {
    if (this.#due === undefined || !this.#due.delete(field)) return false;
    if (this.#due.size === 0) this.#due = undefined;
    return true;
  }

  get hasExpiries(): boolean {
    return this.#due !== undefined;
  }

  /** The earliest expiry time of any field, or Infinity. */
  get nextDueMs(): number {
    return this.#due === undefined ? Number.POSITIVE_INFINITY : this.#due.firstMs;
  }

  /** The field that expires first, if that is before `nowMs`. */
  findDue(nowMs: number): Bytes | undefined {
    return this.nextDueMs < nowMs ? this.#due?.firstKey : undefined;
  }

  /** True if some field is not expired at `nowMs`. Checks every field if all are. */
  hasFieldNotDue(nowMs: number): boolean {
    const due = this.#due;
    return due === undefined || due.size < this.size || due.hasFrom(nowMs);
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
    const expiring = [...(this.#due?.entries() ?? [])];
    return () => {
      this.#pairs = pairs;
      this.#table = undefined;
      this.#contentBytes = contentBytes;
      this.#wasLarge = wasLarge;
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
}

/** The capacity that V8 reserves for an array that grew by pushes: it grows by half and sixteen. */
function roomFor(length: number): number {
  let room = 0;
  while (room < length) room += (room >>> 1) + 16 + (room === 0 ? 1 : 0);
  return room;
}
