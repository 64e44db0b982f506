/**
 * Searches in slices. A part of a search that may take long is a generator; it
 * yields when the slice is over, and continues in the next one. Between slices
 * the index does not change (`session/sliced-runs.ts`).
 *
 * (1) Every part makes progress before it yields, so a search ends with slices of
 *     any length, and its result does not depend on them.
 * (2) Loops over documents that are called for each document are no generators:
 *     they return `PAUSED` (query/cursors/cursor.ts), and their callers yield.
 */
import type { CommandError } from "../errors.ts";

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

export interface StepLimits {
  readonly stepsMax: number;
  readonly sliceSteps: number;
  /** The error above `stepsMax`. */
  readonly tooLong: (stepsMax: number) => CommandError;
}

/** The steps of one search. */
export class SearchSteps {
  readonly #limits: StepLimits;
  #left: number;
  #sliceLeft: number;

  constructor(limits: StepLimits) {
    this.#limits = limits;
    this.#left = limits.stepsMax;
    this.#sliceLeft = limits.sliceSteps;
  }

  /** Below 0: the limit is exceeded. */
  get left(): number {
    return this.#left;
  }

  readonly spend: Spend = (steps) => {
    this.#left -= steps;
    if (this.#left < 0) throw this.#limits.tooLong(this.#limits.stepsMax);
    this.#sliceLeft -= steps;
    return this.#sliceLeft <= 0;
  };

  /** Counts work before and after the search itself, which is of the slice, but not of the limit. */
  get spendBeside(): Spend {
    return (steps) => {
      this.#sliceLeft -= steps;
      return this.#sliceLeft <= 0;
    };
  }

  beginSlice(): void {
    this.#sliceLeft = this.#limits.sliceSteps;
  }
}
