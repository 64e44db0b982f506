/** What makes a vector acceptable for an index (B.vectors; threats B-01, B-02). */

import { unprocessable } from "../failure.ts";
import type { VectorLimits } from "../limits.ts";
import { similarityRows } from "../rows/similarity.ts";
import { hasDense, hasSparse, type IndexDefinition } from "./definition.ts";
import type { SparseVector } from "./record.ts";

/** Products of two such vectors, in whatever order they are summed, stay within float32. */
const SQUARED_LENGTH_MAX = 1e38;

/** What float32 rounds to nought: a vector of such values has no length for the kernel. */
const SQUARE_NOUGHT = 2 ** -150;

/** The vectors of a record or of a query. */
export interface VectorPair {
  readonly vector?: Float32Array | undefined;
  readonly sparseVector?: SparseVector | undefined;
}

export const needsDense = unprocessable("This index requires dense vectors");
export const needsSparse = unprocessable("This index requires sparse vectors");

/** Refuses a record that lacks a vector of the index, or has one that the index does not have. */
export function checkWhole(definition: IndexDefinition, pair: VectorPair, place: string): void {
  if (hasDense(definition) && pair.vector === undefined) throw needsDense;
  if (hasSparse(definition) && pair.sparseVector === undefined) throw needsSparse;
  checkKinds(definition, pair, place);
}

/** Refuses a query without any vector of the index, or with one that the index does not have. */
export function checkQuery(definition: IndexDefinition, pair: VectorPair, place: string): void {
  if (pair.vector === undefined && pair.sparseVector === undefined)
    throw definition.type === "SPARSE" ? needsSparse : needsDense;
  checkKinds(definition, pair, place);
}

/** Refuses a vector of a kind that the index does not have, and an empty one. */
export function checkKinds(definition: IndexDefinition, { vector, sparseVector }: VectorPair, place: string): void {
  if (vector !== undefined && !hasDense(definition))
    throw sparseVector === undefined
      ? needsSparse
      : unprocessable(`${place}vector is not for a SPARSE index: it has no dense vectors`);
  if (sparseVector !== undefined && !hasSparse(definition))
    throw vector === undefined
      ? needsDense
      : unprocessable(`${place}sparseVector is not for a DENSE index: it has no sparse vectors`);
  if (sparseVector !== undefined && sparseVector.indices.length === 0)
    throw unprocessable(`${place}sparseVector must have at least one value`);
}

/**
 * Refuses a dense vector that does not fit. `dimension` undefined: the index has none yet, and any may be its first.
 * `place` is what stands before the field's name in a text, such as `vectors[3].`.
 */
export function checkDense(
  { similarity }: IndexDefinition,
  vector: Float32Array,
  { dimension, limits, place }: { dimension: number | undefined; limits: VectorLimits; place: string },
): void {
  checkDimension({ dimension }, vector);
  if (vector.length === 0) throw unprocessable(`${place}vector must have at least one dimension`);
  if (vector.length > limits.dimensionMax)
    throw unprocessable(`${place}vector has ${vector.length} dimensions. Limit: ${limits.dimensionMax}`);
  let squaredLength = 0;
  let largestSquare = 0;
  for (let i = 0; i < vector.length; i += 1) {
    const square = (vector[i] as number) * (vector[i] as number);
    squaredLength += square;
    if (square > largestSquare) largestSquare = square;
  }
  // Also not when it is not a number.
  if (!(squaredLength <= SQUARED_LENGTH_MAX))
    throw unprocessable(`${place}vector is too long: its squared length is above ${SQUARED_LENGTH_MAX}`);
  if (largestSquare <= SQUARE_NOUGHT && similarityRows[similarity].refusesZeroVector)
    throw unprocessable(`${place}vector must not be zero: it has no direction, which ${similarity} compares`);
}

/** Any vector is right as long as there is no dimension. The wording is matched on by clients (B.vectors). */
export function checkDimension({ dimension }: Pick<IndexDefinition, "dimension">, { length }: Float32Array): void {
  if (dimension !== undefined && length !== dimension)
    throw unprocessable(`Invalid vector dimension: ${length}, expected: ${dimension}`);
}
