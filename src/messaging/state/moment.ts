/**
 * A moment by the clocks that messaging goes by (threats C-25).
 *
 * (1) Schedules, `Not-Before` and what users are shown go by the wall clock,
 *     which an operator or NTP may set.
 * (2) Spans go by the time that has passed: delays, times until a retry, time-outs
 *     of waits, windows of rates. Setting the wall clock changes none of them.
 * (3) Records have moments of the wall clock alone. So each start measures again
 *     how long a span still lasts, by the wall clock.
 *
 * (4) How long calls take, and how far calling lags behind, is measured by real
 *     time: where time travels, both of the others jump.
 *
 * The passed time begins as the wall clock, so that both may be compared with
 * what a replay has found, and is not set with it.
 */
import type { Clock } from "../../kernel/clock.ts";

export interface Moment {
  readonly wallMs: number;
  readonly passedMs: number;
  /** Monotonic (4). */
  readonly realMs: number;
}

export class Clocks {
  readonly #clock: Clock;
  #startMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.begin();
  }

  /** From here on, the passed time is not set any more: keeps (3). */
  begin(): void {
    this.#startMs = this.#clock.nowMs() - this.#clock.monotonicMs();
  }

  get now(): Moment {
    const clock = this.#clock;
    return {
      wallMs: clock.nowMs(),
      passedMs: this.#startMs + clock.monotonicMs(),
      realMs: clock.real.monotonicMs(),
    };
  }
}

/** How far the passed time is before the wall clock, which was set back; below zero: it was set forward. */
export function driftOf({ wallMs, passedMs }: Omit<Moment, "realMs">): number {
  return passedMs - wallMs;
}
