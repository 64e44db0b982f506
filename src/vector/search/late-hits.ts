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
  #noted = 0;
  #missed = 0;
  /** Errors of distances: their number, mean, and sum of squared differences from it (Welford). */
  #samples = 0;
  #mean = 0;
  #squares = 0;
  #lastDistance = Number.NaN;

  /** `count` is the number of wanted hits, more than 0. */
  constructor(similarity: Similarity, count: number) {
    this.#distanceOf = similarityRows[similarity].distance;
    this.#count = count;
  }

  /** Notes the rank of the next candidate, its distance by code, and whether it was among the best so far. */
  note(distance: number, { rank, isHit }: { readonly rank: number; readonly isHit: boolean }): void {
    this.#noted += 1;
    this.#missed = isHit ? 0 : this.#missed + 1;
    // Equal rows have equal errors, which say nothing of those of others.
    if (distance === this.#lastDistance) return;
    this.#lastDistance = distance;
    const error = this.#distanceOf(rank) - distance;
    const difference = error - this.#mean;
    this.#samples += 1;
    this.#mean += difference / this.#samples;
    this.#squares += difference * (error - this.#mean);
  }

  /**
   * Whether further hits are unlikely among the candidates from this distance by code on. `worst` is the rank of the worst
   * of the wanted hits so far, -Infinity if there are fewer.
   */
  isUnlikely(distance: number, worst: number): boolean {
    if (this.#missed > MISSES_MIN + (MISSES_PER_SHARE * this.#noted) / this.#count) return true;
    if (this.#samples < SAMPLES_MIN || worst === Number.NEGATIVE_INFINITY) return false;
    const deviation = Math.sqrt(this.#squares / this.#samples);
    return distance + this.#mean - DEVIATIONS * deviation > this.#distanceOf(worst);
  }
}
