/**
 * Matching documents of a clause in rising order, with their scores. A cursor
 * either goes forward (`next`, `seek`), or answers whether it has a document
 * that another one found (`accepts`); both only ever rise, and may alternate.
 *
 * (1) `document` is the last one that was found, or -1 before the first one.
 *     It never is a document that does not match.
 * (2) `next` and `seek` return PAUSED if the slice of the search is over before
 *     they know the next match; they have not moved `document` then, and are called
 *     again. Whether a document matches is one answer: `accepts` never pauses.
 * (3) `score` and `boundAt` are for clauses built with scores. No score of a
 *     document is above `boundAt` of its stretch, which is at least 0: a
 *     document without the clause scores 0.
 */
import { NO_DOCUMENT } from "../../index/index-reader.ts";

/** See (2). Greater than all numbers of documents. */
export const PAUSED = NO_DOCUMENT - 1;

export abstract class Cursor {
  /** See (1). NO_DOCUMENT after the last one. */
  document = -1;
  /** The last document that the bound of `boundAt` holds for. */
  boundLast = NO_DOCUMENT;
  /** About how many documents `next` visits. */
  abstract readonly cost: number;
  /** The number of matches, if it is known before they are visited. */
  readonly matchCount: number | undefined = undefined;
  /** The first match after `document`, or PAUSED. */
  abstract next(): number;
  /** The first match at or after the target, or PAUSED; stays where it is if that is at or after the target. */
  abstract seek(target: number): number;
  /** The score of `document`. */
  abstract score(): number;
  /** See (3); the stretch begins at `document` and ends at `boundLast`. Moves nothing. */
  abstract boundAt(document: number): number;

  /** Whether the document matches; if so, `document` is it. As it is here, for cursors that never pause. */
  accepts(document: number): boolean {
    return (this.document < document ? this.seek(document) : this.document) === document;
  }
}

/** Gives each match the same score. */
export abstract class ConstantCursor extends Cursor {
  readonly #score: number;

  constructor(score: number) {
    super();
    this.#score = score;
  }

  override score(): number {
    return this.#score;
  }

  override boundAt(_document: number): number {
    return Math.max(0, this.#score);
  }
}

export class EmptyCursor extends ConstantCursor {
  override readonly cost = 0;
  override readonly matchCount = 0;

  constructor() {
    super(0);
    this.document = NO_DOCUMENT;
  }

  override next(): number {
    return NO_DOCUMENT;
  }

  override seek(_target: number): number {
    return NO_DOCUMENT;
  }
}
