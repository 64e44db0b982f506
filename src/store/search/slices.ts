/**
 * Searches in slices. A part of a search that may take long is a generator; it
 * yields when the slice is over, and continues in the next one. Between slices
 * the index does not change (`session/sliced-run.ts`).
 *
 * (1) Every part makes progress before it yields, so a search ends with slices of
 *     any length, and its result does not depend on them.
 * (2) Loops over documents that are called for each document are no generators:
 *     they return `PAUSED` (query/cursors/cursor.ts), and whoever calls them yields.
 */
import { searchTooLong } from "./index-errors.ts";

/** Work that yields at the end of each slice. */
export type InSlices<Result> = Generator<undefined, Result, undefined>;

/** Does all of the work now. */
export function atOnce<Result>(work: InSlices<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/**
 * Counts steps. Throws an error above the limit of a command. Returns true if the slice is over: then the work yields as
 * soon as it can. Steps are about 10 ns each.
 */
export type Spend = (steps: number) => boolean;

/** The steps of one search. */
export class SearchSteps {
  readonly #stepsMax: number;
  readonly #sliceSteps: number;
  #left: number;
  #sliceLeft: number;

  constructor({ stepsMax, sliceSteps }: { readonly stepsMax: number; readonly sliceSteps: number }) {
    this.#stepsMax = stepsMax;
    this.#sliceSteps = sliceSteps;
    this.#left = stepsMax;
    this.#sliceLeft = sliceSteps;
  }

  readonly spend: Spend = (steps) => {
    this.#left -= steps;
    if (this.#left < 0) throw searchTooLong(this.#stepsMax);
    return this.prepare(steps);
  };

  /** Counts work that bringing the index up to date takes, which is of the slice, but not of the limit. */
  readonly prepare: Spend = (steps) => {
    this.#sliceLeft -= steps;
    return this.#sliceLeft <= 0;
  };

  beginSlice(): void {
    this.#sliceLeft = this.#sliceSteps;
  }
}
