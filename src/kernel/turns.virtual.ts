/**
 * An event loop that turns when a test says so, for `Turns` beside a
 * `VirtualClock`: what waits for its turn runs then, each unit with everything
 * that its promises set going.
 */
import type { EventLoop } from "./turns.ts";

export class VirtualLoop implements EventLoop {
  #nexts: (() => void)[] = [];
  #after: (() => void) | undefined;

  nextTurn(task: () => void): void {
    this.#nexts.push(task);
  }

  afterPromises(task: () => void): void {
    this.#after = task;
  }

  /** True while nobody has asked for a turn. */
  get isIdle(): boolean {
    return this.#nexts.length === 0;
  }

  /** Runs what asked for a turn before. */
  async turn(): Promise<void> {
    await settle();
    const nexts = this.#nexts;
    this.#nexts = [];
    for (const task of nexts) {
      task();
      await settle();
      while (this.#after !== undefined) {
        const after = this.#after;
        this.#after = undefined;
        after();
        await settle();
      }
    }
  }
}

/** All promises that can go on have gone on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
