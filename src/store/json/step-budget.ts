/**
 * How much work the paths of one command may do (threats A-08). A short path
 * can ask for more than anybody waits for: `$..*..*..*`, or a filter in a filter.
 */
import { pathMatchesTooMany, pathStepsTooMany } from "../errors.ts";

/** Nodes visited, tests made, characters matched; a second or less. */
export const PATH_STEPS_MAX = 5_000_000;
/** Matches that are held at once. */
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

  /** Throws `pathStepsTooMany` at one step too many. */
  readonly spend = (steps: number): void => {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw pathStepsTooMany;
  };

  /** Throws where a list of so many matches is too long to be held. */
  hold(matchCount: number): void {
    if (matchCount > PATH_MATCHES_MAX) throw pathMatchesTooMany;
  }
}
