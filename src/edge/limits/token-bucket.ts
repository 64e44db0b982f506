/** A token bucket: it holds `burst` tokens and fills at `perSecond`. */

export interface Rate {
  readonly perSecond: number;
  /** At once, after a pause. */
  readonly burst: number;
}

const MS_PER_SECOND = 1_000;

export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #filledMs: number;

  /** A full bucket. Times are of the monotonic clock. */
  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#filledMs = nowMs;
  }

  /** Takes a token and returns 0, or takes none and returns the time in ms until there is one. */
  take(nowMs: number): number {
    const { perSecond, burst } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledMs) * perSecond) / MS_PER_SECOND);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return ((1 - this.#tokens) * MS_PER_SECOND) / perSecond;
    this.#tokens -= 1;
    return 0;
  }
}
