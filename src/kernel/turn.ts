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

/** Runs tasks together after the next poll of the event loop, so that input that has arrived is read before them. */
export class AfterPoll {
  #tasks: (() => void)[] = [];

  add(task: () => void): void {
    if (this.#tasks.length === 0) setImmediate(() => this.#run());
    this.#tasks.push(task);
  }

  #run(): void {
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) task();
  }
}
