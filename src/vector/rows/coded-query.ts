/** A query as `assembly/row-codes.ts` compares it with the codes of rows, by bounds that hold for what float32 sums find. */
import { DIMENSION_MAX } from "../index/definition.ts";
import type { PreparedQuery } from "./prepared-query.ts";
import { codeBytesOf } from "./row-kernel.ts";

export interface CodedQuery {
  /** Lies at the start of the kernel's query: step, rest, length, slack. */
  readonly facts: Float64Array;
  /** The values in steps, and zeros. */
  readonly code: Int16Array;
}

export const CODED_FACTS_BYTES = 32;
export const CODED_QUERY_BYTES_MAX = CODED_FACTS_BYTES + 2 * codeBytesOf(DIMENSION_MAX);

const ROW_CODE_MAX = 127;
/** Outside of these squares lose more than the slack says. As in `assembly/row-codes.ts`. */
const SQUARE_MIN = 1e-16;
const SQUARE_MAX = 1e16;

/** What a float32 operation rounds at most, relative to its result. */
const UNIT = 2 ** -24;
/** Operations in a row of the kernel's sums: one for each step of sixteen values, and those that put the lanes together. */
const STEP_VALUES = 16;
const LAST_STEPS = 16;
/** Four sums go into a rank at most; the root, the quotient and such besides. */
const SUMS_PER_RANK = 4;
const STEPS_PER_RANK = 64;
/** Beyond what the sums of float64 here round. */
const REST_FACTOR = 1.001;

/** Undefined: the query is too short or too long for bounds. */
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
