/**
 * The kernel that scores rows (`assembly/row-kernel.ts`), one instance for each
 * arena and thread. Addresses are bytes in the arena's memory.
 */
import { type CompiledModule, compileModule, instantiate, over, type SharedMemory } from "../../kernel/web-assembly.ts";
import { rowKernelWasm } from "./row-kernel.generated.ts";

export interface RowKernel {
  /** How many rows of at least `threshold` it wrote to `out`, of the rows `start` to `end` of a block. */
  scan(
    similarity: number,
    rows: number,
    lengths: number,
    start: number,
    end: number,
    rowBytes: number,
    query: number,
    queryLength: number,
    threshold: number,
    out: number,
  ): number;
  /** As `scan`, of the `count` rows of a block whose numbers stand at `list`. */
  gather(
    similarity: number,
    rows: number,
    lengths: number,
    list: number,
    count: number,
    rowBytes: number,
    query: number,
    queryLength: number,
    threshold: number,
    out: number,
  ): number;
  rank(similarity: number, row: number, length: number, rowBytes: number, query: number, queryLength: number): number;
  squaredLength(row: number, rowBytes: number): number;
  /** Writes the code of a row to `at`. */
  writeCode(row: number, rowBytes: number, squaredLength: number, at: number): void;
  /** Leaves in a list the rows of a block that may rank at the threshold or above, by their codes: how many. */
  sift(
    similarity: number,
    codes: number,
    codeBytes: number,
    list: number,
    count: number,
    query: number,
    threshold: number,
  ): number;
  /** As `sift`, of the rows `start` to `end`: writes the list. */
  siftRange(
    similarity: number,
    codes: number,
    codeBytes: number,
    start: number,
    end: number,
    query: number,
    threshold: number,
    list: number,
  ): number;
}

let compiled: CompiledModule | undefined;

export function makeRowKernel(memory: SharedMemory): RowKernel {
  compiled ??= compileModule(rowKernelWasm);
  return instantiate<RowKernel>(compiled, over(memory));
}

/** Bytes of a row of `dimension` values, padded for the kernel. */
export function rowBytesOf(dimension: number): number {
  return (dimension * 4 + 15) & ~15;
}

/** Bytes of the values of a code, padded for the kernel. Its facts lie in front of them. */
export function codeBytesOf(dimension: number): number {
  return (dimension + 31) & ~31;
}

/** Scale, rest, length and square of a code. */
export const CODE_FACTS_BYTES = 16;
