/**
 * The insertion order of a namespace's records: ranges use it, and it orders
 * equal scores.
 *
 * A new record gets the next place and keeps it until it is removed. Records are
 * in chunks with counts, so a position is found by adding up counts (n / 512
 * steps), and a place by binary search.
 *
 * (1) A present record has exactly one place. The earlier of two records has the
 *     smaller place, and no place is assigned twice: a place in a cursor means
 *     the same as long as the namespace exists.
 * (2) A chunk without records takes no memory. At most four times as many chunks
 *     exist as the records need: then all are filled again in order.
 * (3) The records of a chunk are in the order of their places, none below
 *     `first`, and all of them below the next chunk's. In a chunk that was not
 *     refilled, a record's offset from the first slot is that of its place.
 */
import { assert } from "../../kernel/assert.ts";
import { Float64Pages } from "../records/number-pages.ts";
import type { Block, RowMemory } from "../rows/row-memory.ts";

const CHUNK_LENGTH = 512;
/** The slots of a new chunk if it is the only one: it grows, so that a small namespace stays small. */
const SLOTS_MIN = 8;
const CHUNKS_KEPT_MIN = 64;
/** In a chunk: a slot without a record. */
const EMPTY = -1;
/** The slots of an empty chunk. */
const NO_RECORDS = new Int32Array(0);

interface Chunk {
  readonly first: number;
  /** The slots; a chunk that never had more records has fewer than CHUNK_LENGTH. */
  records: Int32Array;
  /** The block of the memory of rows that they are in; undefined if they are in an array of their own. */
  block: Block | undefined;
  count: number;
}

export class InsertionOrder {
  readonly #memory: RowMemory;
  #chunks: Chunk[] = [];
  /** The assigned slots of the last chunk. */
  #lastUsed = CHUNK_LENGTH;
  /** The place of the next record. */
  #nextPlace = 0;
  #count = 0;
  /** Places by record number, valid for present records only. */
  readonly #places: Float64Pages;

  constructor(memory: RowMemory) {
    this.#memory = memory;
    this.#places = new Float64Pages(memory);
  }

  get count(): number {
    return this.#count;
  }

  /** The memory outside the heap. */
  get byteCount(): number {
    let bytes = this.#places.byteCount;
    for (const { records } of this.#chunks) bytes += records.byteLength;
    return bytes;
  }

  /** The place of the next record, above all places ever assigned. */
  get nextPlace(): number {
    return this.#nextPlace;
  }

  /** Sets the place of the next record: lower places were assigned before. */
  skipTo(place: number): void {
    assert(place >= this.#nextPlace, "no place is assigned twice");
    this.#nextPlace = place;
  }

  /** Gives the record the last place. It must not be present. */
  append(record: number): void {
    if (this.#lastUsed === CHUNK_LENGTH && this.#chunks.length > this.#chunksMax()) this.#fillAgain();
    this.#places.set(record, this.#nextPlace);
    this.#nextPlace += 1;
    this.#push(record);
  }

  remove(record: number): void {
    const { chunk, chunkIndex, slot } = this.#find(record);
    chunk.records[slot] = EMPTY;
    chunk.count -= 1;
    this.#count -= 1;
    // Slots of the last chunk are still being assigned.
    if (chunk.count === 0 && chunkIndex < this.#chunks.length - 1) this.#empty(chunk);
  }

  /** Changes the record's number to `to`; it keeps its place. */
  rename(from: number, to: number): void {
    const { chunk, slot } = this.#find(from);
    chunk.records[slot] = to;
    this.#places.set(to, this.#places.get(from));
  }

  /** Frees memory for records from `end` on, which are not present. */
  freeFrom(end: number): void {
    this.#places.freeFrom(end);
  }

  /** The record's place: the earlier of two records has the smaller place. */
  placeOf(record: number): number {
    return this.#places.get(record);
  }

  /** The records from a position on, in order. Records must not change during the iteration. */
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

  /** The records at this place and after it, in order. Records must not change during the iteration. */
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

  /** Removes all records. Places continue: keeps (1). */
  clear(): void {
    for (const chunk of this.#chunks) this.#empty(chunk);
    this.#chunks = [];
    this.#lastUsed = CHUNK_LENGTH;
    this.#count = 0;
    this.#places.clear();
  }

  /** Puts a record with its place after all others. keeps (3) */
  #push(record: number): void {
    if (this.#lastUsed === CHUNK_LENGTH) {
      const last = this.#chunks.at(-1);
      if (last?.count === 0) this.#empty(last);
      const slots = this.#allocate(this.#chunks.length === 0 ? SLOTS_MIN : CHUNK_LENGTH);
      this.#chunks.push({ first: this.placeOf(record), ...slots, count: 0 });
      this.#lastUsed = 0;
    }
    const chunk = this.#chunks.at(-1) as Chunk;
    if (this.#lastUsed === chunk.records.length) this.#widen(chunk);
    chunk.records[this.#lastUsed] = record;
    chunk.count += 1;
    this.#lastUsed += 1;
    this.#count += 1;
  }

  #find(record: number): { readonly chunk: Chunk; readonly chunkIndex: number; readonly slot: number } {
    const place = this.#places.get(record);
    const chunkIndex = this.#chunkOf(place);
    const chunk = this.#chunks[chunkIndex];
    assert(chunk !== undefined, "a record is in a chunk");
    const guess = place - chunk.first;
    const slot = chunk.records[guess] === record ? guess : chunk.records.indexOf(record);
    assert(slot >= 0, "a record is at its place");
    return { chunk, chunkIndex, slot };
  }

  /** The index of the last chunk that does not begin after the place, or -1. */
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

  #chunksMax(): number {
    return Math.max(CHUNKS_KEPT_MIN, Math.ceil(this.#count / CHUNK_LENGTH) * 4);
  }

  // keeps (2), and (1) because places stay
  #fillAgain(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#lastUsed = CHUNK_LENGTH;
    this.#count = 0;
    for (const chunk of chunks) {
      for (const record of chunk.records) if (record !== EMPTY) this.#push(record);
      this.#empty(chunk);
    }
  }

  /** Slots without records. */
  #allocate(length: number): Pick<Chunk, "records" | "block"> {
    const block = this.#memory.findBlock(length * Int32Array.BYTES_PER_ELEMENT);
    const records =
      block === undefined ? new Int32Array(length) : new Int32Array(block.arena.floats.buffer, block.address, length);
    return { records: records.fill(EMPTY), block };
  }

  /** Doubles the slots of a chunk. */
  #widen(chunk: Chunk): void {
    const { records, block } = chunk;
    Object.assign(chunk, this.#allocate(Math.min(CHUNK_LENGTH, 2 * records.length)));
    chunk.records.set(records);
    this.#release(block);
  }

  /** Frees the slots of a chunk. */
  #empty(chunk: Chunk): void {
    const { block } = chunk;
    chunk.records = NO_RECORDS;
    chunk.block = undefined;
    this.#release(block);
  }

  #release(block: Block | undefined): void {
    if (block !== undefined) this.#memory.release(block);
  }
}
