/**
 * Compares the hits of an index with those of the brute-force search. Scores
 * may differ in their last bits, because sums are made in another order, so hits
 * with nearly the same score may change places.
 */
import { type SlowHit, slowFloat32Text } from "./brute-force.virtual.ts";
import type { Hit, Ranking } from "./contract.ts";

export interface ExpectedHits {
  /** All matching documents, best first. */
  readonly expected: readonly SlowHit[];
  readonly ranking: Ranking;
  readonly offset: number;
  readonly limit: number;
}

/** What is wrong with a page of hits, or undefined. */
export function faultOfHits(found: readonly Hit[], expectation: ExpectedHits): string | undefined {
  const { expected, offset, limit } = expectation;
  const page = expected.slice(offset, offset + limit);
  if (found.length !== page.length) return `${found.length} hits, not ${page.length}`;
  const scores = new Map(expected.map(({ document, score }) => [document, score]));
  for (const [at, hit] of found.entries()) {
    const fault =
      faultOfScore(hit, scores.get(hit.document), expectation.ranking) ??
      faultOfPlace(hit, { before: found[at - 1], expected: page[at] as SlowHit, ranking: expectation.ranking });
    if (fault !== undefined) return `hit ${at}, document ${hit.document}: ${fault}`;
  }
  return undefined;
}

function faultOfScore({ score }: Hit, expected: number | undefined, ranking: Ranking): string | undefined {
  if (expected === undefined) return "does not match";
  const printed = Number(score);
  if (!near(expected, printed)) return `score ${score}, not ${expected}`;
  const isDouble = ranking.orderBy !== undefined || ranking.scoreFunction?.scoreMode === "REPLACE";
  const text = isDouble ? `${printed}` : slowFloat32Text(printed);
  return score === text ? undefined : `score is printed as ${score}, not ${text}`;
}

function faultOfPlace(
  hit: Hit,
  { before, expected, ranking }: { before: Hit | undefined; expected: SlowHit; ranking: Ranking },
): string | undefined {
  if (ranking.orderBy !== undefined)
    return hit.document === expected.document ? undefined : `in the place of document ${expected.document}`;
  if (!near(expected.score, Number(hit.score))) return `score ${hit.score} in the place of ${expected.score}`;
  if (before === undefined || Number(before.score) > Number(hit.score)) return undefined;
  return before.score === hit.score && before.document < hit.document ? undefined : "comes before the last one";
}

function near(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-5 * Math.max(1, Math.abs(one), Math.abs(other));
}
