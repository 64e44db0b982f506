/**
 * The records of a namespace in the order they came: what a range follows, and
 * what decides between equal scores.
 *
 * A record gets the next place when it comes and keeps it until it goes. Records
 * lie in chunks, and each chunk knows how many it has, so a position is found by
 * walking over counts: n / 512 steps, and a place by halving.
 *
 * (1) A record that is here has exactly one place. Of two records the one that
 *     came first has the smaller place, and no place is given out twice: a place
 *     that a cursor names means the same as long as the namespace exists.
 * (2) A chunk without a record takes no memory, and chunks are at most four
 *     times as many as the records need: then all are filled again in order.
 * (3) The records of a chunk lie in the order of their places, none below
 *     `first`, and all of them below the next chunk's. In a chunk that nobody
 *     filled again a record lies as far behind the first as its place does.
 */
import { assert } from "../../kernel/assert.ts";

const CHUNK_LENGTH = 512;
const CHUNKS_KEPT_MIN = 64;
/** In a chunk: nobody's place any more, or not yet. */
const EMPTY = -1;
/** Of a chunk that nobody is in any more. */
const NO_RECORDS = new Int32Array(0);

interface Chunk {
  readonly first: number;
  records: Int32Array;
  count: number;
}

export class InsertionOrder {
  #chunks: Chunk[] = [];
  /** Of the last chunk, so many slots were given out. */
  #lastUsed = CHUNK_LENGTH;
  /** The place of the next record that comes. */
  #nextPlace = 0;
  #count = 0;
  /** Place by record number; only those of present records mean anything. */
  #places = new Float64Array(64);

  get count(): number {
    return this.#count;
  }

  /** The place that the next record gets: above all that were ever given out. */
  get nextPlace(): number {
    return this.#nextPlace;
  }

  /** The next record gets this place: what lies below was given out before. */
  skipTo(place: number): void {
    assert(place >= this.#nextPlace, "no place is given out twice");
    this.#nextPlace = place;
  }

  /** Gives the record the last place. It must not be here. */
  append(record: number): void {
    if (this.#lastUsed === CHUNK_LENGTH && this.#chunks.length > this.#chunksMax()) this.#fillAgain();
    this.#setPlace(record, this.#nextPlace);
    this.#nextPlace += 1;
    this.#push(record);
  }

  remove(record: number): void {
    const { chunk, chunkIndex, slot } = this.#find(record);
    chunk.records[slot] = EMPTY;
    chunk.count -= 1;
    this.#count -= 1;
    // The last chunk is still being filled.
    if (chunk.count === 0 && chunkIndex < this.#chunks.length - 1) chunk.records = NO_RECORDS;
  }

  /** The record is called `to` from now on, and keeps its place. */
  rename(from: number, to: number): void {
    const { chunk, slot } = this.#find(from);
    chunk.records[slot] = to;
    this.#setPlace(to, this.#places[from] as number);
  }

  /** The record's place: of two records, the smaller came first. */
  placeOf(record: number): number {
    return this.#places[record] as number;
  }

  /** The records from a position on, in order. Must not change meanwhile. */
  *from(position: number): Generator<number> {
    let at = 0;
    for (const { records, count } of this.#chunks) {
      if (at + count <= position) {
        at += count;
        continue;
      }
      for (const record of records) {
        if (record === EMPTY) continue;
        if (at >= position) yield record;
        at += 1;
      }
    }
  }

  /** The records at this place and after it, in order. Must not change meanwhile. */
  *fromPlace(place: number): Generator<number> {
    for (let index = Math.max(0, this.#chunkOf(place)); index < this.#chunks.length; index += 1) {
      const { records } = this.#chunks[index] as Chunk;
      for (const record of records) if (record !== EMPTY && this.placeOf(record) >= place) yield record;
    }
  }

  /** The record at a position below `count`. */
  at(position: number): number {
    for (const record of this.from(position)) return record;
    throw new RangeError(`There is no record at position ${position}`);
  }

  /** No record is here any more. Places go on: keeps (1). */
  clear(): void {
    this.#chunks = [];
    this.#lastUsed = CHUNK_LENGTH;
    this.#count = 0;
    this.#places = new Float64Array(64);
  }

  /** Puts a record that has its place after all others. keeps (3) */
  #push(record: number): void {
    if (this.#lastUsed === CHUNK_LENGTH) {
      const last = this.#chunks.at(-1);
      if (last?.count === 0) last.records = NO_RECORDS;
      this.#chunks.push({ first: this.placeOf(record), records: new Int32Array(CHUNK_LENGTH).fill(EMPTY), count: 0 });
      this.#lastUsed = 0;
    }
    const chunk = this.#chunks.at(-1) as Chunk;
    chunk.records[this.#lastUsed] = record;
    chunk.count += 1;
    this.#lastUsed += 1;
    this.#count += 1;
  }

  #find(record: number): { readonly chunk: Chunk; readonly chunkIndex: number; readonly slot: number } {
    const place = this.#places[record] as number;
    const chunkIndex = this.#chunkOf(place);
    const chunk = this.#chunks[chunkIndex];
    assert(chunk !== undefined, "a record lies in a chunk");
    const guess = place - chunk.first;
    const slot = chunk.records[guess] === record ? guess : chunk.records.indexOf(record);
    assert(slot >= 0, "a record lies at its place");
    return { chunk, chunkIndex, slot };
  }

  /** The index of the last chunk that does not begin after the place; -1 when all do. */
  #chunkOf(place: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle] as Chunk).first <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #setPlace(record: number, place: number): void {
    if (record >= this.#places.length) {
      const grown = new Float64Array(Math.max(record + 1, this.#places.length * 2));
      grown.set(this.#places);
      this.#places = grown;
    }
    this.#places[record] = place;
  }

  #chunksMax(): number {
    return Math.max(CHUNKS_KEPT_MIN, Math.ceil(this.#count / CHUNK_LENGTH) * 4);
  }

  // keeps (2), and (1) because places stay
  #fillAgain(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#lastUsed = CHUNK_LENGTH;
    this.#count = 0;
    for (const { records } of chunks) for (const record of records) if (record !== EMPTY) this.#push(record);
  }
}
