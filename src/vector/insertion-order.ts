/**
 * The records of a namespace in the order they came, with access by position:
 * what a range's cursor counts, and what decides between equal scores.
 *
 * A record gets the next place when it comes and keeps it until it goes. Places
 * lie in chunks, and each chunk knows how many of its places are taken, so a
 * position is found by walking over counts: n / 512 steps.
 *
 * (1) A record that is here has exactly one place, and of two records the one
 *     that came first has the smaller place, also after a renumbering.
 * (2) A chunk without a record takes no memory, and chunks are at most four
 *     times as many as the records need: then all are numbered anew.
 */
import { assert } from "../kernel/assert.ts";

const CHUNK_LENGTH = 512;
const CHUNKS_KEPT_MIN = 64;
/** In a chunk: nobody's place any more, or not yet. */
const EMPTY = -1;

interface Chunk {
  readonly records: Int32Array;
  count: number;
}

export class InsertionOrder {
  #chunks: (Chunk | undefined)[] = [];
  /** The next place, counted from the first chunk. */
  #end = 0;
  #count = 0;
  /** Place by record number; only those of present records mean anything. */
  #places = new Float64Array(64);

  get count(): number {
    return this.#count;
  }

  /** Gives the record the last place. It must not be here. */
  append(record: number): void {
    if (this.#chunks.length > this.#chunksMax()) this.#renumber();
    const chunkIndex = Math.floor(this.#end / CHUNK_LENGTH);
    let chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) {
      chunk = { records: new Int32Array(CHUNK_LENGTH).fill(EMPTY), count: 0 };
      this.#chunks[chunkIndex] = chunk;
    }
    chunk.records[this.#end % CHUNK_LENGTH] = record;
    chunk.count += 1;
    this.#setPlace(record, this.#end);
    this.#end += 1;
    this.#count += 1;
  }

  remove(record: number): void {
    const { chunk, offset, chunkIndex } = this.#find(record);
    chunk.records[offset] = EMPTY;
    chunk.count -= 1;
    this.#count -= 1;
    // The last chunk is still being filled.
    if (chunk.count === 0 && chunkIndex < Math.floor(this.#end / CHUNK_LENGTH)) this.#chunks[chunkIndex] = undefined;
  }

  /** The record is called `to` from now on, and keeps its place. */
  rename(from: number, to: number): void {
    const { chunk, offset } = this.#find(from);
    chunk.records[offset] = to;
    this.#setPlace(to, this.#places[from] as number);
  }

  /** The record's place: of two records, the smaller came first. Only comparing places means anything. */
  placeOf(record: number): number {
    return this.#places[record] as number;
  }

  /** The records from a position on, in order, with their positions. Must not change meanwhile. */
  *from(position: number): Generator<{ readonly record: number; readonly position: number }> {
    let at = 0;
    for (const chunk of this.#chunks) {
      if (chunk === undefined) continue;
      if (at + chunk.count <= position) {
        at += chunk.count;
        continue;
      }
      for (const record of chunk.records) {
        if (record === EMPTY) continue;
        if (at >= position) yield { record, position: at };
        at += 1;
      }
    }
  }

  /** The record at a position below `count`. */
  at(position: number): number {
    for (const { record } of this.from(position)) return record;
    throw new RangeError(`There is no record at position ${position}`);
  }

  clear(): void {
    this.#chunks = [];
    this.#end = 0;
    this.#count = 0;
    this.#places = new Float64Array(64);
  }

  #find(record: number): { readonly chunk: Chunk; readonly offset: number; readonly chunkIndex: number } {
    const place = this.#places[record] as number;
    const chunkIndex = Math.floor(place / CHUNK_LENGTH);
    const chunk = this.#chunks[chunkIndex];
    const offset = place % CHUNK_LENGTH;
    assert(chunk !== undefined && chunk.records[offset] === record, "a record lies at its place");
    return { chunk, offset, chunkIndex };
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

  // keeps (2), and (1) because the order stays
  #renumber(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#end = 0;
    this.#count = 0;
    for (const chunk of chunks) {
      if (chunk === undefined) continue;
      for (const record of chunk.records) if (record !== EMPTY) this.append(record);
    }
  }
}
