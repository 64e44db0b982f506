/**
 * Watches whether a thread still answers, and whether it makes progress. Time is
 * counted in ticks of a timer, not read from a clock: if the whole process was
 * stopped (SIGSTOP, a sleeping laptop), the ticks stopped too, and no thread is
 * ended for it.
 *
 * A thread that has not answered for SILENT_MS is not ready. It is ended if it
 * has made no progress while it used DEAD_CPU_MS of processor time: one endless
 * command. On a node of a cluster that is DEAD_CPU_MS_IN_CLUSTER, because another
 * node can serve meanwhile. A thread that answers, or finishes one unit of work after the other, is
 * never ended, however busy it is; nor is a thread that a busy machine does not
 * let run.
 */
import type { Clock } from "../../kernel/clock.ts";

/** The interval of heartbeats. */
export const BEAT_MS = 1_000;

/** Silence after which the server is not ready. */
export const SILENT_MS = 5_000;

/** Processor time without progress after which the thread is ended. */
export const DEAD_CPU_MS = 60_000;
export const DEAD_CPU_MS_IN_CLUSTER = 10_000;

/** Time without progress after which the thread is ended in any case: it waits for an event that never comes. */
export const DEAD_MS = 600_000;

export interface HeartbeatOptions {
  readonly clock: Clock;
  /** `DEAD_CPU_MS` or `DEAD_CPU_MS_IN_CLUSTER`. */
  readonly deadCpuMs: number;
  /** A number that changes with each unit of work. */
  readonly progress: () => number;
  /** Processor time of the thread in ms. May not resolve while the thread is in an uninterruptible call. */
  readonly cpuMs: () => Promise<number>;
  /** False while no progress is required: a recovery may take long. */
  readonly isWatched: () => boolean;
  /** Called when the thread has been silent for SILENT_MS, and when it sends heartbeats again. */
  readonly onSilent: (isSilent: boolean) => void;
  /** Called once, when the thread must be ended. */
  readonly onDead: () => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #silentTicks = 0;
  #stuckTicks = 0;
  #progress = 0;
  /** Processor time at the first reading since the last progress, and since then. */
  #cpuFromMs: number | undefined;
  #cpuMs = 0;
  /** Ticks since the pending reading. */
  #pendingTicks: number | undefined;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#arm();
  }

  /** The thread sent a heartbeat. */
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
    if (this.#pendingTicks !== undefined) this.#pendingTicks = 0;
  }

  #askCpu(): void {
    if (this.#pendingTicks !== undefined) {
      this.#pendingTicks += 1;
      return;
    }
    this.#pendingTicks = 0;
    this.#options.cpuMs().then(
      (ms) => {
        this.#pendingTicks = undefined;
        if (this.#stuckTicks === 0) return;
        this.#cpuFromMs ??= ms;
        this.#cpuMs = ms - this.#cpuFromMs;
        this.#judge();
      },
      // The thread has ended, or the system does not report it: every tick counts.
      () => {},
    );
  }

  /** Ticks without an answer count as processor time: a thread that only waits would answer. */
  #judge(): void {
    if (this.#isOver) return;
    const cpuMs = this.#cpuMs + (this.#pendingTicks ?? 0) * BEAT_MS;
    if (cpuMs < this.#options.deadCpuMs && this.#stuckTicks * BEAT_MS < DEAD_MS) return;
    this.stop();
    this.#options.onDead();
  }
}
