/**
 * A limit on requests per second for each token: a bucket that holds `burst`
 * requests and fills at `perSecond`. It is off unless configured; the original
 * delays instead of refusing.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Grant } from "../auth.ts";
import { type RequestFailure, tooManyRequests } from "../errors.ts";

export interface Rate {
  readonly perSecond: number;
  /** Requests that may come at once after a pause. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

export class RateLimiter {
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** A bucket ends with its token. */
  readonly #buckets = new WeakMap<Grant, Bucket>();

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  get perSecond(): number {
    return this.#rate.perSecond;
  }

  /** Counts one request of this token. Returns the refusal, if there is one. */
  take(grant: Grant): RequestFailure | undefined {
    const waitMs = this.count(grant);
    return waitMs > 0 ? tooManyRequests(this.perSecond, waitMs) : undefined;
  }

  /** Counts one request of this token and returns 0, or returns the time until one more is allowed. */
  count(grant: Grant): number {
    const { perSecond, burst } = this.#rate;
    const nowMs = this.#clock.monotonicMs();
    let bucket = this.#buckets.get(grant);
    if (bucket === undefined) {
      bucket = { tokens: burst, filledAtMs: nowMs };
      this.#buckets.set(grant, bucket);
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.filledAtMs) * perSecond) / 1_000);
    bucket.filledAtMs = nowMs;
    if (bucket.tokens < 1) return ((1 - bucket.tokens) * 1_000) / perSecond;
    bucket.tokens -= 1;
    return 0;
  }
}
