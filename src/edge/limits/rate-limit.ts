/**
 * A limit on requests per second for each token, which has a bucket of its own.
 * It is off unless configured; the original delays instead of refusing.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Grant } from "../auth.ts";
import { type RequestFailure, tooManyRequests } from "../errors.ts";
import { type Rate, TokenBucket } from "./token-bucket.ts";

export class RateLimiter {
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** A bucket ends with its token. */
  readonly #buckets = new WeakMap<Grant, TokenBucket>();

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
    const nowMs = this.#clock.monotonicMs();
    let bucket = this.#buckets.get(grant);
    if (bucket === undefined) {
      bucket = new TokenBucket(this.#rate, nowMs);
      this.#buckets.set(grant, bucket);
    }
    return bucket.take(nowMs);
  }
}
