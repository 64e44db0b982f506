/**
 * Fuses two ranked lists (B2.rrf, B2.dbsf). Each algorithm is a row, which gives
 * the worth of each hit of a list. A record in both lists gets the sum.
 *
 * All arithmetic is float32, step by step: clients compare scores exactly.
 */
import type { Fusion } from "../api.ts";
import type { ScoredRecord } from "./scored.ts";

interface FusionAlgorithm {
  readonly name: Fusion;
  readonly summary: string;
  /** The worth of each hit of a list, best first. */
  readonly worths: (scores: Float32Array) => Float32Array;
}

/** The first hit of a list is worth one divided by this. */
const RRF_RANK_OFFSET = 60;
/** Standard deviations on either side of the mean that DBSF maps to 0 and 1. */
const DBSF_DEVIATIONS = 3;
/** The worth in DBSF of scores without a deviation. */
const DBSF_MIDDLE = 0.5;

export const fusionAlgorithms: readonly FusionAlgorithm[] = [
  { name: "RRF", summary: "1 / (60 + rank), where the best has rank 0", worths: reciprocalRanks },
  { name: "DBSF", summary: "the score between mean − 3σ and mean + 3σ", worths: distributedScores },
];

const algorithmByName = new Map(fusionAlgorithms.map((algorithm) => [algorithm.name, algorithm]));

/**
 * The best of both lists, best first, at most `count`. Both lists are best first, with no record twice. `order` is a
 * record's place among equal scores: the smaller comes first.
 */
export function fuse(
  name: Fusion,
  dense: readonly ScoredRecord[],
  sparse: readonly ScoredRecord[],
  { count, order }: { readonly count: number; readonly order: (record: number) => number },
): ScoredRecord[] {
  const sums = new Map<number, number>();
  const { worths } = algorithmByName.get(name) as FusionAlgorithm;
  for (const list of [dense, sparse]) {
    const worth = worths(Float32Array.from(list, ({ score }) => score));
    for (const [rank, { record }] of list.entries())
      sums.set(record, Math.fround((sums.get(record) ?? 0) + (worth[rank] as number)));
  }
  return [...sums]
    .map(([record, score]) => ({ record, score, order: order(record) }))
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .slice(0, count)
    .map(({ record, score }) => ({ record, score }));
}

/** Reciprocal rank fusion. */
function reciprocalRanks(scores: Float32Array): Float32Array {
  return scores.map((_, rank) => 1 / (RRF_RANK_OFFSET + rank));
}

/** Distribution-based score fusion, with the deviation of a sample (n − 1). Outliers are not clamped to 0 and 1. */
function distributedScores(scores: Float32Array): Float32Array {
  const { length } = scores;
  // All scores are equal: their mean may be rounded to another value.
  if (scores[0] === scores[length - 1]) return new Float32Array(length).fill(DBSF_MIDDLE);
  const { fround } = Math;
  let sum = 0;
  for (const score of scores) sum = fround(sum + score);
  const mean = fround(sum / length);
  let squares = 0;
  for (const score of scores) {
    const distance = fround(score - mean);
    squares = fround(squares + fround(distance * distance));
  }
  const deviation = fround(Math.sqrt(fround(squares / (length - 1))));
  const reach = fround(DBSF_DEVIATIONS * deviation);
  const low = fround(mean - reach);
  const width = fround(fround(mean + reach) - low);
  // The scores are too close for float32, or so large that their squares overflow.
  if (!(width > 0 && width < Number.POSITIVE_INFINITY)) return new Float32Array(length).fill(DBSF_MIDDLE);
  return scores.map((score) => fround(score - low) / width);
}
