/** Checks vectors for an index (B.vectors; threats B-01, B-02). */

import { unprocessable } from "../failure.ts";
import type { VectorLimits } from "../limits.ts";
import { similarityRows } from "../rows/similarity.ts";
import { hasDense, hasSparse, type IndexDefinition } from "./definition.ts";
import type { SparseVector } from "./record.ts";

/** Products of two such vectors, summed in any order, stay within float32. */
const SQUARED_LENGTH_MAX = 1e38;

/** Float32 rounds smaller values to zero: a vector of such values has no length for the kernel. */
const SQUARE_NOUGHT = 2 ** -150;

/** The vectors of a record or of a query. */
export interface VectorPair {
  readonly vector?: Float32Array | undefined;
  readonly sparseVector?: SparseVector | undefined;
}

export const needsDense = unprocessable("This index requires dense vectors");
export const needsSparse = unprocessable("This index requires sparse vectors");

/** Refuses a record that lacks a vector of the index, or has a vector of a kind that the index does not have. */
export function checkWhole(definition: IndexDefinition, pair: VectorPair, place: string): void {
  if (hasDense(definition) && pair.vector === undefined) throw needsDense;
  if (hasSparse(definition) && pair.sparseVector === undefined) throw needsSparse;
  checkKinds(definition, pair, place);
}

/** Refuses a query without any vector of the index, or with a vector of a kind that the index does not have. */
export function checkQuery(definition: IndexDefinition, pair: VectorPair, place: string): void {
  if (pair.vector === undefined && pair.sparseVector === undefined)
    throw definition.type === "SPARSE" ? needsSparse : needsDense;
  checkKinds(definition, pair, place);
}

/** Refuses a vector of a kind that the index does not have, and an empty vector. */
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
 * Refuses an invalid dense vector. If `dimension` is undefined, the index has none yet, and any may be its first.
 * `place` is the prefix of the field's name in an error text, such as `vectors[3].`.
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
  // This also refuses NaN.
  if (!(squaredLength <= SQUARED_LENGTH_MAX))
    throw unprocessable(`${place}vector is too long: its squared length is above ${SQUARED_LENGTH_MAX}`);
  if (largestSquare <= SQUARE_NOUGHT && similarityRows[similarity].refusesZeroVector)
    throw unprocessable(`${place}vector must not be zero: it has no direction, which ${similarity} compares`);
}

/** Any vector is valid while the index has no dimension. Clients match on this wording (B.vectors). */
export function checkDimension({ dimension }: Pick<IndexDefinition, "dimension">, { length }: Float32Array): void {
  if (dimension !== undefined && length !== dimension)
    throw unprocessable(`Invalid vector dimension: ${length}, expected: ${dimension}`);
}
