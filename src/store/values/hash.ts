/**
 * A hash: fields and their values, and for some fields a moment they expire.
 *
 * A small hash is one flat array (name, value, name, value, …) in the order of
 * insertion, searched from the front; a larger one becomes a dictionary and
 * stays one.
 *
 * (1) Every name in `#expiries` is a field of the hash.
 * (2) For each of them `#due` holds an entry with its moment, possibly among
 *     stale entries; `#due` is at most twice as long as `#expiries`, plus a few.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { Dictionary } from "../structures/dictionary.ts";
import { DueQueue } from "../structures/due-queue.ts";

/** Fields that are searched from the front rather than hashed. */
const COMPACT_FIELDS_MAX = 128;
/** Redis' hash-max-listpack-value. */
const COMPACT_BYTES_MAX = 64;
/** Redis' hash-max-listpack-entries: what OBJECT ENCODING tells by. */
const LISTPACK_FIELDS_MAX = 512;
/** Stale entries that are not worth a rebuild. */
const DUE_SLACK = 16;

export class HashValue {
  readonly typeName = "hash";
  readonly #hashSeed: Uint8Array;
  #pairs: Bytes[] | undefined = [];
  #table: Dictionary<Bytes> | undefined;
  #expiries: Dictionary<number> | undefined;
  #due: DueQueue | undefined;
  /** True once it was beyond the bounds of Redis' listpack. */
  #wasLarge = false;

  constructor(hashSeed: Uint8Array) {
    this.#hashSeed = hashSeed;
  }

  get size(): number {
    return this.#table !== undefined ? this.#table.size : this.#compact.length / 2;
  }

  /** Entries that its tables have looked at or moved so far. Only ever grows; complexity tests read it. */
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

  /** True if the field is new. The field's expiry is left as it is. */
  set(field: Bytes, value: Bytes): boolean {
    const isLong = field.length > COMPACT_BYTES_MAX || value.length > COMPACT_BYTES_MAX;
    if (isLong) this.#wasLarge = true;
    if (this.#table !== undefined) {
      const isNew = this.#table.set(field, value);
      if (this.#table.size > LISTPACK_FIELDS_MAX) this.#wasLarge = true;
      return isNew;
    }
    const pairs = this.#compact;
    const index = this.#indexOf(field);
    if (index >= 0) pairs[index + 1] = value;
    else pairs.push(field, value);
    if (isLong || pairs.length > 2 * COMPACT_FIELDS_MAX) this.#enlarge();
    return index < 0;
  }

  /** True if the field was there. */
  delete(field: Bytes): boolean {
    this.clearExpiry(field); // keeps (1)
    if (this.#table !== undefined) return this.#table.delete(field);
    const index = this.#indexOf(field);
    if (index >= 0) this.#compact.splice(index, 2);
    return index >= 0;
  }

  /** The field at a place in 0 … size - 1, in no particular order. */
  fieldAt(place: number): Bytes {
    return this.#table !== undefined ? this.#table.keyAt(place) : (this.#compact[2 * place] as Bytes);
  }

  valueAt(place: number): Bytes {
    return this.#table !== undefined ? this.#table.valueAt(place) : (this.#compact[2 * place + 1] as Bytes);
  }

  /** One step of a SCAN: visits some places and returns the next cursor, 0 at the end. */
  scan(cursor: number, visit: (place: number) => void): number {
    if (this.#table !== undefined) return this.#table.scan(cursor, visit);
    for (let place = 0; place < this.size; place += 1) visit(place);
    return 0;
  }

  /** The moment the field expires, in ms, or undefined. */
  expiryOf(field: Bytes): number | undefined {
    return this.#expiries?.get(field);
  }

  /** The field must exist. */
  setExpiry(field: Bytes, atMs: number): void {
    this.#expiries ??= new Dictionary(this.#hashSeed);
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

  /** The earliest moment any field expires, or Infinity. */
  get nextDueMs(): number {
    const due = this.#due;
    if (due === undefined) return Number.POSITIVE_INFINITY;
    for (let name = due.firstName; name !== undefined; name = due.firstName) {
      if (this.#expiries?.get(name) === due.firstMs) return due.firstMs;
      due.pop(); // stale
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The field that expires first, if its time is before `nowMs`. */
  findDue(nowMs: number): Bytes | undefined {
    return this.nextDueMs < nowMs ? this.#due?.firstName : undefined;
  }

  /** True if a field lives on at `nowMs`. Looks at every field if none does. */
  hasFieldNotDue(nowMs: number): boolean {
    const expiries = this.#expiries;
    if (expiries === undefined || expiries.size < this.size) return true;
    for (let slot = 0; slot < expiries.size; slot += 1) if (expiries.valueAt(slot) >= nowMs) return true;
    return false;
  }

  copy(): HashValue {
    return this.copyWithoutDue(Number.NEGATIVE_INFINITY);
  }

  /** A hash of its own with the fields whose time is not before `nowMs`. */
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
    for (let index = 0; index < pairs.length; index += 2) table.set(pairs[index] as Bytes, pairs[index + 1] as Bytes);
    this.#table = table;
    this.#pairs = undefined;
  }

  *#expiringFields(): Generator<readonly [Bytes, number]> {
    const expiries = this.#expiries;
    if (expiries === undefined) return;
    for (let slot = 0; slot < expiries.size; slot += 1) yield [expiries.keyAt(slot), expiries.valueAt(slot)];
  }
}
