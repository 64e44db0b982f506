/**
 * The similarities of dense vectors, one row each (B2.cosine, B2.euclidean,
 * B2.dot-product). The kernel computes a rank, a float32 that grows with the
 * similarity; answers contain the score. `assembly/row-kernel.ts` has the same
 * three, by their code.
 */
import type { Similarity } from "../index/definition.ts";

export interface SimilarityRow {
  readonly name: Similarity;
  /** Its code in the kernel. */
  readonly code: number;
  /** True if vectors of length zero are refused, because they have no direction. */
  readonly refusesZeroVector: boolean;
  /** The printed score of a rank: a float32 from 0 to 1. */
  score(rank: number): number;
  /** The distance of a rank, which `graph/` estimates: smaller is more similar. */
  distance(rank: number): number;
}

const identity = (rank: number): number => rank;

export const similarityRows: Readonly<Record<Similarity, SimilarityRow>> = {
  // rank = (1 + cos) / 2, and exactly 1 when dot product and both squared lengths are equal
  COSINE: { name: "COSINE", code: 0, refusesZeroVector: true, score: identity, distance: (rank) => 1 - 2 * rank },
  // rank = 1 / (1 + d²)
  EUCLIDEAN: {
    name: "EUCLIDEAN",
    code: 1,
    refusesZeroVector: false,
    score: identity,
    distance: (rank) => 1 / rank - 1,
  },
  // rank = dot, so that vectors longer than 1 keep their order although the score is at most 1
  DOT_PRODUCT: { name: "DOT_PRODUCT", code: 2, refusesZeroVector: false, score: scoreOfDot, distance: (rank) => -rank },
};

function scoreOfDot(dot: number): number {
  return Math.min(1, Math.max(0, Math.fround(Math.fround(1 + dot) / 2)));
}
