/**
 * The real clock, with jumps: `clock.advance(ms)` of the development server.
 *
 * Between jumps it runs as the system's clock does. A jump of `ms` moves both
 * the wall clock and the durations forward by `ms` for good, and runs every
 * task that falls due on the way.
 *
 * (1) Tasks run in order of their due time, ties in the order they were asked
 *     for, and each sees a clock that is not past its own due time by more
 *     than real time took. So a task that asks for another within the span of
 *     a jump sees it run in the same jump.
 * (2) Time never goes back.
 * (3) A task that asks for itself again within a second is housekeeping. In a
 *     long jump it runs some thousand times, the last time at the end, and not
 *     at each of its times: a month of sweeps would take minutes.
 */
import { assert } from "./assert.ts";
import { type Clock, systemClock } from "./clock.ts";
import { nextTurn } from "./turn.ts";

interface Task {
  /** Milliseconds until it is due; below zero when it is late. */
  remainingMs(): number;
  run(): void;
}

interface Jump {
  /** What it runs right now. */
  running: (() => void) | undefined;
  /** When it ends, in `monotonicMs`. */
  readonly endMs: number;
  /** How far apart housekeeping is run (3). */
  readonly strideMs: number;
}

/** Housekeeping (3): what repeats itself more often than this, and how often it runs in one jump. */
const HOUSEKEEPING_MS_MAX = 1_000;
const HOUSEKEEPING_RUNS_MAX = 5_000;

/** The wall clock may step while we sleep, so it is read again at least this often. */
const SLEEP_MS_MAX = 1_000;

export class TravelClock implements Clock {
  readonly #real: Clock;
  #jumpedMs = 0;
  /** In the order they were asked for. Few are ever waiting, so they are scanned. */
  #tasks: Task[] = [];
  #disarm: () => void = () => {};
  #jumps: Promise<void> = Promise.resolve();
  /** The one that is under way. */
  #jump: Jump | undefined;

  constructor(real: Clock = systemClock) {
    this.#real = real;
  }

  nowMs(): number {
    return this.#real.nowMs() + this.#jumpedMs;
  }

  monotonicMs(): number {
    return this.#real.monotonicMs() + this.#jumpedMs;
  }

  at(atMs: number, task: () => void): () => void {
    return this.#add({ remainingMs: () => atMs - this.nowMs(), run: task });
  }

  after(delayMs: number, task: () => void): () => void {
    const dueMs = this.monotonicMs() + this.#stretched(delayMs, task);
    return this.#add({ remainingMs: () => dueMs - this.monotonicMs(), run: task });
  }

  /**
   * Moves time forward by `ms` and resolves when every task that fell due has run and what it started at once
   * (promises, callbacks of the event loop) had a turn. Jumps that overlap run one behind the other.
   */
  advance(ms: number): Promise<void> {
    assert(Number.isFinite(ms) && ms >= 0, "a jump in time is a finite number of milliseconds, not below zero"); // keeps (2)
    this.#jumps = this.#jumps.then(() => this.#runJump(ms));
    return this.#jumps;
  }

  async #runJump(ms: number): Promise<void> {
    let leftMs = ms;
    const jump: Jump = {
      running: undefined,
      endMs: this.monotonicMs() + ms,
      strideMs: ms / HOUSEKEEPING_RUNS_MAX,
    };
    this.#jump = jump;
    await settle();
    for (;;) {
      const task = this.#next();
      if (task === undefined) break;
      const waitMs = Math.max(0, task.remainingMs());
      if (waitMs > leftMs) break;
      this.#jumpedMs += waitMs;
      leftMs -= waitMs;
      this.#remove(task);
      jump.running = task.run;
      task.run();
      jump.running = undefined;
      await settle();
    }
    this.#jump = undefined;
    this.#jumpedMs += leftMs;
    this.#arm();
  }

  /** keeps (3) */
  #stretched(delayMs: number, task: () => void): number {
    const jump = this.#jump;
    if (jump === undefined || jump.running !== task || delayMs >= HOUSEKEEPING_MS_MAX) return delayMs;
    const leftMs = jump.endMs - this.monotonicMs();
    return Math.max(delayMs, Math.min(jump.strideMs, leftMs));
  }

  #add(task: Task): () => void {
    this.#tasks.push(task);
    this.#arm();
    return () => {
      this.#remove(task);
      this.#arm();
    };
  }

  #remove(task: Task): void {
    this.#tasks = this.#tasks.filter((other) => other !== task);
  }

  /** The task that is due first: keeps (1). */
  #next(): Task | undefined {
    let first: Task | undefined;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const task of this.#tasks) {
      const remainingMs = task.remainingMs();
      if (remainingMs >= firstMs) continue;
      first = task;
      firstMs = remainingMs;
    }
    return first;
  }

  /** Sleeps until the next task is due. */
  #arm(): void {
    this.#disarm();
    const task = this.#next();
    if (task === undefined) {
      this.#disarm = () => {};
      return;
    }
    const delayMs = Math.min(SLEEP_MS_MAX, Math.max(0, Math.ceil(task.remainingMs())));
    this.#disarm = this.#real.after(delayMs, () => this.#runDue());
  }

  #runDue(): void {
    const task = this.#next();
    if (task !== undefined && task.remainingMs() <= 0) {
      this.#remove(task);
      // The next one is armed first, so that a task that throws does not stop the clock.
      this.#arm();
      task.run();
    } else {
      this.#arm();
    }
  }
}

/** What a task put on the microtask queue or behind `setImmediate` has run after two turns. */
async function settle(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
