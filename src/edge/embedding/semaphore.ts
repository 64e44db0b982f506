/**
 * Limits how many tasks run at the same time. Further ones wait, in the order of
 * arrival.
 */

export class Semaphore {
  readonly #waitingMax: number;
  /** First come, first served; an aborted waiter is removed at once. */
  readonly #waiting = new Set<() => void>();
  #freeCount: number;

  constructor(count: number, waitingMax: number) {
    this.#freeCount = count;
    this.#waitingMax = waitingMax;
  }

  /**
   * True for a permit, which the caller must release; false if `signal` aborts first. Undefined if too many wait
   * already.
   */
  acquire(signal: AbortSignal): Promise<boolean> | undefined {
    if (signal.aborted) return Promise.resolve(false);
    if (this.#freeCount > 0) {
      this.#freeCount -= 1;
      return Promise.resolve(true);
    }
    if (this.#waiting.size >= this.#waitingMax) return undefined;
    return new Promise((resolve) => {
      const start = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(true);
      };
      const giveUp = (): void => {
        this.#waiting.delete(start);
        resolve(false);
      };
      this.#waiting.add(start);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#freeCount += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
