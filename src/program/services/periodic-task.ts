/** Periodic work of an area: once per period, one run after the other. */
import type { Clock } from "../../kernel/clock.ts";

export interface PeriodicTaskOptions {
  readonly clock: Clock;
  /** From the end of a run to the start of the next. */
  readonly periodMs: number;
  readonly run: () => Promise<void>;
  /** A run has failed; no further run follows. */
  readonly onFault: (fault: unknown) => void;
}

export class PeriodicTask {
  readonly #options: PeriodicTaskOptions;
  #cancel: () => void = () => {};
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: PeriodicTaskOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStopped) return;
    const { clock, periodMs, run, onFault } = this.#options;
    this.#cancel = clock.after(periodMs, () => {
      this.#running = run().then(() => this.start(), onFault);
    });
  }

  /** Resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }
}
