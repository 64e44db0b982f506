/**
 * Time as a dependency.
 *
 * Only `kernel/` calls `Date.now()` and `setTimeout()`. Expiry, schedules,
 * retries and rate windows read a `Clock`, so a unit test can hold time still
 * and the simulation can run a week in a second.
 *
 * Moments are whole milliseconds: whatever a clock does, `nowMs` has no
 * fraction, so neither has what is made of it, such as an id or a record.
 */

export interface Clock {
  /** Wall-clock milliseconds since the epoch, a whole number. May step backwards. */
  nowMs(): number;
  /** Milliseconds that never step: for durations and time limits. */
  monotonicMs(): number;
  /**
   * Milliseconds that this thread has computed: for limits of work, which others on the machine must not use up. Never more
   * than passed of `monotonicMs`. A reading costs 0.3 us, six times one of that.
   */
  threadCpuMs(): number;
  /** Runs `task` once, not before `atMs` of `nowMs`. The returned function cancels it. */
  at(atMs: number, task: () => void): () => void;
  /** Runs `task` once after `delayMs` of `monotonicMs`. The returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /**
   * Runs `task` once after about `delayMs`: a sweep, a removal, which does as much as there is to do. Where time jumps, it
   * runs at the end of the jump, and not on the way. The returned function cancels it.
   */
  housekeep(delayMs: number, task: () => void): () => void;
  /** The clock of the machine, where this one travels; itself otherwise. For sockets, disks and limits of work. */
  readonly real: Clock;
}

/** The wall clock may step while we sleep, so it is read again at least this often. */
const SLEEP_MS_MAX = 1_000;

/** Node takes a longer delay for none. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),

  threadCpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },

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

  housekeep: (delayMs, task) => systemClock.after(delayMs, task),

  get real() {
    return systemClock;
  },
};
