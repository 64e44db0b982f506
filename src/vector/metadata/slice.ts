/**
 * How much may still be done before the event loop gets its turn. Counted in
 * about nanoseconds; the prices are those of a plain two-core machine.
 */
import { filterWork } from "../filter/work.ts";

export class Slice {
  /** Nanoseconds. Below zero after a piece of work that could not be split. */
  left = 0;
  /**
   * Changed records that a follower of the log takes even when nothing is left: as many as came since the last slice,
   * or a follower would never arrive while many are written. It costs less than writing them did.
   */
  owedCount = 0;
  #stepsSeen = 0;

  /** Begins a slice. */
  open(work: number, owedCount: number): void {
    this.left = work;
    this.owedCount = Math.min(owedCount, OWED_MAX);
    this.#stepsSeen = filterWork.steps;
  }

  /** Takes off what filters have looked at since the last call: a nanosecond for each character or element. */
  takeFilterWork(): void {
    this.left -= filterWork.steps - this.#stepsSeen;
    this.#stepsSeen = filterWork.steps;
  }

  takeParsing(text: string | undefined): void {
    this.left -= text === undefined ? SKIP_COST : PARSE_COST + PARSE_COST_PER_CHARACTER * text.length;
  }
}

/** Of a slice, so that one which comes late is no long one. */
const OWED_MAX = 2_048;

const SKIP_COST = 10;
const PARSE_COST = 300;
const PARSE_COST_PER_CHARACTER = 8;
