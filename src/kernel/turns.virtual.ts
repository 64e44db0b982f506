/**
 * An event loop that turns when a test calls it, for `Turns` with a
 * `VirtualClock`: waiting units run then, each with all work of its promises.
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

  /** True while no turn is requested. */
  get isIdle(): boolean {
    return this.#nexts.length === 0;
  }

  /** Runs the tasks that were requested before. */
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

/** Resolves when all promises that can continue have continued. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
