/** The code of a query, for bounds that hold for float32 sums; `assembly/row-codes.ts` compares it with rows. */
import { DIMENSION_MAX } from "../index/definition.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { codeBytesOf } from "./row-kernel.ts";

export interface CodedQuery {
  /** The start of the kernel's query: step, rest, length, slack. */
  readonly facts: Float64Array;
  /** The values in steps, padded with zeros. */
  readonly code: Int16Array;
}

export const CODED_FACTS_BYTES = 32;
export const CODED_QUERY_BYTES_MAX = CODED_FACTS_BYTES + 2 * codeBytesOf(DIMENSION_MAX);

const ROW_CODE_MAX = 127;
/** Outside of these bounds, squares lose more than the slack. As in `assembly/row-codes.ts`. */
const SQUARE_MIN = 1e-16;
const SQUARE_MAX = 1e16;

/** The largest rounding error of a float32 operation, relative to its result. */
const UNIT = 2 ** -24;
/** Consecutive operations of the kernel's sums: one for each step of sixteen values, and those that add the lanes. */
const STEP_VALUES = 16;
const LAST_STEPS = 16;
/** A rank has at most four sums, a root, a quotient and the like. */
const SUMS_PER_RANK = 4;
const STEPS_PER_RANK = 64;
/** More than the rounding errors of the float64 sums here. */
const REST_FACTOR = 1.001;

/** Returns undefined if the query is too short or too long for bounds. */
export function codeQuery({ dimension, padded }: PreparedQuery): CodedQuery | undefined {
  let square = 0;
  let largest = 0;
  for (const value of padded) {
    square += value * value;
    largest = Math.max(largest, Math.abs(value));
  }
  if (!(square >= SQUARE_MIN && square <= SQUARE_MAX)) return undefined;
  const code = new Int16Array(codeBytesOf(dimension));
  // Keeps (3) of row-codes.ts.
  const codeMax = Math.min(0x7fff, Math.floor(0x7fff_ffff / (ROW_CODE_MAX * code.length)));
  const step = largest / codeMax;
  let restSquare = 0;
  for (let i = 0; i < padded.length; i += 1) {
    const value = padded[i] as number;
    const steps = Math.round(value / step);
    code[i] = steps;
    restSquare += (value - steps * step) ** 2;
  }
  const slack = (SUMS_PER_RANK * (dimension / STEP_VALUES + LAST_STEPS) + STEPS_PER_RANK) * UNIT;
  return { facts: Float64Array.of(step, Math.sqrt(restSquare) * REST_FACTOR, Math.sqrt(square), slack), code };
}
