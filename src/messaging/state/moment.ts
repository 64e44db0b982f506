/**
 * The current time by the clocks that messaging uses (threats C-25).
 *
 * (1) Schedules, `Not-Before` and the times that users see use the wall clock,
 *     which an operator or NTP may set.
 * (2) Durations use passed time: delays, times until a retry, time-outs of waits,
 *     windows of rates. Setting the wall clock does not change them.
 * (3) Records have times of the wall clock only. So each start computes the rest of
 *     a duration by the wall clock.
 *
 * (4) The durations of calls and the lag of calls are measured in real time: with
 *     time travel, the other two clocks jump.
 *
 * The passed time begins at the wall clock, so that both can be compared with the
 * times of a replay, and does not follow it when it is set.
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

  /** From now on, the passed time is independent of the wall clock: keeps (3). */
  begin(): void {
    this.#startMs = this.#clock.nowMs() - this.#clock.monotonicMs();
  }

  get now(): Moment {
    const clock = this.#clock;
    const { real } = clock;
    const monotonicMs = clock.monotonicMs();
    return {
      wallMs: clock.nowMs(),
      passedMs: this.#startMs + monotonicMs,
      realMs: real === clock ? monotonicMs : real.monotonicMs(),
    };
  }
}

/** How far the passed time is ahead of the wall clock, which was set back; negative if it was set forward. */
export function driftOf({ wallMs, passedMs }: Omit<Moment, "realMs">): number {
  return passedMs - wallMs;
}
