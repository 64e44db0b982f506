/** Waits for turns of the event loop. */
import type { Clock } from "./clock.ts";

/** Gives the event loop one turn, so that other work runs between the parts of long work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Like `clock.after`, for a time limit of input: timers run before the poll of the event loop, so input that arrived
 * while the thread was busy is read first, and may cancel the limit.
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
