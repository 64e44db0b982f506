/**
 * A clock that stands still until it is advanced: for tests, for the simulation,
 * and for `clock.advance(ms)` of the development server.
 *
 * Tasks run in order of their due time, ties in the order of their creation, each
 * at its own due time, so a task that a task creates within the advanced period
 * runs too.
 */
import type { Clock } from "./clock.ts";

interface Task {
  /** By `nowMs`, or by `monotonicMs`. */
  readonly dueMs: number;
  readonly isOfWall: boolean;
  readonly number: number;
  readonly run: () => void;
}

export class VirtualClock implements Clock {
  /** Tests do not use the machine's clock. */
  readonly real: Clock = this;
  #nowMs: number;
  #elapsedMs = 0;
  #count = 0;
  /** Few tasks are ever waiting, so a plain array that is scanned is enough. */
  #tasks: Task[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** Only computing lets time pass. */
  threadCpuMs(): number {
    return this.monotonicMs();
  }

  at(atMs: number, task: () => void): () => void {
    return this.#add({ dueMs: atMs, isOfWall: true, number: this.#count++, run: task });
  }

  after(delayMs: number, task: () => void): () => void {
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    return this.#add({ dueMs, isOfWall: false, number: this.#count++, run: task });
  }

  housekeep(delayMs: number, task: () => void): () => void {
    return this.after(delayMs, task);
  }

  #add(entry: Task): () => void {
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  }

  /** Moves time forward by `ms` and runs every task that falls due, without waiting for promises. */
  advance(ms: number): void {
    const endMs = this.#elapsedMs + ms;
    for (let task = this.#takeDue(endMs); task !== undefined; task = this.#takeDue(endMs)) {
      this.#moveTo(Math.max(this.#elapsedMs, this.#dueMs(task)));
      task.run();
    }
    this.#moveTo(endMs);
  }

  /**
   * Like `advance`, but promises and loopback I/O callbacks of each task run before the next task. `settle` resolves
   * when they have run.
   */
  async advanceAsync(ms: number, settle: () => Promise<void> = twoTurns): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await settle();
    for (let task = this.#takeDue(endMs); task !== undefined; task = this.#takeDue(endMs)) {
      this.#moveTo(Math.max(this.#elapsedMs, this.#dueMs(task)));
      task.run();
      await settle();
    }
    this.#moveTo(endMs);
  }

  /** Steps the wall clock alone, as an operator or NTP would: `monotonicMs` does not move. */
  stepWallClock(ms: number): void {
    this.#nowMs += ms;
  }

  #moveTo(elapsedMs: number): void {
    this.#nowMs += elapsedMs - this.#elapsedMs;
    this.#elapsedMs = elapsedMs;
  }

  /** By `monotonicMs`, as far as is known: a step of the wall clock moves tasks that have a wall-clock time. */
  #dueMs({ dueMs, isOfWall }: Task): number {
    return isOfWall ? this.#elapsedMs + dueMs - this.#nowMs : dueMs;
  }

  #takeDue(endMs: number): Task | undefined {
    let first: Task | undefined;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const task of this.#tasks) {
      const dueMs = Math.max(this.#elapsedMs, this.#dueMs(task));
      if (dueMs > endMs || dueMs > firstMs || (dueMs === firstMs && task.number > (first?.number ?? 0))) continue;
      first = task;
      firstMs = dueMs;
    }
    if (first !== undefined) this.#tasks = this.#tasks.filter((other) => other !== first);
    return first;
  }
}

/** Two turns of the event loop: microtasks and `setImmediate` callbacks of a task have run. */
async function twoTurns(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
