/**
 * The dense rows of one namespace, by record number. A block holds rows, then
 * their squared lengths, and, if it has the full size, their codes:
 *
 *     | code | … | row, padded with zeros to 16 bytes | … | squared length f32 | … |
 *
 * or, if rows are split, in place of each row what its code leaves of it
 * (`assembly/row-parts.ts`), which is three quarters of a row.
 *
 * (1) Blocks double from the smallest that holds a row up to 1 MiB, and never
 *     move: a row moves only when its namespace sets it under another number.
 * (2) The squared length of a missing row is ABSENT; that of a present row is the
 *     kernel's, by the same sums as a score.
 * (3) The code of a present row matches its values. Other codes are arbitrary.
 * (4) All blocks of full size have one layout. It is chosen for the first of them:
 *     rows are split, unless many of those so far could not be.
 */
import { assert } from "../../kernel/assert.ts";
import { DIMENSION_MAX, type Similarity } from "../index/definition.ts";
import type { Arena } from "./arena.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { CODE_FACTS_BYTES, codeBytesOf, remainderBytesOf, rowBytesOf } from "./row-kernel.ts";
import { BLOCK_BYTES_MAX, type Block, type RowMemory } from "./row-memory.ts";
import { similarityRows } from "./similarity.ts";

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
const ABSENT = -1;
/** Of the first block, if it holds a row. */
const BLOCK_BYTES_FIRST = 4_096;
/** The codes of shorter rows would hardly be smaller than the rows. */
const CODED_DIMENSION_MIN = 128;
/** Rows that are split to choose a layout, and the share of them that may have too many exceptions: those have no codes. */
const SAMPLE_ROWS = 64;
const WHOLE_SHARE_MAX = 0.05;

/** A block and its contents. Addresses are bytes in the arena. */
export interface RowBlock {
  readonly block: Block;
  readonly arena: Arena;
  /** Its first record, and the first after it. */
  readonly start: number;
  readonly end: number;
  readonly rows: number;
  readonly lengths: number;
  /** Undefined if its rows have no codes. */
  readonly codes: number | undefined;
  /** Whether `rows` are what the codes leave of the rows. */
  readonly isSplit: boolean;
  /** The number of its present rows. */
  count: number;
}

export class RowStore {
  readonly dimension: number;
  readonly rowBytes: number;
  /** The bytes of a code without its facts; 0 if rows have no codes. */
  readonly codeBytes: number;
  readonly memory: RowMemory;
  /** The first records of the blocks that double, and of the first block of full size. */
  readonly #starts: readonly number[];
  readonly #blockBytesFirst: number;
  /** Chosen with the first block of full size: keeps (4). */
  #splits = true;
  #rowsOfFullBlock = 0;
  readonly #blocks: RowBlock[] = [];
  #capacity = 0;
  /** No record from this number on has a row. */
  #end = 0;
  #count = 0;
  #byteCount = 0;
  #releasedCount = 0;

  constructor(memory: RowMemory, dimension: number) {
    assert(dimension >= 1 && dimension <= DIMENSION_MAX, "a row has 1 to DIMENSION_MAX values");
    this.memory = memory;
    this.dimension = dimension;
    this.rowBytes = rowBytesOf(dimension);
    this.codeBytes = dimension < CODED_DIMENSION_MIN ? 0 : codeBytesOf(dimension);
    let bytes = BLOCK_BYTES_FIRST;
    while (this.#rowsIn(bytes) === 0) bytes *= 2;
    this.#blockBytesFirst = bytes;
    const starts = [0];
    for (; bytes < BLOCK_BYTES_MAX; bytes *= 2) starts.push((starts.at(-1) ?? 0) + this.#rowsIn(bytes));
    this.#starts = starts;
  }

  /** The number of rows. */
  get count(): number {
    return this.#count;
  }

  /** Records below this number have space. */
  get capacity(): number {
    return this.#capacity;
  }

  /** The memory of all blocks. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** The blocks in the order of their records. The list changes with the store. */
  get blocks(): readonly RowBlock[] {
    return this.#blocks;
  }

  /** The number of blocks that were freed so far. Other namespaces may use a freed block at once. */
  get releasedCount(): number {
    return this.#releasedCount;
  }

  /** Makes space for the records 0 to `record`. Throws OutOfMemory; then nothing has changed. */
  ensure(record: number): void {
    const blockCount = this.#blocks.length;
    try {
      while (record >= this.#capacity) this.#addBlock();
    } catch (failure) {
      this.#truncateBlocks(blockCount);
      throw failure;
    }
  }

  /** Sets or replaces a row. There must be space for it. */
  set(record: number, vector: Float32Array): void {
    assert(vector.length === this.dimension, "a row has the dimension of its store");
    const block = this.#blockOf(record);
    const { floats, kernel, scratch } = block.arena;
    const place = this.#rowAddress(block, record);
    const row = block.isSplit ? scratch.joined : place;
    const start = row / FLOAT_BYTES;
    floats.set(vector, start);
    for (let i = start + this.dimension; i < start + this.rowBytes / FLOAT_BYTES; i += 1) floats[i] = 0;
    const squaredLength = kernel.squaredLength(row, this.rowBytes);
    assert(Number.isFinite(squaredLength), "the squared length of a stored vector is finite");
    const length = lengthIndex(block, record);
    if (floats[length] === ABSENT) {
      block.count += 1;
      this.#count += 1;
      this.#end = Math.max(this.#end, record + 1);
    }
    floats[length] = squaredLength;
    // keeps (3)
    if (block.codes === undefined) return;
    const code = this.#codeAddress(block, record);
    kernel.writeCode(row, this.rowBytes, squaredLength, code);
    if (block.isSplit) kernel.splitRow(row, this.rowBytes, code, place);
  }

  has(record: number): boolean {
    if (record >= this.#capacity) return false;
    const block = this.#blockOf(record);
    return block.arena.floats[lengthIndex(block, record)] !== ABSENT;
  }

  /** Removes a row, which may be missing. */
  remove(record: number): void {
    if (!this.has(record)) return;
    const block = this.#blockOf(record);
    block.arena.floats[lengthIndex(block, record)] = ABSENT;
    block.count -= 1;
    this.#count -= 1;
  }

  /** A view of a present row in memory, valid until the row changes or is removed, or a copy. */
  look(record: number): Float32Array {
    assert(this.has(record), "a viewed row exists");
    const block = this.#blockOf(record);
    if (block.isSplit) return this.read(record);
    const start = this.#rowAddress(block, record) / FLOAT_BYTES;
    return block.arena.floats.subarray(start, start + this.dimension);
  }

  /** A copy of a present row. */
  read(record: number): Float32Array {
    const vector = new Float32Array(this.dimension);
    this.readInto(record, vector);
    return vector;
  }

  /** Copies a present row to the start of `target`, which has at least its dimension. */
  readInto(record: number, target: Float32Array): void {
    assert(this.has(record), "a row that is read exists");
    const block = this.#blockOf(record);
    const start = this.#wholeAddress(block, record) / FLOAT_BYTES;
    target.set(block.arena.floats.subarray(start, start + this.dimension));
  }

  /** The squared length of a present row, a float32. */
  squaredLength(record: number): number {
    assert(this.has(record), "a row with a length exists");
    const block = this.#blockOf(record);
    return block.arena.floats[lengthIndex(block, record)] as number;
  }

  /** The rank of a present row, a float32 that orders rows by similarity to the query; see `similarity.ts`. */
  rank(similarity: Similarity, query: PreparedQuery, record: number): number {
    assert(query.dimension === this.dimension, "a query has the dimension of the rows");
    const block = this.#blockOf(record);
    const { arena } = block;
    const length = arena.floats[lengthIndex(block, record)] as number;
    assert(length !== ABSENT, "a ranked row exists");
    arena.load(query);
    return arena.kernel.rank(
      similarityRows[similarity].code,
      this.#wholeAddress(block, record),
      length,
      this.rowBytes,
      arena.scratch.query,
      query.squaredLength,
    );
  }

  /** The printed score of a present row: a float32 from 0 to 1. */
  score(similarity: Similarity, query: PreparedQuery, record: number): number {
    return similarityRows[similarity].score(this.rank(similarity, query, record));
  }

  /** Removes the records from `count` on and frees the blocks that only they used. */
  truncate(count: number): void {
    let blockCount = this.#blocks.length;
    while (blockCount > 0 && (this.#blocks[blockCount - 1] as RowBlock).start >= count) blockCount -= 1;
    this.#truncateBlocks(blockCount);
    for (; this.#end > count; this.#end -= 1) this.remove(this.#end - 1);
  }

  /** Removes all records and frees all memory. */
  clear(): void {
    this.#truncateBlocks(0);
  }

  /** The block with space for a record, or undefined. For scans. */
  findBlock(record: number): RowBlock | undefined {
    return record < this.#capacity ? this.#blockOf(record) : undefined;
  }

  #rowsIn(blockBytes: number): number {
    const codeStride = this.#hasCodes(blockBytes) ? this.#codeStride : 0;
    return Math.floor(blockBytes / (this.#rowStride(blockBytes) + FLOAT_BYTES + codeStride));
  }

  #rowStride(blockBytes: number): number {
    return this.#splits && this.#hasCodes(blockBytes) ? remainderBytesOf(this.dimension) : this.rowBytes;
  }

  /** Only namespaces that fill whole blocks take long enough to search. */
  #hasCodes(blockBytes: number): boolean {
    return this.codeBytes > 0 && blockBytes === BLOCK_BYTES_MAX;
  }

  get #codeStride(): number {
    return CODE_FACTS_BYTES + this.codeBytes;
  }

  #blockOf(record: number): RowBlock {
    const starts = this.#starts;
    let index = starts.length - 1;
    const fullStart = starts[index] as number;
    if (record >= fullStart) index += Math.floor((record - fullStart) / this.#rowsOfFullBlock);
    else while (record < (starts[index] as number)) index -= 1;
    const block = this.#blocks[index];
    assert(block !== undefined, "there is space for the record");
    return block;
  }

  #rowAddress(block: RowBlock, record: number): number {
    return block.rows + (record - block.start) * this.#rowStride(block.block.bytes);
  }

  /** The address of a row whose parts are together, valid until the next call. */
  #wholeAddress(block: RowBlock, record: number): number {
    const place = this.#rowAddress(block, record);
    if (!block.isSplit) return place;
    const { kernel, scratch } = block.arena;
    kernel.joinRow(this.#codeAddress(block, record), place, this.rowBytes, scratch.joined);
    return scratch.joined;
  }

  #codeAddress({ codes, start }: RowBlock, record: number): number {
    assert(codes !== undefined, "the rows of the block have codes");
    return codes + (record - start) * this.#codeStride;
  }

  #addBlock(): void {
    const bytes = Math.min(this.#blockBytesFirst * 2 ** this.#blocks.length, BLOCK_BYTES_MAX);
    const block = this.memory.allocate(bytes);
    const { arena, address } = block;
    const hasCodes = this.#hasCodes(bytes);
    if (this.#blocks.length < this.#starts.length) this.#splits = hasCodes && this.#chooseSplit(block);
    const rowCount = this.#rowsIn(bytes);
    this.#rowsOfFullBlock = rowCount;
    const rows = address + (hasCodes ? rowCount * this.#codeStride : 0);
    const lengths = rows + rowCount * this.#rowStride(bytes);
    // keeps (2)
    arena.floats.fill(ABSENT, lengths / FLOAT_BYTES, lengths / FLOAT_BYTES + rowCount);
    const start = this.#capacity;
    const codes = hasCodes ? address : undefined;
    const isSplit = hasCodes && this.#splits;
    this.#blocks.push({ block, arena, start, end: start + rowCount, rows, lengths, codes, isSplit, count: 0 });
    this.#capacity += rowCount;
    this.#byteCount += bytes;
  }

  /** Splits some rows into a block that is not used yet. keeps (4) */
  #chooseSplit({ arena, address }: Block): boolean {
    const { floats, kernel, scratch } = arena;
    const remainders = address + this.#codeStride;
    let sampled = 0;
    let whole = 0;
    for (let record = this.#capacity - 1; record >= 0 && sampled < SAMPLE_ROWS; record -= 1) {
      if (!this.has(record)) continue;
      const row = scratch.joined;
      floats.set(this.look(record), row / FLOAT_BYTES);
      floats.fill(0, row / FLOAT_BYTES + this.dimension, (row + this.rowBytes) / FLOAT_BYTES);
      kernel.writeCode(row, this.rowBytes, this.squaredLength(record), address);
      if (kernel.splitRow(row, this.rowBytes, address, remainders) === 0) whole += 1;
      sampled += 1;
    }
    return whole <= sampled * WHOLE_SHARE_MAX;
  }

  #truncateBlocks(count: number): void {
    while (this.#blocks.length > count) {
      const last = this.#blocks.pop() as RowBlock;
      this.#capacity = last.start;
      this.#end = Math.min(this.#end, last.start);
      this.#count -= last.count;
      this.#byteCount -= last.block.bytes;
      this.#releasedCount += 1;
      this.memory.release(last.block);
    }
  }
}

/** The index of a record's squared length in its arena's floats. */
function lengthIndex(block: RowBlock, record: number): number {
  return block.lengths / FLOAT_BYTES + record - block.start;
}
