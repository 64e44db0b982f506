/**
 * How long a message waits after a failed attempt, when the receiver did not
 * say (C.retry-delay): by the publisher's expression, which is in
 * milliseconds, or else by the default backoff.
 */
import { type Expression, InvalidRetryDelay, parseExpression } from "./retry-expression.ts";

export { InvalidRetryDelay } from "./retry-expression.ts";

/** A day: no retry waits longer. */
export const RETRY_DELAY_MS_MAX = 86_400_000;

/** How many first retries are all tried out when an expression is given; of those beyond only a sample. */
const CHECKED_COUNT_MAX = 64;

/**
 * The default backoff in ms, `retried` retries after the first attempt: min(86400, e^(2.5 n)) seconds for n = retried + 1.
 * Whole seconds, rounded down, as the interface lists them: 12 s, 2 m 28 s, 30 m 8 s, 6 h 7 m 6 s, 24 h.
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
   * The delay in whole ms, from 0 to a day, `retried` retries after the first attempt. What is negative counts as 0, what
   * is infinite as a day. Where the expression has no value (NaN) the default backoff holds: no delay would be an assault
   * on a receiver in trouble.
   */
  delayMs(retried: number): number {
    const ms = Math.round(this.#expression(retried));
    return Number.isNaN(ms) ? defaultDelayMs(retried) : Math.min(RETRY_DELAY_MS_MAX, Math.max(0, ms));
  }

  /**
   * Throws `InvalidRetryDelay` if the expression has no value for some `retried` from 0 to `retriesMax`. The first 64 are
   * tried, beyond them each power of two and the last. What is negative or infinite passes: it is clamped, and a plain
   * `pow(10, retried)` gets there.
   */
  validate(retriesMax: number): void {
    for (let retried = 0; retried < retriesMax; retried += retried < CHECKED_COUNT_MAX ? 1 : retried)
      this.#checkValue(retried);
    this.#checkValue(retriesMax);
  }

  #checkValue(retried: number): void {
    if (Number.isNaN(this.#expression(retried)))
      throw new InvalidRetryDelay(`It has no value for retried = ${retried}`);
  }
}

/** Throws `InvalidRetryDelay`, whose message says what is wrong. */
export function parseRetryDelay(text: string): RetryDelay {
  return new RetryDelay(text, parseExpression(text));
}
