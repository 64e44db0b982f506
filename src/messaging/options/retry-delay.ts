/**
 * The delay after a failed attempt, if the receiver did not request one
 * (C.retry-delay): the publisher's expression, in milliseconds, or the default
 * backoff.
 */
import { type Expression, InvalidRetryDelay, parseExpression } from "./retry-expression.ts";

export { InvalidRetryDelay } from "./retry-expression.ts";

/** A day: no retry waits longer. */
export const RETRY_DELAY_MS_MAX = 86_400_000;

/** An expression is tried for all of the first retries up to this number, and for a sample of later ones. */
const CHECKED_COUNT_MAX = 64;

/**
 * The default backoff in ms, `retried` retries after the first attempt: min(86400, e^(2.5 n)) seconds for
 * n = retried + 1. Whole seconds, rounded down, as the interface lists them: 12 s, 2 m 28 s, 30 m 8 s, 6 h 7 m 6 s,
 * 24 h.
 */
export function defaultDelayMs(retried: number): number {
  return Math.min(RETRY_DELAY_MS_MAX, Math.floor(Math.exp(2.5 * (retried + 1))) * 1_000);
}

/** A publisher's expression. */
export class RetryDelay {
  readonly text: string;
  readonly #expression: Expression;

  constructor(text: string, expression: Expression) {
    this.text = text;
    this.#expression = expression;
  }

  /**
   * The delay in whole ms, from 0 to a day, `retried` retries after the first attempt. Negative values count as 0,
   * infinite ones as a day. If the expression has no value (NaN), the default backoff applies: no delay would flood a
   * receiver in trouble.
   */
  delayMs(retried: number): number {
    const ms = Math.round(this.#expression(retried));
    return Number.isNaN(ms) ? defaultDelayMs(retried) : Math.min(RETRY_DELAY_MS_MAX, Math.max(0, ms));
  }

  /**
   * Throws `InvalidRetryDelay` if the expression has no value for some `retried` from 0 to `retriesMax`. The first 64
   * are tried, then each power of two and the last. Negative and infinite values are valid: they are clamped, and a
   * plain `pow(10, retried)` reaches them.
   */
  validate(retriesMax: number): void {
    for (let retried = 0; retried < retriesMax; retried += retried < CHECKED_COUNT_MAX ? 1 : retried)
      this.#checkValue(retried);
    this.#checkValue(retriesMax);
  }

  #checkValue(retried: number): void {
    if (Number.isNaN(this.#expression(retried)))
      throw new InvalidRetryDelay(`the expression has no value for retried = ${retried}`);
  }
}

/** Throws `InvalidRetryDelay` with the fault. */
export function parseRetryDelay(text: string): RetryDelay {
  return new RetryDelay(text, parseExpression(text));
}
