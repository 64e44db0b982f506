/**
 * A clock that stands still until it is told to move: for tests, for the
 * simulation, and for `clock.advance(ms)` of the development server.
 *
 * Tasks run in order of their due time, ties in the order they were asked for,
 * each at its own due time, so a task that asks for another within the span
 * that is being advanced sees it run too.
 */
import type { Clock } from "./clock.ts";

interface Task {
  dueMs: number;
  number: number;
  run: () => void;
}

export class VirtualClock implements Clock {
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

  at(atMs: number, task: () => void): () => void {
    return this.after(atMs - this.#nowMs, task);
  }

  after(delayMs: number, task: () => void): () => void {
    const entry: Task = { dueMs: this.#elapsedMs + Math.max(0, delayMs), number: this.#count++, run: task };
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  }

  /** Moves time forward by `ms` and runs every task that falls due, without waiting for promises. */
  advance(ms: number): void {
    const endMs = this.#elapsedMs + ms;
    for (let task = this.#takeDue(endMs); task !== undefined; task = this.#takeDue(endMs)) {
      this.#moveTo(Math.max(this.#elapsedMs, task.dueMs));
      task.run();
    }
    this.#moveTo(endMs);
  }

  /** As `advance`, but lets what each task started (promises, loopback I/O callbacks) go on before the next. */
  async advanceAsync(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await settle();
    for (let task = this.#takeDue(endMs); task !== undefined; task = this.#takeDue(endMs)) {
      this.#moveTo(Math.max(this.#elapsedMs, task.dueMs));
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

  #takeDue(endMs: number): Task | undefined {
    let first: Task | undefined;
    for (const task of this.#tasks) {
      if (task.dueMs > endMs) continue;
      if (first === undefined || task.dueMs < first.dueMs || (task.dueMs === first.dueMs && task.number < first.number))
        first = task;
    }
    if (first !== undefined) this.#tasks = this.#tasks.filter((other) => other !== first);
    return first;
  }
}

/** Two turns of the event loop: what a task put on the microtask queue or behind `setImmediate` has run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
