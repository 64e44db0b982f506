/**
 * The code of a graph (`assembly/graph.ts`) over its memory, one for each thread
 * that works on it. Signed numbers of WebAssembly are converted to unsigned ones.
 */

import { assert } from "../../kernel/assert.ts";
import {
  type CompiledModule,
  compileModule,
  instantiate,
  makeSharedMemory,
  over,
  type SharedMemory,
} from "../../kernel/web-assembly.ts";
import type { Similarity } from "../index/definition.ts";
import { similarityRows } from "../rows/similarity.ts";
import { graphWasm } from "./graph.generated.ts";

interface Constant {
  readonly value: number;
}

interface GraphExports {
  readonly GROUND_LINKS: Constant;
  readonly UPPER_LINKS: Constant;
  readonly LEVEL_MAX: Constant;
  readonly CHECK_FOUND: Constant;
  readonly CHECK_REPAIRED: Constant;
  readonly CHECK_LOST: Constant;
  readonly CHECK_SKIPPED: Constant;
  create(dimension: number, similarity: number): number;
  attach(): number;
  dimensions(): number;
  allocate(bytes: number): number;
  rowAddress(): number;
  usedBytes(): number;
  nodeCount(): number;
  entry(): number;
  setEntry(node: number): void;
  recordOf(node: number): number;
  levelOf(node: number): number;
  checksumOf(node: number): number;
  linksOf(node: number, level: number): number;
  setLive(node: number, isLive: number): void;
  addToCentre(): void;
  finishCentre(count: number): void;
  centreAddress(): number;
  rowChecksum(): number;
  search(nodes: number, count: number, effort: number, accepts: number, recordEnd: number, visitsMax: number): number;
  resultsAddress(): number;
  visitCount(): number;
  wasCut(): number;
  append(record: number, level: number): number;
  insert(record: number, level: number, effort: number, place: number): number;
  retire(node: number): number;
  leave(node: number): void;
  sweep(first: number, end: number): number;
  unlink(node: number, effort: number): void;
  free(node: number): number;
  check(node: number, effort: number): number;
  countLinks(): void;
}

/** Links of a node on its levels, as in the WebAssembly code: a test compares them. */
export const GROUND_LINKS = 32;
export const UPPER_LINKS = 16;
export const LEVEL_MAX = 24;

/** What a check of a node found, as in the WebAssembly code: a test compares them. */
export const CHECK_FOUND = 0;
export const CHECK_REPAIRED = 1;
export const CHECK_LOST = 2;
export const CHECK_SKIPPED = 3;

/** There was no memory for the node, or there is no free place. */
export const NO_NODE = 0xffff_ffff;

/** 4 GiB, the range of 32-bit addresses. Only written pages take memory of the machine. */
const PAGES_MAX = 65_536;

let compiled: CompiledModule | undefined;

function exportsOver(memory: SharedMemory): GraphExports {
  compiled ??= compileModule(graphWasm);
  return instantiate<GraphExports>(compiled, over(memory));
}

export class GraphKernel {
  readonly memory: SharedMemory;
  readonly code: GraphExports;
  readonly dimension: number;
  readonly #row: number;
  #words: Uint32Array;
  #floats: Float32Array;
  #onRetired: (() => void) | undefined;

  /** A new, empty graph, or undefined if there is no memory for it. `pagesMax` counts 64 KiB; tests use fewer. */
  static create(dimension: number, similarity: Similarity, pagesMax = PAGES_MAX): GraphKernel | undefined {
    let memory: SharedMemory;
    try {
      memory = makeSharedMemory({ initial: 1, maximum: pagesMax });
    } catch (fault) {
      if (fault instanceof RangeError) return undefined;
      throw fault;
    }
    const code = exportsOver(memory);
    return code.create(dimension, similarityRows[similarity].code) === 0 ? undefined : new GraphKernel(memory, code);
  }

  /** A graph of another thread, or undefined if there is no memory for this thread's scratch. */
  static attach(memory: SharedMemory): GraphKernel | undefined {
    const code = exportsOver(memory);
    return code.attach() === 0 ? undefined : new GraphKernel(memory, code);
  }

  private constructor(memory: SharedMemory, code: GraphExports) {
    this.memory = memory;
    this.code = code;
    this.dimension = code.dimensions();
    this.#row = code.rowAddress() >>> 2;
    this.#words = new Uint32Array(memory.buffer);
    this.#floats = new Float32Array(memory.buffer);
  }

  /** Sets what is called when no further search will use this graph, so that other threads let go of its memory. */
  set onRetired(task: () => void) {
    this.#onRetired = task;
  }

  /** The owner does not search this graph any more. */
  retire(): void {
    this.#onRetired?.();
    this.#onRetired = undefined;
  }

  /** The memory as u32. Each growth replaces the array. */
  get words(): Uint32Array {
    const { buffer } = this.memory;
    if (this.#words.byteLength !== buffer.byteLength) this.#words = new Uint32Array(buffer);
    return this.#words;
  }

  get floats(): Float32Array {
    const { buffer } = this.memory;
    if (this.#floats.byteLength !== buffer.byteLength) this.#floats = new Float32Array(buffer);
    return this.#floats;
  }

  /** Sets the row for the next call of the code. */
  putRow(row: Float32Array): void {
    assert(row.length === this.dimension, "a row has the dimension of the graph");
    // The scratch is in the part of the memory that the first view covers.
    this.#floats.set(row, this.#row);
  }

  get nodeCount(): number {
    return this.code.nodeCount() >>> 0;
  }

  /** The index in `words` of a node's links on a level. */
  linksAt(node: number, level: number): number {
    return this.code.linksOf(node, level) >>> 2;
  }

  /** The index in `floats` of the centre. */
  get centreAt(): number {
    return this.code.centreAddress() >>> 2;
  }
}
