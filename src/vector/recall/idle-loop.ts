/**
 * Work in idle time, in portions. After each portion follows a pause, so that all
 * of them take at most a share of a core; while there is nothing to do, the loop
 * looks for work at intervals.
 */
import type { Clock } from "../../kernel/clock.ts";

/** The share of a core that the work of one loop may take. */
export const IDLE_BUDGET = 0.02;
/** The shortest pause after a portion. */
const PAUSE_MS_MIN = 20;

export interface IdleLoopOptions {
  readonly clock: Pick<Clock, "after">;
  /** How often the loop looks for work. */
  readonly lookMs: number;
  /** Looks for work and does a portion. Ends, now or later, with a call of `look`, `rest` or `later`. */
  tick(): void;
}

export class IdleLoop {
  readonly #options: IdleLoopOptions;
  #cancel: (() => void) | undefined;
  #isRunning = false;
  #usedMs = 0;

  constructor(options: IdleLoopOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The processor time of all portions, in milliseconds. */
  get usedMs(): number {
    return this.#usedMs;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.look();
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancel?.();
  }

  /** Adds the processor time of a portion. */
  use(ms: number): void {
    this.#usedMs += ms;
  }

  /** Goes on after a pause, so long that a portion of this duration takes the share `budget` of a core. */
  rest(ms: number, budget = IDLE_BUDGET): void {
    this.later(Math.max(PAUSE_MS_MIN, ms * (1 / budget - 1)));
  }

  /** Goes on when the next look is due. */
  look(): void {
    this.later(this.#options.lookMs);
  }

  /** Goes on after a time, unless the loop was stopped. */
  later(delayMs: number): void {
    if (this.#isRunning) this.#cancel = this.#options.clock.after(delayMs, () => this.#options.tick());
  }
}

/** The items in turn: those after the last one first. If none is the last one, they stay in their order. */
export function inTurn<Item>(items: readonly Item[], isLast: (item: Item) => boolean): readonly Item[] {
  const start = items.findIndex(isLast) + 1;
  return [...items.slice(start), ...items.slice(0, start)];
}
