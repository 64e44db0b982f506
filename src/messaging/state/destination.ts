/**
 * Where messages of one user go: scheme, host and port. It has a cap of its own
 * below the common one, so that a slow destination cannot take all slots.
 */
import { MessageList } from "./message-list.ts";

/** So many calls make up what "lately" means. */
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

  /** What a call takes lately, in ms. */
  #meanCallMs = Number.POSITIVE_INFINITY;
  #lastEndMs = Number.NEGATIVE_INFINITY;

  /** A call has ended: it took so long, and it is this time (real, monotonic). */
  observe(tookMs: number, realMs: number): void {
    this.#lastEndMs = realMs;
    const mean = this.#meanCallMs;
    this.#meanCallMs = mean === Number.POSITIVE_INFINITY ? tookMs : mean + (tookMs - mean) / MEAN_CALLS;
  }

  /** True if calls end quickly, and one did just now. */
  isQuick(realMs: number): boolean {
    return this.#meanCallMs < QUICK_CALL_MS && realMs - this.#lastEndMs < QUICK_CALL_MS;
  }

  get isIdle(): boolean {
    return this.inFlight.size === 0 && this.waiting.size === 0;
  }
}
