/**
 * A clock that can be moved forward: `clock.advance(ms)` of the development
 * server. Between jumps it runs like the machine's clock, or stands still if it is
 * frozen.
 *
 * (1) A jump goes from task to task, in order of their due time, ties in the
 *     order of their creation. Each sees its own due time, or a later one if real
 *     time has passed meanwhile, so a task that a task creates within the jump
 *     runs in the same jump.
 * (2) Time never goes back.
 * (3) Before each task, and at the end, a jump waits in real time for work that is
 *     under way: calls that hold it, and watched work, such as a sync of a
 *     journal. It waits WAIT_MS_MAX for each call, once.
 * (4) Housekeeping runs by real time, and once more at the end of a jump.
 * (5) Both of its times are whole milliseconds, and so are jumps: sums of them are
 *     exact, and times have no fraction (clock.ts).
 */
import { assert } from "./assert.ts";
import { type Clock, systemClock } from "./clock.ts";
import { nextTurn } from "./turn.ts";

interface Task {
  /** Milliseconds until it is due; negative if it is late. */
  remainingMs(): number;
  run(): void;
}

interface Housekeeping {
  readonly run: () => void;
  readonly cancel: () => void;
}

/** Work that a jump waits for. */
interface Hold {
  /** Of the real clock. */
  readonly sinceMs: number;
  readonly released: PromiseWithResolvers<void>;
}

/** Watched work: undefined if none is under way, otherwise a promise of its end. */
export type Watched = () => Promise<unknown> | undefined;

/** How long a jump waits for one call, in real time. Shorter than the usual time-out of a test. */
export const WAIT_MS_MAX = 3_000;

/** The wall clock may step during a sleep, so it is read again at least this often. */
const SLEEP_MS_MAX = 1_000;

export class TravelClock implements Clock {
  readonly real: Clock;
  readonly #frozenAt: { readonly nowMs: number; readonly monotonicMs: number } | undefined;
  #jumpedMs = 0;
  /** In the order of their creation. Few tasks ever wait, so they are scanned. */
  #tasks: Task[] = [];
  readonly #housekeeping = new Set<Housekeeping>();
  readonly #holds = new Set<Hold>();
  readonly #watched: Watched[] = [];
  #disarm: () => void = () => {};
  #jumps: Promise<void> = Promise.resolve();
  #isJumping = false;

  constructor(real: Clock = systemClock, { isFrozen = false }: { readonly isFrozen?: boolean } = {}) {
    this.real = real;
    this.#frozenAt = isFrozen ? { nowMs: Math.floor(real.nowMs()), monotonicMs: 0 } : undefined;
  }

  nowMs(): number {
    return (this.#frozenAt?.nowMs ?? Math.floor(this.real.nowMs())) + this.#jumpedMs; // keeps (5)
  }

  monotonicMs(): number {
    return (this.#frozenAt?.monotonicMs ?? Math.floor(this.real.monotonicMs())) + this.#jumpedMs;
  }

  /** A jump does not count as work. */
  threadCpuMs(): number {
    return this.real.threadCpuMs();
  }

  at(atMs: number, task: () => void): () => void {
    return this.#add({ remainingMs: () => atMs - this.nowMs(), run: task });
  }

  after(delayMs: number, task: () => void): () => void {
    const dueMs = this.monotonicMs() + delayMs;
    return this.#add({ remainingMs: () => dueMs - this.monotonicMs(), run: task });
  }

  /** keeps (4) */
  housekeep(delayMs: number, task: () => void): () => void {
    const entry: Housekeeping = {
      run: () => {
        entry.cancel();
        task();
      },
      cancel: () => {
        cancel();
        this.#housekeeping.delete(entry);
      },
    };
    const cancel = this.real.after(delayMs, () => entry.run());
    this.#housekeeping.add(entry);
    return entry.cancel;
  }

  /** A jump waits (3) until the returned function is called. */
  hold(): () => void {
    const hold: Hold = { sinceMs: this.real.monotonicMs(), released: Promise.withResolvers() };
    this.#holds.add(hold);
    return () => {
      this.#holds.delete(hold);
      hold.released.resolve();
    };
  }

  /** A jump calls this between tasks, and waits for the returned promise (3). */
  watch(watched: Watched): void {
    this.#watched.push(watched);
  }

  /**
   * Moves time forward by `ms` and resolves when every task that fell due has run and its work is done, as far as a
   * jump waits for it (3). Overlapping jumps run one after the other.
   */
  advance(ms: number): Promise<void> {
    assert(Number.isFinite(ms) && ms >= 0, "a jump in time is a finite number of milliseconds, 0 or more"); // keeps (2)
    const jump = this.#jumps.then(() => this.#jump(Math.ceil(ms))); // keeps (5)
    // A task that throws ends its own jump.
    this.#jumps = jump.catch(() => {});
    return jump;
  }

  async #jump(ms: number): Promise<void> {
    this.#isJumping = true;
    this.#arm();
    try {
      await this.#travel(ms);
    } finally {
      this.#isJumping = false;
      this.#arm();
    }
  }

  async #travel(ms: number): Promise<void> {
    await this.#quiet();
    const endMs = this.monotonicMs() + ms;
    for (let task = this.#next(); task !== undefined; task = this.#next()) {
      const waitMs = Math.max(0, Math.ceil(task.remainingMs()));
      if (waitMs > 0 && waitMs > endMs - this.monotonicMs()) break;
      this.#jumpedMs += waitMs;
      this.#remove(task);
      task.run();
      await this.#quiet();
    }
    this.#jumpedMs += Math.max(0, endMs - this.monotonicMs());
    for (const { run } of [...this.#housekeeping]) run(); // keeps (4)
    await this.#quiet();
  }

  /** keeps (3) */
  async #quiet(): Promise<void> {
    const startMs = this.real.monotonicMs();
    for (;;) {
      // Microtasks and `setImmediate` callbacks of a task have run after two turns.
      await nextTurn();
      await nextTurn();
      const nowMs = this.real.monotonicMs();
      const underWay: Promise<unknown>[] = [];
      let untilMs = startMs + WAIT_MS_MAX;
      for (const hold of this.#holds) {
        const endMs = hold.sinceMs + WAIT_MS_MAX;
        if (endMs <= nowMs) this.#holds.delete(hold);
        else {
          untilMs = Math.min(untilMs, endMs);
          underWay.push(hold.released.promise);
        }
      }
      if (startMs + WAIT_MS_MAX > nowMs) {
        for (const watched of this.#watched) {
          const done = watched();
          if (done !== undefined) underWay.push(done);
        }
      }
      if (underWay.length === 0) return;
      const isLate = Promise.withResolvers<void>();
      const cancel = this.real.after(Math.max(1, Math.ceil(untilMs - nowMs)), isLate.resolve);
      await Promise.race([Promise.all(underWay), isLate.promise]);
      cancel();
    }
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

  /** The first due task: keeps (1). */
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

  /** Sleeps until the next task is due. A jump runs tasks itself; a frozen clock runs only tasks that are due now. */
  #arm(): void {
    this.#disarm();
    this.#disarm = () => {};
    const task = this.#isJumping ? undefined : this.#next();
    if (task === undefined) return;
    const remainingMs = task.remainingMs();
    if (this.#frozenAt !== undefined && remainingMs > 0) return;
    const delayMs = Math.min(SLEEP_MS_MAX, Math.max(0, Math.ceil(remainingMs)));
    this.#disarm = this.real.after(delayMs, () => this.#runDue());
  }

  #runDue(): void {
    const task = this.#next();
    if (task !== undefined && task.remainingMs() <= 0) {
      this.#remove(task);
      // The next task is armed first, so that a task that throws does not stop the clock.
      this.#arm();
      task.run();
    } else {
      this.#arm();
    }
  }
}
