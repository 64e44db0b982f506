/**
 * Time as a dependency.
 *
 * Only `kernel/` calls `Date.now()` and `setTimeout()`. Expiry, schedules,
 * retries and rate windows read a `Clock`, so a unit test can freeze time and the
 * simulation can run a week in a second.
 *
 * Times are whole milliseconds: `nowMs` of any clock has no fraction, so values
 * derived from it, such as ids and records, have none either.
 */

export interface Clock {
  /** Wall-clock milliseconds since the epoch, a whole number. May step backwards. */
  nowMs(): number;
  /** Milliseconds that never step: for durations and time limits. */
  monotonicMs(): number;
  /**
   * CPU milliseconds of this thread: for limits of work, which other load of the machine must not use up. Never
   * advances faster than `monotonicMs`. A reading costs 0.3 us, six times as much.
   */
  threadCpuMs(): number;
  /** Runs `task` once, not before `atMs` of `nowMs`. The returned function cancels it. */
  at(atMs: number, task: () => void): () => void;
  /** Runs `task` once after `delayMs` of `monotonicMs`. The returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /**
   * Runs `task` once after about `delayMs`: a sweep or a removal, which does all pending work. In a jump of time it
   * runs at the end of the jump only. The returned function cancels it.
   */
  housekeep(delayMs: number, task: () => void): () => void;
  /** The clock of the machine if this one travels, otherwise itself. For sockets, disks and limits of work. */
  readonly real: Clock;
}

/** The wall clock may step during a sleep, so it is read again at least this often. */
const SLEEP_MS_MAX = 1_000;

/** Node treats a longer delay as 1 ms. */
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

/**
 * The clocks of the machine for times that threads share: `monotonicMs` of `systemClock` begins in each thread with the
 * thread.
 */
export const machineClock: Pick<Clock, "nowMs" | "monotonicMs"> = {
  nowMs: () => Date.now(),

  monotonicMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
};
