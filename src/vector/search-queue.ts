/**
 * Whose turn it is to search. Searches run in the thread of the listener, so
 * they may not hold it: in one turn of the event loop all searches together get
 * TURN_MS, each in steps of about a millisecond, one step after the other in
 * rotation. A search that is done within its first turn never waits. A search
 * under way holds memory, so only a few are in the rotation, and the others have
 * not begun.
 */
import type { Clock } from "../kernel/clock.ts";
import { nextTurn } from "../kernel/turn.ts";
import type { Eventually } from "./door.ts";

/** Work that is done in bounded steps. */
export interface SearchJob {
  /** Does about a millisecond of work; true when all is done. Not called again after that, or after it threw. */
  step(): boolean;
}

/** What all searches together may take of a turn; new requests are read in between. bench/vector.bench.ts */
const TURN_MS = 8;

/** Searches that are under way at the same time. */
const ROTATION_MAX = 16;

interface Waiting {
  readonly job: SearchJob;
  readonly resolve: () => void;
  readonly reject: (fault: unknown) => void;
}

export class SearchQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Under way, the next to step first. */
  #rotation: Waiting[] = [];
  /** Not begun. */
  #waiting: Waiting[] = [];
  /** When this turn's time is used up; undefined: nobody has searched in this turn. */
  #turnEndMs: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get waitingCount(): number {
    return this.#rotation.length + this.#waiting.length;
  }

  /** Runs a job, at once as far as this turn has time. Throws or rejects with what its step throws. */
  run(job: SearchJob): Eventually<void> {
    this.#openTurn();
    // Those that wait go first, or a stream of short searches would keep a long one waiting for ever.
    if (this.waitingCount === 0) {
      while (this.#hasTime()) if (job.step()) return undefined;
    }
    return new Promise((resolve, reject) => {
      (this.#rotation.length < ROTATION_MAX ? this.#rotation : this.#waiting).push({ job, resolve, reject });
    });
  }

  #hasTime(): boolean {
    return this.#clock.monotonicMs() < (this.#turnEndMs ?? 0);
  }

  #openTurn(): void {
    if (this.#turnEndMs !== undefined) return;
    this.#turnEndMs = this.#clock.monotonicMs() + TURN_MS;
    void nextTurn().then(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#turnEndMs = undefined;
    if (this.#rotation.length === 0) return;
    this.#openTurn();
    do this.#stepFirst();
    while (this.#rotation.length > 0 && this.#hasTime());
  }

  #stepFirst(): void {
    const first = this.#rotation.shift();
    if (first === undefined) return;
    try {
      if (!first.job.step()) {
        this.#rotation.push(first);
        return;
      }
      first.resolve();
    } catch (fault) {
      first.reject(fault);
    }
    const next = this.#waiting.shift();
    if (next !== undefined) this.#rotation.push(next);
  }
}
