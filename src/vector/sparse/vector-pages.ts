/**
 * Sparse vectors as they were sent, by record number, for reads and to find the
 * postings of a record. They are stored one after the other in pages of 32-bit
 * words, so a million vectors are a few hundred objects.
 *
 *     entry | record | count n | n indices i32 | n values f32 |
 *
 * (1) An entry is live if `#pages` and `#offsets` of its record point to it;
 *     `live` of a page counts the words of its live entries.
 * (2) Entries are added only to the last page. Another page that is less than
 *     half live is emptied, one per change, so at most half is waste.
 */
import { assert } from "../../kernel/assert.ts";
import type { SparseVector } from "../index/record.ts";

/** The words of a page, apart from the first pages of a small namespace. */
const PAGE_WORDS_MAX = 16_384;
const PAGE_WORDS_MIN = 64;
const HEAD_WORDS = 2;
const RECORDS_MIN = 16;
/** Instead of a page number: the record has no vector. */
const NOWHERE = -1;

interface Page {
  readonly words: Int32Array;
  /** The same memory. */
  readonly floats: Float32Array;
  used: number;
  live: number;
}

export class VectorPages {
  /** Undefined for emptied pages, whose numbers are used again. */
  #table: (Page | undefined)[] = [];
  #freeNumbers: number[] = [];
  #last = NOWHERE;
  /** By record number. */
  #pages = new Int32Array(RECORDS_MIN).fill(NOWHERE);
  #offsets = new Uint32Array(RECORDS_MIN);
  #end = 0;
  #count = 0;
  #words = 0;
  #pageBytes = 0;

  /** The number of vectors. */
  get count(): number {
    return this.#count;
  }

  /** One above the highest record number with a vector. */
  get end(): number {
    return this.#end;
  }

  get byteCount(): number {
    return this.#pageBytes + this.#pages.byteLength + this.#offsets.byteLength;
  }

  has(record: number): boolean {
    return record < this.#end && this.#pages[record] !== NOWHERE;
  }

  /** A read-only view of the stored vector, valid until the next change. */
  view(record: number): SparseVector | undefined {
    const page = this.has(record) ? this.#table[this.#pages[record] as number] : undefined;
    if (page === undefined) return undefined;
    const start = (this.#offsets[record] as number) + HEAD_WORDS;
    const count = page.words[start - 1] as number;
    return {
      indices: page.words.subarray(start, start + count),
      values: page.floats.subarray(start + count, start + count * 2),
    };
  }

  /** The record must have no vector. */
  add(record: number, { indices, values }: SparseVector): void {
    assert(!this.has(record), "a record has one sparse vector");
    assert(indices.length === values.length, "a sparse vector has as many values as indices");
    this.#reach(record);
    const count = indices.length;
    const page = this.#roomFor(HEAD_WORDS + count * 2);
    const start = page.used;
    page.words[start] = record;
    page.words[start + 1] = count;
    page.words.set(indices, start + HEAD_WORDS);
    page.floats.set(values, start + HEAD_WORDS + count);
    this.#place(record, page, HEAD_WORDS + count * 2);
    this.#count += 1;
  }

  /** The record must have a vector. */
  remove(record: number): void {
    const number = this.#pages[record] as number;
    const page = this.#table[number];
    assert(this.has(record) && page !== undefined, "a removed vector exists");
    const length = lengthAt(page, this.#offsets[record] as number);
    page.live -= length;
    this.#words -= length;
    this.#count -= 1;
    this.#pages[record] = NOWHERE;
    if (record === this.#end - 1) this.#lowerEnd();
    if (page.live === 0) this.#drop(number);
    else if (number !== this.#last && page.live * 2 < page.words.length) this.#empty(number); // keeps (2)
  }

  clear(): void {
    this.#table = [];
    this.#freeNumbers = [];
    this.#last = NOWHERE;
    this.#pages = new Int32Array(RECORDS_MIN).fill(NOWHERE);
    this.#offsets = new Uint32Array(RECORDS_MIN);
    this.#end = 0;
    this.#count = 0;
    this.#words = 0;
    this.#pageBytes = 0;
  }

  /** Assigns the entry just written at the end of the last page to the record. keeps (1) */
  #place(record: number, page: Page, length: number): void {
    this.#pages[record] = this.#last;
    this.#offsets[record] = page.used;
    page.used += length;
    page.live += length;
    this.#words += length;
  }

  /** The last page, with room for this many words. */
  #roomFor(length: number): Page {
    const last = this.#table[this.#last];
    if (last !== undefined && last.used + length <= last.words.length) return last;
    const left = this.#last;
    // A page is as large as all existing vectors, so that a small namespace stays small.
    const size = Math.max(length, Math.min(PAGE_WORDS_MAX, Math.max(PAGE_WORDS_MIN, this.#words)));
    const buffer = new ArrayBuffer(size * 4);
    const page = { words: new Int32Array(buffer), floats: new Float32Array(buffer), used: 0, live: 0 };
    this.#last = this.#freeNumbers.pop() ?? this.#table.length;
    this.#table[this.#last] = page;
    this.#pageBytes += buffer.byteLength;
    // It is less than half live, so the rest of it fits into the new page together with the new entry.
    if (last !== undefined && last.live * 2 < last.words.length && last.live + length <= size) this.#empty(left);
    return page;
  }

  /** Moves the live entries of a page to the last one. */
  #empty(number: number): void {
    const page = this.#table[number] as Page;
    for (let at = 0; at < page.used; at += lengthAt(page, at)) {
      const record = page.words[at] as number;
      if (this.#pages[record] !== number || this.#offsets[record] !== at) continue;
      const length = lengthAt(page, at);
      const target = this.#roomFor(length);
      target.words.set(page.words.subarray(at, at + length), target.used);
      this.#place(record, target, length);
      this.#words -= length;
    }
    this.#drop(number);
  }

  #drop(number: number): void {
    const page = this.#table[number] as Page;
    this.#pageBytes -= page.words.byteLength;
    this.#table[number] = undefined;
    this.#freeNumbers.push(number);
    if (number === this.#last) this.#last = NOWHERE;
  }

  #reach(record: number): void {
    if (record >= this.#pages.length) this.#resize(Math.max(record + 1, this.#pages.length * 2));
    this.#end = Math.max(this.#end, record + 1);
  }

  #lowerEnd(): void {
    while (this.#end > 0 && this.#pages[this.#end - 1] === NOWHERE) this.#end -= 1;
    const { length } = this.#pages;
    if (length > RECORDS_MIN && this.#end < length / 4) this.#resize(Math.max(RECORDS_MIN, this.#end * 2));
  }

  #resize(length: number): void {
    const pages = new Int32Array(length).fill(NOWHERE);
    const offsets = new Uint32Array(length);
    pages.set(this.#pages.subarray(0, this.#end));
    offsets.set(this.#offsets.subarray(0, this.#end));
    this.#pages = pages;
    this.#offsets = offsets;
  }
}

/** The number of words of the entry at an offset. */
function lengthAt(page: Page, at: number): number {
  return HEAD_WORDS + (page.words[at + 1] as number) * 2;
}
