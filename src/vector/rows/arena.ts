/**
 * One shared memory with the kernel of a thread. Its first chunk is the scratch
 * of the thread that owns the rows; chunks of blocks follow, and chunks for the
 * scratch of other threads that read the rows.
 *
 *     0          | nothing                                               |
 *     64         | the query, padded: 256 KiB at most                    |
 *     list       | rows in a block, u32 each: BATCH_ROWS at most         |
 *     out        | row in a block u32, rank f32: BATCH_ROWS at most      |
 *     codedQuery | the coded query (`coded-query.ts`)                    |
 *     joined     | a row whose parts are joined, padded: 256 KiB at most |
 *     1 MiB      | chunks of blocks (row-memory.ts), or of scratch       |
 */

import { assert } from "../../kernel/assert.ts";
import { makeSharedMemory, PAGE_BYTES, type SharedMemory } from "../../kernel/web-assembly.ts";
import { DIMENSION_MAX } from "../index/definition.ts";
import { CODED_FACTS_BYTES, CODED_QUERY_BYTES_MAX, type CodedQuery } from "./coded-query.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { codeBytesOf, makeRowKernel, type RowKernel, rowBytesOf } from "./row-kernel.ts";

/** The most rows of one kernel call. */
export const BATCH_ROWS = 4_096;

export const CHUNK_BYTES = 1_048_576;

const QUERY_OFFSET = 64;
const LIST_OFFSET = QUERY_OFFSET + rowBytesOf(DIMENSION_MAX);
const OUT_OFFSET = LIST_OFFSET + BATCH_ROWS * 4;
const CODED_QUERY_OFFSET = OUT_OFFSET + BATCH_ROWS * 8;
const JOINED_OFFSET = CODED_QUERY_OFFSET + CODED_QUERY_BYTES_MAX;
const SCRATCH_END = JOINED_OFFSET + 4 * codeBytesOf(DIMENSION_MAX);

/** The addresses of the parts of a thread's scratch, in bytes. */
export interface Scratch {
  readonly query: number;
  readonly list: number;
  readonly out: number;
  readonly codedQuery: number;
  readonly joined: number;
}

export class Arena {
  readonly memory: SharedMemory;
  readonly kernel: RowKernel;
  readonly scratch: Scratch;
  /** The whole memory as float32 and as u32; replaced after each growth by this thread. */
  floats: Float32Array;
  words: Uint32Array;
  #query: PreparedQuery | undefined;
  #codedQuery: CodedQuery | undefined;

  /** A new arena, with the scratch of its owner. Throws a RangeError if there is no memory. */
  static create(bytesMax: number): Arena {
    return new Arena(makeSharedMemory({ initial: CHUNK_BYTES / PAGE_BYTES, maximum: bytesMax / PAGE_BYTES }), 0);
  }

  /** An arena of another thread, of which this thread uses the chunk at `address` as scratch. */
  static attach(memory: SharedMemory, address: number): Arena {
    return new Arena(memory, address);
  }

  private constructor(memory: SharedMemory, address: number) {
    assert(SCRATCH_END <= CHUNK_BYTES, "the scratch is one chunk");
    this.memory = memory;
    this.kernel = makeRowKernel(memory);
    this.scratch = {
      query: address + QUERY_OFFSET,
      list: address + LIST_OFFSET,
      out: address + OUT_OFFSET,
      codedQuery: address + CODED_QUERY_OFFSET,
      joined: address + JOINED_OFFSET,
    };
    this.floats = new Float32Array(memory.buffer);
    this.words = new Uint32Array(memory.buffer);
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
    this.floats.set(query.padded, this.scratch.query / 4);
    this.#query = query;
  }

  /** Copies the code of a query into the scratch, unless it is already there. */
  loadCoded(query: CodedQuery): void {
    if (this.#codedQuery === query) return;
    const { buffer } = this.memory;
    const { codedQuery } = this.scratch;
    new Float64Array(buffer, codedQuery, query.facts.length).set(query.facts);
    new Int16Array(buffer, codedQuery + CODED_FACTS_BYTES, query.code.length).set(query.code);
    this.#codedQuery = query;
  }

  /** The squared length of a vector that is not in a row, by the sums of the kernel. */
  squaredLength(values: Float32Array): number {
    const rowBytes = rowBytesOf(values.length);
    const { query } = this.scratch;
    const start = query / 4;
    this.#query = undefined;
    this.floats.set(values, start);
    this.floats.fill(0, start + values.length, start + rowBytes / 4);
    return this.kernel.squaredLength(query, rowBytes);
  }
}
