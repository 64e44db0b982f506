/**
 * Watches whether a thread still answers, and whether it makes progress. Time is
 * counted in ticks of our own timer, not read from a clock: when the whole
 * process was stopped (SIGSTOP, a sleeping laptop), our ticks stood still as
 * well, and nobody is ended for it.
 *
 * A thread that has not answered for SILENT_MS is not ready. It is ended when it
 * has made no progress while it used DEAD_CPU_MS of processor time: one command
 * that does not end. A thread that answers, or finishes one unit of work after
 * the other, is never ended, however busy it is; nor is one that a busy machine
 * does not let run.
 */
import type { Clock } from "../../kernel/clock.ts";

/** How often a thread gives a sign of life. */
export const BEAT_MS = 1_000;

/** Silent for so long: the server is not ready. */
export const SILENT_MS = 5_000;

/** So much processor time without progress: the thread is ended. */
export const DEAD_CPU_MS = 60_000;

/** So long without progress, whatever the processor says: it waits for something that does not come. */
export const DEAD_MS = 600_000;

export interface HeartbeatOptions {
  readonly clock: Clock;
  /** A number that moves with each unit of work. */
  readonly progress: () => number;
  /** Processor time of the thread in ms. May stay unanswered while the thread is in a call that cannot be interrupted. */
  readonly cpuMs: () => Promise<number>;
  /** False while progress is not asked for: a recovery may take its time. */
  readonly isWatched: () => boolean;
  /** Called when the thread has been silent for SILENT_MS, and when it is heard again. */
  readonly onSilent: (isSilent: boolean) => void;
  /** Called once, when it is to be ended. */
  readonly onDead: () => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #silentTicks = 0;
  #stuckTicks = 0;
  #progress = 0;
  /** Processor time when it was first asked for since the last progress, and since then. */
  #cpuFromMs: number | undefined;
  #cpuMs = 0;
  /** Ticks since a question that is not answered. */
  #askedTicks: number | undefined;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#arm();
  }

  /** The thread gave a sign of life. */
  beat(): void {
    const wasSilent = this.#isSilent;
    this.#silentTicks = 0;
    this.#goesOn();
    if (wasSilent) this.#options.onSilent(false);
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel();
  }

  get #isSilent(): boolean {
    return this.#silentTicks * BEAT_MS >= SILENT_MS;
  }

  #arm(): void {
    this.#cancel = this.#options.clock.after(BEAT_MS, () => this.#tick());
  }

  #tick(): void {
    const { onSilent, progress, isWatched } = this.#options;
    const wasSilent = this.#isSilent;
    this.#silentTicks += 1;
    if (!wasSilent && this.#isSilent) onSilent(true);
    const count = progress();
    if (count !== this.#progress || !isWatched()) {
      this.#progress = count;
      this.#goesOn();
    } else {
      this.#stuckTicks += 1;
      this.#askCpu();
      this.#judge();
    }
    if (!this.#isOver) this.#arm();
  }

  #goesOn(): void {
    this.#stuckTicks = 0;
    this.#cpuFromMs = undefined;
    this.#cpuMs = 0;
    if (this.#askedTicks !== undefined) this.#askedTicks = 0;
  }

  #askCpu(): void {
    if (this.#askedTicks !== undefined) {
      this.#askedTicks += 1;
      return;
    }
    this.#askedTicks = 0;
    this.#options.cpuMs().then(
      (ms) => {
        this.#askedTicks = undefined;
        if (this.#stuckTicks === 0) return;
        this.#cpuFromMs ??= ms;
        this.#cpuMs = ms - this.#cpuFromMs;
        this.#judge();
      },
      // The thread has ended, or this system does not tell: every tick counts.
      () => {},
    );
  }

  /** Ticks without an answer count as processor time: a thread that only waits does answer. */
  #judge(): void {
    if (this.#isOver) return;
    const cpuMs = this.#cpuMs + (this.#askedTicks ?? 0) * BEAT_MS;
    if (cpuMs < DEAD_CPU_MS && this.#stuckTicks * BEAT_MS < DEAD_MS) return;
    this.stop();
    this.#options.onDead();
  }
}
