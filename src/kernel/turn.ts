/** Waits for turns of the event loop. */
import type { Clock } from "./clock.ts";

/** Gives the event loop one turn, so that long work lets others in between its parts. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * As `clock.after`, for a time within which something has to come: timers come before the poll of the event loop, so what
 * came while the thread was busy is read first, and may cancel.
 */
export function afterPoll(clock: Pick<Clock, "after">, delayMs: number, task: () => void): () => void {
  let isCancelled = false;
  const cancel = clock.after(delayMs, () => {
    void nextTurn().then(() => {
      if (!isCancelled) task();
    });
  });
  return () => {
    isCancelled = true;
    cancel();
  };
}
