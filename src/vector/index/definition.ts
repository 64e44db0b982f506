/**
 * The definition of an index (B.index). It is set at the creation; only an
 * unspecified dimension is fixed later, by the first vector.
 */

export const indexTypes = ["DENSE", "SPARSE", "HYBRID"] as const;
export const similarities = ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"] as const;

/** Where the dense rows of large namespaces are. */
export const rowPlacements = ["memory", "disk"] as const;

export type RowPlacement = (typeof rowPlacements)[number];
export type IndexType = (typeof indexTypes)[number];
export type Similarity = (typeof similarities)[number];

/** The most dimensions of an index. */
export const DIMENSION_MAX = 65_536;

export interface IndexDefinition {
  readonly type: IndexType;
  /** Undefined until the first dense vector fixes it; 0 for a SPARSE index. */
  readonly dimension: number | undefined;
  readonly similarity: Similarity;
  /** Names of the models that turn text into vectors, as `/info` shows them; if undefined, text is refused. */
  readonly denseModel: string | undefined;
  readonly sparseModel: string | undefined;
}

export function hasDense({ type }: Pick<IndexDefinition, "type">): boolean {
  return type !== "SPARSE";
}

export function hasSparse({ type }: Pick<IndexDefinition, "type">): boolean {
  return type !== "DENSE";
}
