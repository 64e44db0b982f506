/** The models of one index, and the vectors that they make of texts. */

import type { QueryMode } from "../api.ts";
import { unprocessable, VectorFailure } from "../failure.ts";
import { hasDense, hasSparse, type IndexDefinition } from "../index/definition.ts";
import type { VectorPair } from "../index/vectors.ts";
import type { DenseEmbedder, SparseEmbedder, TextRole } from "./embedder.ts";

export interface Embedders {
  /** Undefined if the index cannot make dense vectors of texts. */
  readonly dense: DenseEmbedder | undefined;
  readonly sparse: SparseEmbedder | undefined;
  /**
   * True: the dense model stands in for one that the index does not have. Clients may send vectors of their own too, and
   * a change of a text alone replaces only a vector that was made from the text before.
   */
  readonly isStandIn?: boolean;
}

/** The dimension of an index whose first vector is that of a text, embedded by a model that stands in. */
export const STAND_IN_DIMENSION = 384;

/** The wording is that of the service (B.vectors). */
const notAllowed = unprocessable(
  "Embedding data for this index is not allowed. The index must be created with an embedding model to use it.",
);

/** Refuses texts for an index that lacks a model for one of its vectors. */
export function checkEmbeds(definition: IndexDefinition, { dense, sparse }: Embedders, mode: QueryMode): void {
  if (!canEmbed(definition, { dense, sparse }, mode)) throw notAllowed;
}

export function canEmbed(definition: IndexDefinition, { dense, sparse }: Embedders, mode: QueryMode): boolean {
  if (wantsDense(definition, mode) && dense === undefined) return false;
  return !wantsSparse(definition, mode) || sparse !== undefined;
}

/**
 * Returns a pair of vectors for each text, of the kinds that the index has and `mode` selects. Rejects with a
 * `VectorFailure` if the model fails.
 */
export async function embedTexts(
  definition: IndexDefinition,
  { dense, sparse }: Embedders,
  { texts, role, mode }: { readonly texts: readonly string[]; readonly role: TextRole; readonly mode: QueryMode },
): Promise<readonly VectorPair[]> {
  const vectors = wantsDense(definition, mode) ? await dense?.embed(texts, role) : undefined;
  const { dimension } = definition;
  for (const vector of vectors ?? [])
    if (dimension !== undefined && vector.length !== dimension)
      throw new VectorFailure(
        "bad gateway",
        `The embedding model returned ${vector.length} dimensions, but the index has ${dimension}`,
      );
  return texts.map((text, index) => ({
    vector: vectors?.[index],
    sparseVector: wantsSparse(definition, mode) ? sparse?.embed(text, role) : undefined,
  }));
}

/** A mode only matters for an index with two kinds of vectors. */
function wantsDense(definition: IndexDefinition, mode: QueryMode): boolean {
  return hasDense(definition) && (mode !== "SPARSE" || !hasSparse(definition));
}

function wantsSparse(definition: IndexDefinition, mode: QueryMode): boolean {
  return hasSparse(definition) && (mode !== "DENSE" || !hasDense(definition));
}
