/** Messages that were accepted and have not arrived, sampled repeatedly. */

/** A backlog grows if a third has at least this many more, and this many times as many, as the one before. */
const GROWTH_MIN = 200;
const GROWTH_FACTOR = 1.1;

export class Backlog {
  readonly #samples: number[] = [];

  sample(acceptedCount: number, arrivedCount: number): void {
    this.#samples.push(Math.max(0, acceptedCount - arrivedCount));
  }

  get max(): number {
    return this.#samples.reduce((most, sample) => Math.max(most, sample), 0);
  }

  /** True if the last third has clearly more than the middle one: the first is warm-up. */
  get isGrowing(): boolean {
    const third = Math.floor(this.#samples.length / 3);
    const middle = mean(this.#samples.slice(third, 2 * third));
    const last = mean(this.#samples.slice(2 * third));
    return last > middle + GROWTH_MIN && last > middle * GROWTH_FACTOR;
  }
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
