/**
 * One field of all records: the id of each record's value, and a chain of records
 * for each value. The value of a path with `[*]` is the list of the record's fields.
 *
 * (1) `ids[r]` is the value of record r. It is ABSENT, like entries beyond the end
 *     of `ids`, for a record that does not exist or has not been read yet.
 * (2) A record that is not ABSENT is in the chain of its value, and `counts` is
 *     the length of that chain.
 */

import { fieldsReader } from "../filter/any-element.ts";
import { type FieldPath, fieldReader } from "../filter/field-path.ts";
import type { Json } from "../filter/json.ts";
import { widened } from "../search/bits.ts";
import { ABSENT, ValueDictionary } from "./value-dictionary.ts";

const RECORDS_MIN = 64;
const VALUES_MIN = 16;

export class Column {
  readonly path: FieldPath;
  readonly dictionary = new ValueDictionary();
  /** Records from this number on have not been read yet; Infinity if all were. */
  readLimit = 0;
  /** The position of the log up to which read records are current. */
  position = 0;
  readonly #idOf: (metadata: Json) => number;
  #ids: Uint32Array = new Uint32Array(RECORDS_MIN);
  /** The neighbours in the chain plus 1; 0 is the end. */
  #next: Uint32Array = new Uint32Array(RECORDS_MIN);
  #previous: Uint32Array = new Uint32Array(RECORDS_MIN);
  /** The first record of the chain plus 1, by value id. */
  #heads: Uint32Array = new Uint32Array(VALUES_MIN);
  #counts: Uint32Array = new Uint32Array(VALUES_MIN);
  #recordCount = 0;

  constructor(path: FieldPath) {
    this.path = path;
    this.#idOf = idReader(path, this.dictionary);
  }

  get isComplete(): boolean {
    return this.readLimit === Number.POSITIVE_INFINITY;
  }

  get ids(): Uint32Array {
    return this.#ids;
  }

  /** The number of existing records. */
  get recordCount(): number {
    return this.#recordCount;
  }

  /** The counts by value id; at least as long as the dictionary. */
  get counts(): Uint32Array {
    return this.#counts;
  }

  /** About. */
  get byteCount(): number {
    return 3 * this.#ids.byteLength + 2 * this.#counts.byteLength + this.dictionary.byteCount;
  }

  /** Makes room for this many records at once. */
  reserve(recordCount: number): void {
    if (recordCount > this.#ids.length) this.#growRecords(recordCount);
  }

  /** Sets the value of an existing record from its metadata. */
  put(record: number, metadata: Json): void {
    this.#assign(record, this.#idOf(metadata));
  }

  /** Removes a record that no longer exists. */
  remove(record: number): void {
    this.#assign(record, ABSENT);
  }

  /** Sets the bit of each record that has the value. */
  addRecords(id: number, words: Uint32Array): void {
    const next = this.#next;
    for (let link = this.#heads[id] as number; link !== 0; link = next[link - 1] as number) {
      const record = link - 1;
      const at = record >>> 5;
      words[at] = (words[at] as number) | (1 << (record & 31));
    }
  }

  #assign(record: number, id: number): void {
    if (record >= this.#ids.length) {
      if (id === ABSENT) return;
      this.#growRecords(Math.max(record + 1, this.#ids.length + (this.#ids.length >>> 1)));
    }
    if (id >= this.#heads.length) this.#growValues(2 * id);
    const before = this.#ids[record] as number;
    if (before === id) return;
    if (before !== ABSENT) this.#unlink(record, before);
    if (id !== ABSENT) this.#link(record, id);
    this.#ids[record] = id;
  }

  #link(record: number, id: number): void {
    const head = this.#heads[id] as number;
    this.#next[record] = head;
    this.#previous[record] = 0;
    if (head !== 0) this.#previous[head - 1] = record + 1;
    this.#heads[id] = record + 1;
    this.#counts[id] = (this.#counts[id] as number) + 1;
    this.#recordCount += 1;
  }

  #unlink(record: number, id: number): void {
    const next = this.#next[record] as number;
    const previous = this.#previous[record] as number;
    if (next !== 0) this.#previous[next - 1] = previous;
    if (previous !== 0) this.#next[previous - 1] = next;
    else this.#heads[id] = next;
    const count = (this.#counts[id] as number) - 1;
    this.#counts[id] = count;
    this.#recordCount -= 1;
    if (count === 0) this.dictionary.release(id);
  }

  #growRecords(length: number): void {
    this.#ids = widened(this.#ids, length);
    this.#next = widened(this.#next, length);
    this.#previous = widened(this.#previous, length);
  }

  #growValues(length: number): void {
    this.#heads = widened(this.#heads, length);
    this.#counts = widened(this.#counts, length);
  }
}

/** Returns a function that finds or assigns the id of a record's value. */
function idReader(path: FieldPath, dictionary: ValueDictionary): (metadata: Json) => number {
  if (path.isMany) {
    const readFields = fieldsReader(path);
    return (metadata) => dictionary.idOfList(readFields(metadata));
  }
  const readField = fieldReader(path);
  return (metadata) => dictionary.idOf(readField(metadata));
}
