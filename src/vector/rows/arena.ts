/**
 * One shared memory with the kernel of this thread. Its first chunk is the
 * thread's scratch; blocks of rows follow.
 *
 *     0          | nothing                                               |
 *     64         | the query, padded: 256 KiB at most                    |
 *     LIST       | rows in a block, u32 each: BATCH_ROWS at most         |
 *     OUT        | row in a block u32, rank f32: BATCH_ROWS at most      |
 *     CODED      | the coded query (`coded-query.ts`)                    |
 *     1 MiB      | chunks of blocks (row-memory.ts)                      |
 *
 * Another thread that reads the rows of this memory needs its own scratch: all
 * addresses are arguments of the kernel.
 */

import { assert } from "../../kernel/assert.ts";
import { makeSharedMemory, PAGE_BYTES, type SharedMemory } from "../../kernel/web-assembly.ts";
import { DIMENSION_MAX } from "../index/definition.ts";
import { CODED_FACTS_BYTES, CODED_QUERY_BYTES_MAX, type CodedQuery } from "./coded-query.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { makeRowKernel, type RowKernel, rowBytesOf } from "./row-kernel.ts";

/** The most rows of one kernel call. */
export const BATCH_ROWS = 4_096;

export const CHUNK_BYTES = 1_048_576;

export const QUERY_ADDRESS = 64;
export const LIST_ADDRESS = QUERY_ADDRESS + rowBytesOf(DIMENSION_MAX);
export const OUT_ADDRESS = LIST_ADDRESS + BATCH_ROWS * 4;
export const CODED_QUERY_ADDRESS = OUT_ADDRESS + BATCH_ROWS * 8;
const SCRATCH_END = CODED_QUERY_ADDRESS + CODED_QUERY_BYTES_MAX;

export class Arena {
  readonly memory: SharedMemory;
  readonly kernel: RowKernel;
  /** The whole memory as float32 and as u32; replaced after each growth. */
  floats: Float32Array;
  words: Uint32Array;
  #query: PreparedQuery | undefined;
  #codedQuery: CodedQuery | undefined;

  /** Throws a RangeError if there is no memory. */
  constructor(bytesMax: number) {
    assert(SCRATCH_END <= CHUNK_BYTES, "the scratch is one chunk");
    this.memory = makeSharedMemory({ initial: CHUNK_BYTES / PAGE_BYTES, maximum: bytesMax / PAGE_BYTES });
    this.kernel = makeRowKernel(this.memory);
    this.floats = new Float32Array(this.memory.buffer);
    this.words = new Uint32Array(this.memory.buffer);
  }

  get bytes(): number {
    return this.floats.byteLength;
  }

  /** Returns the address of a new chunk of zeros. Throws a RangeError if there is no more memory. */
  addChunk(): number {
    const address = this.bytes;
    this.memory.grow(CHUNK_BYTES / PAGE_BYTES);
    this.floats = new Float32Array(this.memory.buffer);
    this.words = new Uint32Array(this.memory.buffer);
    return address;
  }

  /** Copies a query into the scratch, unless it is already there. */
  load(query: PreparedQuery): void {
    if (this.#query === query) return;
    this.floats.set(query.padded, QUERY_ADDRESS / 4);
    this.#query = query;
  }

  /** Copies the code of a query into the scratch, unless it is already there. */
  loadCoded(query: CodedQuery): void {
    if (this.#codedQuery === query) return;
    const { buffer } = this.memory;
    new Float64Array(buffer, CODED_QUERY_ADDRESS, query.facts.length).set(query.facts);
    new Int16Array(buffer, CODED_QUERY_ADDRESS + CODED_FACTS_BYTES, query.code.length).set(query.code);
    this.#codedQuery = query;
  }

  /** The squared length of a vector that is not in a row, by the sums of the kernel. */
  squaredLength(values: Float32Array): number {
    const rowBytes = rowBytesOf(values.length);
    const start = QUERY_ADDRESS / 4;
    this.#query = undefined;
    this.floats.set(values, start);
    this.floats.fill(0, start + values.length, start + rowBytes / 4);
    return this.kernel.squaredLength(QUERY_ADDRESS, rowBytes);
  }
}
