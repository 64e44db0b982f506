/**
 * Turns for what may run only so often at the same time. Whoever finds no turn
 * free waits, in the order of coming.
 */

export class Turns {
  readonly #waitingMax: number;
  /** First come, first served: a set keeps its order, and one that gives up leaves it at once. */
  readonly #waiting = new Set<() => void>();
  #freeCount: number;

  constructor(count: number, waitingMax: number) {
    this.#freeCount = count;
    this.#waitingMax = waitingMax;
  }

  /**
   * True when it is one's turn, which has to be given back; false when `signal` aborts before. Undefined: too many wait
   * already.
   */
  take(signal: AbortSignal): Promise<boolean> | undefined {
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

  giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#freeCount += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
