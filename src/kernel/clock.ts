/**
 * Time as a dependency.
 *
 * Only `kernel/` calls `Date.now()` and `setTimeout()`. Expiry, schedules,
 * retries and rate windows read a `Clock`, so a unit test can hold time still
 * and the simulation can run a week in a second.
 */

export interface Clock {
  /** Wall-clock milliseconds since the epoch. May step backwards. */
  nowMs(): number;
  /** Milliseconds that never step: for durations and time limits. */
  monotonicMs(): number;
  /** Runs `task` once, not before `atMs` of `nowMs`. The returned function cancels it. */
  at(atMs: number, task: () => void): () => void;
  /** Runs `task` once after `delayMs` of `monotonicMs`. The returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

/** The wall clock may step while we sleep, so it is read again at least this often. */
const SLEEP_MS_MAX = 1_000;

/** Node takes a longer delay for none. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),

  at(atMs, task) {
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const delayMs = Math.max(0, atMs - Date.now());
      timer = delayMs > SLEEP_MS_MAX ? setTimeout(arm, SLEEP_MS_MAX) : setTimeout(task, delayMs);
    };
    arm();
    return () => clearTimeout(timer);
  },

  after(delayMs, task) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      timer =
        leftMs > TIMER_MS_MAX ? setTimeout(() => arm(leftMs - TIMER_MS_MAX), TIMER_MS_MAX) : setTimeout(task, leftMs);
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};
