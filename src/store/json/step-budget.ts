/**
 * Limits the work of the paths of one command (threats A-08). A short path can
 * need unbounded time: `$..*..*..*`, or nested filters.
 */
import { pathMatchesTooMany, pathStepsTooMany } from "../errors.ts";

/** Nodes visited, tests made, characters matched; at most about a second. */
export const PATH_STEPS_MAX = 5_000_000;
/** Limit of matches in memory at once. */
export const PATH_MATCHES_MAX = 1_000_000;

export class StepBudget {
  #stepsLeft: number;
  readonly #stepsMax: number;

  constructor(stepsMax = PATH_STEPS_MAX) {
    this.#stepsLeft = stepsMax;
    this.#stepsMax = stepsMax;
  }

  /** Steps taken so far; complexity tests read it. */
  get used(): number {
    return this.#stepsMax - this.#stepsLeft;
  }

  /** Throws `pathStepsTooMany` above the limit. */
  readonly spend = (steps: number): void => {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw pathStepsTooMany;
  };

  /** Throws if a list of this many matches is too long. */
  hold(matchCount: number): void {
    if (matchCount > PATH_MATCHES_MAX) throw pathMatchesTooMany;
  }
}
