/**
 * The remaining work before the event loop gets its turn, in approximate
 * nanoseconds; the costs were measured on a plain two-core machine.
 */
import { filterWork } from "../filter/work.ts";

export class Slice {
  /** Nanoseconds. Below zero after a piece of work that could not be split. */
  left = 0;
  /**
   * Changed records that a follower of the log reads even if no work is left: as many as were added since the last
   * slice, or a follower would never reach the end during many writes. It costs less than writing them did.
   */
  owedCount = 0;
  #stepsSeen = 0;

  /** Begins a slice. */
  open(work: number, owedCount: number): void {
    this.left = work;
    this.owedCount = Math.min(owedCount, OWED_MAX);
    this.#stepsSeen = filterWork.steps;
  }

  /** Subtracts the work of filters since the last call: a nanosecond for each character or element. */
  takeFilterWork(): void {
    this.left -= filterWork.steps - this.#stepsSeen;
    this.#stepsSeen = filterWork.steps;
  }

  /** The bytes of a text; undefined for a record without a text. */
  takeParsing(textBytes: number | undefined): void {
    this.left -= textBytes === undefined ? SKIP_COST : PARSE_COST + PARSE_COST_PER_BYTE * textBytes;
  }
}

/** The bound of a slice, so that a late slice is not long. */
const OWED_MAX = 2_048;

const SKIP_COST = 10;
const PARSE_COST = 300;
const PARSE_COST_PER_BYTE = 8;
