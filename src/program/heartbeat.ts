/**
 * Watches whether a thread still answers. Time is counted in ticks of our own
 * timer, not read from a clock: when the whole process was stopped (SIGSTOP, a
 * sleeping laptop), our ticks stood still as well, and nobody is ended for it.
 */
import type { Clock } from "../kernel/clock.ts";

/** How often a thread gives a sign of life. */
export const BEAT_MS = 1_000;

/** Silent for so long: the server is not ready. */
export const SILENT_MS = 5_000;

/** Silent for so long: the thread is ended. */
export const DEAD_MS = 60_000;

export interface HeartbeatOptions {
  readonly clock: Clock;
  /** Called when the thread has been silent for SILENT_MS, and when it is heard again. */
  readonly onSilent: (isSilent: boolean) => void;
  /** Called once, when it has been silent for DEAD_MS. */
  readonly onDead: () => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #silentTicks = 0;
  #cancel: () => void = () => {};

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#arm();
  }

  /** The thread gave a sign of life. */
  beat(): void {
    const wasSilent = this.#isSilent;
    this.#silentTicks = 0;
    if (wasSilent) this.#options.onSilent(false);
  }

  stop(): void {
    this.#cancel();
  }

  get #isSilent(): boolean {
    return this.#silentTicks * BEAT_MS >= SILENT_MS;
  }

  #arm(): void {
    this.#cancel = this.#options.clock.after(BEAT_MS, () => this.#tick());
  }

  #tick(): void {
    const wasSilent = this.#isSilent;
    this.#silentTicks += 1;
    if (!wasSilent && this.#isSilent) this.#options.onSilent(true);
    if (this.#silentTicks * BEAT_MS >= DEAD_MS) this.#options.onDead();
    else this.#arm();
  }
}
