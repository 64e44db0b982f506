/**
 * When the remaining candidates of a walk need not be ranked by their rows. They
 * come in the order of their distances by code, and the ranked ones show by how
 * much those are wrong: the errors have a mean and a deviation. The rest is
 * unlikely to have a hit in either of two cases:
 *
 * (1) The next candidate is farther than the worst hit by more than DEVIATIONS of
 *     the error. For ten hits this is so after SAMPLES_MIN candidates. bench/row-files.bench.ts
 * (2) None of the last ones was a hit, so many that this would be very unlikely if
 *     their order were random: then candidate i is among the best k with a
 *     probability of k / i. bench/vector.bench.ts, part `equal`
 *
 * So coarse codes cost time, not hits.
 */
import type { Similarity } from "../index/definition.ts";
import { similarityRows } from "../rows/similarity.ts";
import { TopHits } from "./top-hits.ts";

/** Errors that are enough to know their deviation. */
const SAMPLES_MIN = 16;
/** The largest error of 160 candidates has 3 to 5 deviations; rows of different lengths have up to 10. */
const DEVIATIONS = 6;
/** Candidates without a hit: at least this many, and this many for each k of those that were scored. */
const MISSES_MIN = 32;
const MISSES_PER_SHARE = 3;

export class LateHits {
  readonly #distanceOf: (rank: number) => number;
  readonly #count: number;
  /** The least distances, by rows. */
  readonly #best: TopHits;
  #noted = 0;
  #missed = 0;
  /** Errors of distances: their number, mean, and sum of squared differences from it (Welford). */
  #samples = 0;
  #mean = 0;
  #squares = 0;
  #lastDistance = Number.NaN;
  /** Candidates that were not ranked are likely to be at least so far. */
  #bound = Number.POSITIVE_INFINITY;

  /** `count` is the number of wanted hits, more than 0. */
  constructor(similarity: Similarity, count: number) {
    this.#distanceOf = similarityRows[similarity].distance;
    this.#count = count;
    this.#best = new TopHits(count, () => 0);
  }

  /** Notes the rank of the next candidate, and its distance by code. */
  note(distance: number, rank: number): void {
    const exact = this.#distanceOf(rank);
    this.#noted += 1;
    this.#missed = -exact >= this.#best.threshold ? 0 : this.#missed + 1;
    this.#best.offer(0, -exact);
    // Equal rows have equal errors, which say nothing of those of others.
    if (distance === this.#lastDistance) return;
    this.#lastDistance = distance;
    this.#samples += 1;
    const difference = exact - distance - this.#mean;
    this.#mean += difference / this.#samples;
    this.#squares += difference * (exact - distance - this.#mean);
  }

  /** Notes the rank of a record that is a hit if it is good enough, wherever it is in the order of candidates. */
  offer(rank: number): void {
    this.#best.offer(0, -this.#distanceOf(rank));
  }

  /** Whether further hits are unlikely among the candidates from this distance by code on. */
  isUnlikely(distance: number): boolean {
    if (this.#missed > MISSES_MIN + (MISSES_PER_SHARE * this.#noted) / this.#count) return true;
    return this.#samples >= SAMPLES_MIN && this.#leastFrom(distance) > -this.#best.threshold;
  }

  /** Notes that the candidates from this distance on are not ranked. */
  end(distance: number): void {
    this.#bound = this.#leastFrom(distance);
  }

  /** Of hits, best first, the wanted ones and those that no other candidate is likely to be better than. */
  certainOf<Hit extends { readonly rank: number }>(hits: readonly Hit[]): readonly Hit[] {
    const end = hits.findIndex(({ rank }, i) => i >= this.#count && this.#distanceOf(rank) > this.#bound);
    return end < 0 ? hits : hits.slice(0, end);
  }

  /** The least distance that rows from this distance by code on are likely to have. */
  #leastFrom(distance: number): number {
    return distance + this.#mean - DEVIATIONS * Math.sqrt(this.#squares / this.#samples);
  }
}
