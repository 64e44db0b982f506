/**
 * A destination of one user's messages: scheme, host and port. Its cap is below
 * the user's, so that a slow destination cannot take all slots.
 */
import { MessageList } from "./message-list.ts";

/** The mean duration covers about this many calls. */
const MEAN_CALLS = 16;
/** A destination that answers within this is quick. */
const QUICK_CALL_MS = 100;

export class Destination {
  readonly origin: string;
  readonly inFlight = new Set<number>();
  readonly waiting = new MessageList("the destination's parallelism");

  constructor(origin: string) {
    this.origin = origin;
  }

  /** The mean duration of recent calls, in ms. */
  #meanCallMs = Number.POSITIVE_INFINITY;
  #lastEndMs = Number.NEGATIVE_INFINITY;

  /** A call has ended after `tookMs`; `realMs` is the current time (real, monotonic). */
  observe(tookMs: number, realMs: number): void {
    this.#lastEndMs = realMs;
    const mean = this.#meanCallMs;
    this.#meanCallMs = mean === Number.POSITIVE_INFINITY ? tookMs : mean + (tookMs - mean) / MEAN_CALLS;
  }

  /** True if calls end quickly, and one ended just now. */
  isQuick(realMs: number): boolean {
    return this.#meanCallMs < QUICK_CALL_MS && realMs - this.#lastEndMs < QUICK_CALL_MS;
  }

  get isIdle(): boolean {
    return this.inFlight.size === 0 && this.waiting.size === 0;
  }
}
