/**
 * The time of a simulated cluster, and the clocks of its machines, which run at
 * rates of their own, step, and stand still.
 *
 * Timers of a clock are due by that clock. A process that is paused gets its due
 * timers and answers when it wakes, and reads the time of its waking.
 */
import type { Clock } from "../../../../src/kernel/clock.ts";

interface Event {
  readonly atMs: number;
  readonly number: number;
  readonly run: () => void;
}

export class SimulatedTime {
  nowMs = 0;
  #count = 0;
  readonly #events = new Set<Event>();

  after(delayMs: number, run: () => void): () => void {
    const event = { atMs: this.nowMs + Math.max(0, delayMs), number: this.#count++, run };
    this.#events.add(event);
    return () => this.#events.delete(event);
  }

  /** Goes to the next event and runs it. */
  runNext(): void {
    let next: Event | undefined;
    for (const event of this.#events) {
      if (next === undefined || event.atMs < next.atMs || (event.atMs === next.atMs && event.number < next.number))
        next = event;
    }
    if (next === undefined) throw new Error("Nothing will happen any more");
    this.#events.delete(next);
    this.nowMs = next.atMs;
    next.run();
  }
}

/** A clock that advances `rate` milliseconds in each millisecond since it was last set. */
class Hand {
  readonly #time: SimulatedTime;
  #setAtMs: number;
  #value: number;
  #rate: number;

  constructor(time: SimulatedTime, value: number, rate: number) {
    this.#time = time;
    this.#setAtMs = time.nowMs;
    this.#value = value;
    this.#rate = rate;
  }

  get value(): number {
    return this.#value + (this.#time.nowMs - this.#setAtMs) * this.#rate;
  }

  set({ value = this.value, rate = this.#rate }: { value?: number; rate?: number }): void {
    this.#value = value;
    this.#setAtMs = this.#time.nowMs;
    this.#rate = rate;
  }
}

/** While a clock stands still, its timers are looked at again after this time. */
const STANDSTILL_MS = 50;

export class MachineClock implements Clock {
  readonly real: Clock = this;
  readonly monotonic: Hand;
  readonly wall: Hand;
  readonly #time: SimulatedTime;
  readonly #rate: number;
  readonly #deliver: (task: () => void) => void;

  /** `deliver` runs a task when the process runs. */
  constructor(
    time: SimulatedTime,
    { rate, wallMs }: { rate: number; wallMs: number },
    deliver: (task: () => void) => void,
  ) {
    this.#time = time;
    this.#rate = rate;
    this.#deliver = deliver;
    this.monotonic = new Hand(time, 1_000, rate);
    this.wall = new Hand(time, wallMs, rate);
  }

  /** The rate of both hands when they run. */
  get rate(): number {
    return this.#rate;
  }

  nowMs(): number {
    return Math.floor(this.wall.value);
  }

  monotonicMs(): number {
    return this.monotonic.value;
  }

  threadCpuMs(): number {
    return this.monotonicMs();
  }

  at(atMs: number, task: () => void): () => void {
    return this.after(atMs - this.nowMs(), task);
  }

  after(delayMs: number, task: () => void): () => void {
    const dueMs = this.monotonicMs() + Math.max(0, delayMs);
    let isCancelled = false;
    let cancel = (): void => {};
    const wait = (): void => {
      const leftMs = dueMs - this.monotonicMs();
      cancel = this.#time.after(leftMs > 0 ? leftMs / this.#rate : 0, look);
    };
    const look = (): void => {
      if (dueMs - this.monotonicMs() > 1e-6) {
        cancel = this.#time.after(STANDSTILL_MS, look);
        return;
      }
      this.#deliver(() => {
        if (!isCancelled) task();
      });
    };
    wait();
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  housekeep(delayMs: number, task: () => void): () => void {
    return this.after(delayMs, task);
  }
}
