/**
 * The inverted lists of a namespace: every value of every sparse vector, sorted
 * by dimension, then record. The list of a dimension is a range of this order, so
 * an unused dimension takes no memory, and a dimension of a single record takes
 * twelve bytes: texts have many of those.
 *
 * Postings are in chunks; a binary search compares with the bounds of the chunks
 * in `#firstDimensions` and `#firstRecords`.
 *
 * (1) The bound of a chunk is at most its first posting and at least the last
 *     posting of the previous chunk.
 * (2) No chunk is empty, and two neighbours together hold more than
 *     MERGED_COUNT_MAX postings after a removal from one of them.
 */
import { assert } from "../../kernel/assert.ts";
import { CHUNK_COUNT_MAX, PostingChunk } from "./posting-chunk.ts";

/** Neighbours with at most this many postings are merged. Well below a full chunk, or the next insertion splits it. */
const MERGED_COUNT_MAX = (CHUNK_COUNT_MAX * 3) / 4;
const DIRECTORY_LENGTH_MIN = 16;

export class Postings {
  #chunks: PostingChunk[] = [];
  #firstDimensions = new Int32Array(DIRECTORY_LENGTH_MIN);
  #firstRecords = new Uint32Array(DIRECTORY_LENGTH_MIN);
  #count = 0;
  #byteCount = 0;

  get count(): number {
    return this.#count;
  }

  get byteCount(): number {
    return this.#byteCount + this.#firstDimensions.byteLength * 2;
  }

  get chunkCount(): number {
    return this.#chunks.length;
  }

  /** The chunk of a number below `chunkCount`; valid until the next change. */
  chunk(number: number): PostingChunk {
    return this.#chunks[number] as PostingChunk;
  }

  /** Adds a value after those that the record already has in that dimension. */
  insert(dimension: number, record: number, value: number): void {
    let number = this.#lastUpTo(dimension, record);
    if (this.#chunks.length === 0) this.#addChunk(0, new PostingChunk(), { dimension, record });
    let chunk = this.#chunks[number] as PostingChunk;
    let offset = chunk.upperBound(dimension, record);
    if (chunk.isFull) {
      const splitOffset = chunk.splitOffsetFor(offset, dimension);
      const rest = splitOffset === chunk.count ? new PostingChunk() : chunk.splitAt(splitOffset);
      const first = rest.count === 0 ? { dimension, record } : rest.postingAt(0);
      this.#addChunk(number + 1, rest, first); // keeps (1)
      if (chunk.isFull || offset > splitOffset) {
        number += 1;
        chunk = rest;
        offset -= splitOffset;
      }
    }
    this.#byteCount -= chunk.byteCount;
    chunk.insertAt(offset, { dimension, record, value });
    this.#byteCount += chunk.byteCount;
    this.#count += 1;
    if (offset === 0) this.#lowerFirst(number, dimension, record);
  }

  /** Removes the record's first value in that dimension; it must exist. */
  remove(dimension: number, record: number): void {
    const position = this.find(dimension, record);
    const number = chunkOf(position);
    const offset = offsetOf(position);
    const chunk = this.#chunks[number];
    assert(chunk?.isAt(offset, dimension, record) === true, "a value that is removed has a posting");
    chunk.removeAt(offset);
    this.#count -= 1;
    if (chunk.count === 0) this.#removeChunk(number);
    else if (!this.#merge(number)) this.#merge(number - 1); // keeps (2)
  }

  clear(): void {
    this.#chunks = [];
    this.#firstDimensions = new Int32Array(DIRECTORY_LENGTH_MIN);
    this.#firstRecords = new Uint32Array(DIRECTORY_LENGTH_MIN);
    this.#count = 0;
    this.#byteCount = 0;
  }

  /**
   * The position of the first posting that is not below (dimension, record), valid until the next change; decode it
   * with `chunkOf` and `offsetOf`. After the last posting, the chunk does not exist.
   */
  find(dimension: number, record: number): number {
    // A chunk that begins with exactly this posting may not be the first chunk with it: keeps to (1).
    const number = this.#lastUpTo(dimension, record - 1);
    const chunk = this.#chunks[number];
    if (chunk === undefined) return 0;
    const offset = chunk.lowerBound(dimension, record);
    return offset < chunk.count ? number * CHUNK_COUNT_MAX + offset : (number + 1) * CHUNK_COUNT_MAX;
  }

  /** Counts the records with a value in the dimension. */
  frequency(dimension: number): number {
    const start = this.find(dimension, 0);
    let offset = offsetOf(start);
    let frequency = 0;
    let lastRecord = -1;
    for (let number = chunkOf(start); number < this.#chunks.length; number += 1) {
      const chunk = this.#chunks[number] as PostingChunk;
      const end = chunk.endOf(dimension, offset);
      if (end === offset) break;
      frequency += end - offset - chunk.repeatsBetween(offset, end);
      if (chunk.records[offset] === lastRecord) frequency -= 1;
      if (end < chunk.count) break;
      lastRecord = chunk.records[end - 1] as number;
      offset = 0;
    }
    return frequency;
  }

  /** The last chunk whose bound is at most (dimension, record), or the first chunk. */
  #lastUpTo(dimension: number, record: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.#firstDimensions[middle] as number;
      if (found < dimension || (found === dimension && (this.#firstRecords[middle] as number) <= record))
        low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  #lowerFirst(number: number, dimension: number, record: number): void {
    this.#firstDimensions[number] = dimension;
    this.#firstRecords[number] = record;
  }

  #addChunk(number: number, chunk: PostingChunk, first: { readonly dimension: number; readonly record: number }): void {
    const count = this.#chunks.length;
    if (count === this.#firstDimensions.length) this.#resizeDirectory(count * 2);
    this.#chunks.splice(number, 0, chunk);
    this.#firstDimensions.copyWithin(number + 1, number, count);
    this.#firstRecords.copyWithin(number + 1, number, count);
    this.#firstDimensions[number] = first.dimension;
    this.#firstRecords[number] = first.record;
    this.#byteCount += chunk.byteCount;
  }

  #removeChunk(number: number): void {
    this.#byteCount -= this.chunk(number).byteCount;
    this.#chunks.splice(number, 1);
    this.#firstDimensions.copyWithin(number, number + 1);
    this.#firstRecords.copyWithin(number, number + 1);
    const { length } = this.#firstDimensions;
    if (length > DIRECTORY_LENGTH_MIN && this.#chunks.length < length / 4) this.#resizeDirectory(length / 2);
  }

  /** Merges a chunk and the next one if they are small enough. */
  #merge(number: number): boolean {
    const chunk = this.#chunks[number];
    const next = this.#chunks[number + 1];
    if (chunk === undefined || next === undefined || chunk.count + next.count > MERGED_COUNT_MAX) return false;
    this.#byteCount -= chunk.byteCount;
    chunk.append(next);
    this.#byteCount += chunk.byteCount;
    this.#removeChunk(number + 1);
    return true;
  }

  #resizeDirectory(length: number): void {
    const dimensions = new Int32Array(length);
    const records = new Uint32Array(length);
    dimensions.set(this.#firstDimensions.subarray(0, Math.min(length, this.#chunks.length)));
    records.set(this.#firstRecords.subarray(0, Math.min(length, this.#chunks.length)));
    this.#firstDimensions = dimensions;
    this.#firstRecords = records;
  }
}

/** The number of a position's chunk. */
export function chunkOf(position: number): number {
  return Math.floor(position / CHUNK_COUNT_MAX);
}

/** The offset of a position in its chunk. */
export function offsetOf(position: number): number {
  return position % CHUNK_COUNT_MAX;
}
