/**
 * A run of postings: three columns side by side in one buffer.
 *
 *     | dimensions i32 × capacity | records u32 × capacity | values f32 × capacity |
 *
 * (1) The first `count` postings are in use, in ascending order of dimension,
 *     then record; equal ones are in the order of their vector.
 * (2) `repeatCount` counts the postings with the same dimension and record as the
 *     previous one in this chunk.
 */

/** The most postings of one chunk. 512: the moves of an insertion stay below a microsecond. */
export const CHUNK_COUNT_MAX = 512;
const CHUNK_COUNT_MIN = 16;
const POSTING_BYTES = 12;

export class PostingChunk {
  dimensions = new Int32Array(0);
  records = new Uint32Array(0);
  values = new Float32Array(0);
  count = 0;
  repeatCount = 0;

  constructor(capacity: number = CHUNK_COUNT_MIN) {
    this.#allocate(capacity);
  }

  get byteCount(): number {
    return this.dimensions.length * POSTING_BYTES;
  }

  get isFull(): boolean {
    return this.count === CHUNK_COUNT_MAX;
  }

  /** The offset of the first posting that is not below (dimension, record). */
  lowerBound(dimension: number, record: number): number {
    const { dimensions, records } = this;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = dimensions[middle] as number;
      if (found < dimension || (found === dimension && (records[middle] as number) < record)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The offset of the first posting that is above (dimension, record). */
  upperBound(dimension: number, record: number): number {
    return this.lowerBound(dimension, record + 1);
  }

  /** The end of the postings of a dimension that begin at `from`; `from` if the dimension has none from there on. */
  endOf(dimension: number, from: number): number {
    if (this.dimensions[this.count - 1] === dimension) return this.count;
    return Math.max(from, this.lowerBound(dimension, Number.POSITIVE_INFINITY));
  }

  /** Whether the posting at an offset is of this dimension and record. */
  isAt(offset: number, dimension: number, record: number): boolean {
    return offset < this.count && this.dimensions[offset] === dimension && this.records[offset] === record;
  }

  /** Whether the posting at an offset has the dimension and record of the previous one. */
  repeats(offset: number): boolean {
    return offset > 0 && this.isAt(offset, this.dimensions[offset - 1] as number, this.records[offset - 1] as number);
  }

  postingAt(offset: number): { readonly dimension: number; readonly record: number } {
    return { dimension: this.dimensions[offset] as number, record: this.records[offset] as number };
  }

  /** Counts the postings of a range with the same dimension and record as the previous one in the range. */
  repeatsBetween(start: number, end: number): number {
    if (this.repeatCount === 0) return 0;
    let repeatCount = 0;
    for (let offset = start + 1; offset < end; offset += 1) if (this.repeats(offset)) repeatCount += 1;
    return repeatCount;
  }

  /** Inserts a posting. The chunk must not be full; `offset` must be the upper bound: keeps (1). */
  insertAt(
    offset: number,
    posting: { readonly dimension: number; readonly record: number; readonly value: number },
  ): void {
    if (this.count === this.dimensions.length) this.#grow();
    if (offset < this.count) {
      this.dimensions.copyWithin(offset + 1, offset, this.count);
      this.records.copyWithin(offset + 1, offset, this.count);
      this.values.copyWithin(offset + 1, offset, this.count);
    }
    this.dimensions[offset] = posting.dimension;
    this.records[offset] = posting.record;
    this.values[offset] = posting.value;
    this.count += 1;
    if (this.repeats(offset)) this.repeatCount += 1; // keeps (2): nothing equal lies after an upper bound
  }

  /** Removes a posting. `offset` must be a lower bound. */
  removeAt(offset: number): void {
    if (this.repeats(offset + 1)) this.repeatCount -= 1; // keeps (2): nothing equal lies before a lower bound
    this.dimensions.copyWithin(offset, offset + 1, this.count);
    this.records.copyWithin(offset, offset + 1, this.count);
    this.values.copyWithin(offset, offset + 1, this.count);
    this.count -= 1;
  }

  /**
   * Where to split a full chunk for a posting at `offset`: in the middle, but after a list that has half of the chunk
   * and gets its next record. Records mostly come in ascending order, so such a chunk is filled completely.
   */
  splitOffsetFor(offset: number, dimension: number): number {
    const middle = this.count >>> 1;
    return offset >= middle && this.dimensions[offset - middle] === dimension ? offset : middle;
  }

  /** Moves the postings from an offset on into a new chunk. */
  splitAt(offset: number): PostingChunk {
    const rest = new PostingChunk(CHUNK_COUNT_MAX);
    rest.#copyFrom(this, offset);
    this.count = offset;
    this.#countRepeats();
    return rest;
  }

  /** Appends all postings of the next chunk; together they must fit. */
  append(next: PostingChunk): void {
    while (this.dimensions.length < this.count + next.count) this.#grow();
    this.#copyFrom(next, 0);
  }

  #copyFrom(source: PostingChunk, from: number): void {
    this.dimensions.set(source.dimensions.subarray(from, source.count), this.count);
    this.records.set(source.records.subarray(from, source.count), this.count);
    this.values.set(source.values.subarray(from, source.count), this.count);
    this.count += source.count - from;
    this.#countRepeats();
  }

  #countRepeats(): void {
    let repeatCount = 0;
    for (let offset = 1; offset < this.count; offset += 1) if (this.repeats(offset)) repeatCount += 1;
    this.repeatCount = repeatCount;
  }

  #grow(): void {
    const { dimensions, records, values } = this;
    this.#allocate(Math.min(dimensions.length * 2, CHUNK_COUNT_MAX));
    this.dimensions.set(dimensions);
    this.records.set(records);
    this.values.set(values);
  }

  #allocate(capacity: number): void {
    const buffer = new ArrayBuffer(capacity * POSTING_BYTES);
    this.dimensions = new Int32Array(buffer, 0, capacity);
    this.records = new Uint32Array(buffer, capacity * 4, capacity);
    this.values = new Float32Array(buffer, capacity * 8, capacity);
  }
}
