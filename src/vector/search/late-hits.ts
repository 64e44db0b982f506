/**
 * When the remaining candidates of a walk need not be scored: they come in the
 * order of their codes, which is nearly that of their rows, so that the hits are
 * among the first. If codes said nothing, candidate i would be among the best k so
 * far with a probability of k / i; candidates are scored until none of the last
 * ones is, so many that this would then be very unlikely. So coarse codes cost
 * time, not hits. bench/vector.bench.ts, part `equal`
 */

/** Candidates without a hit: at least this many, and this many for each k of those that were scored. */
const MISSES_MIN = 32;
const MISSES_PER_SHARE = 3;

export class LateHits {
  readonly #count: number;
  #scored = 0;
  #missed = 0;

  /** `count` is the number of wanted hits, more than 0. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Notes the next candidate: whether it was among the best so far. */
  note(isHit: boolean): void {
    this.#scored += 1;
    this.#missed = isHit ? 0 : this.#missed + 1;
  }

  get isUnlikely(): boolean {
    return this.#missed > MISSES_MIN + (MISSES_PER_SHARE * this.#scored) / this.#count;
  }
}
