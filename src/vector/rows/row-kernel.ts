/**
 * The kernel that scores rows (`assembly/row-kernel.ts`), one instance for each
 * arena and thread. Addresses are bytes in the arena's memory.
 */
import { type CompiledModule, compileModule, instantiate, over, type SharedMemory } from "../../kernel/web-assembly.ts";
import { rowKernelWasm } from "./row-kernel.generated.ts";

export interface RowKernel {
  /**
   * Writes the rows `start` to `end` of a block that rank at least `threshold` to `out`. Returns how many. If rows are in
   * two parts, `rows` are the remainders, `codes` the codes, and `joined` has room for a row; otherwise `codes` is 0.
   */
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
    codes: number,
    joined: number,
  ): number;
  /** As `scan`, for the `count` rows of a block whose numbers are at `list`. */
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
    codes: number,
    joined: number,
  ): number;
  rank(similarity: number, row: number, length: number, rowBytes: number, query: number, queryLength: number): number;
  squaredLength(row: number, rowBytes: number): number;
  /** Writes the code of a row to `at`. */
  writeCode(row: number, rowBytes: number, squaredLength: number, at: number): void;
  /** The bytes of what the code of a row leaves of it. */
  remainderBytes(rowBytes: number): number;
  /** Writes what the code of a row, which was written, leaves of it. Returns 0 if it is the whole row. */
  splitRow(row: number, rowBytes: number, code: number, remainders: number): number;
  /** Writes a row in two parts to `row`, which has room for a float32 for each byte of the code. */
  joinRow(code: number, remainders: number, rowBytes: number, row: number): void;
  /** Reduces a list to the rows that may rank at the threshold or above, by their codes. Returns how many. */
  sift(
    similarity: number,
    codes: number,
    codeBytes: number,
    list: number,
    count: number,
    query: number,
    threshold: number,
  ): number;
  /** As `sift`, for the rows `start` to `end`: writes the list. */
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

/** The bytes of a row of `dimension` values, padded for the kernel. */
export function rowBytesOf(dimension: number): number {
  return (dimension * 4 + 15) & ~15;
}

/** The bytes of the values of a code, padded for the kernel. Its facts are before them. */
export function codeBytesOf(dimension: number): number {
  return (dimension + 31) & ~31;
}

/**
 * The bytes of what a code leaves of a row: three for each value, and room for exceptions. As in `assembly/row-parts.ts`: a
 * test compares them.
 */
export function remainderBytesOf(dimension: number): number {
  const codeBytes = codeBytesOf(dimension);
  return 3 * codeBytes + 3 * ((Math.floor(codeBytes / 24) + 15) & ~15);
}

/** The bytes of scale, rest, length and square of a code. */
export const CODE_FACTS_BYTES = 16;
