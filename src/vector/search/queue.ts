/**
 * Searches run in the thread of the listener, so they must not block it. In one
 * turn of the event loop, all searches together run for TURN_MS when they are
 * called, so a search that ends by then never waits. Longer searches continue in
 * steps of about a millisecond, each when its tenant has the thread
 * (kernel/turns.ts), so the searches of a tenant rotate and tenants share the
 * time.
 *
 * A running search holds memory, so at most RUNNING_MAX run, in addition to one
 * for each tenant that has none. The others have not begun; the next to begin is
 * of the tenant with the fewest running searches.
 */
import type { Clock } from "../../kernel/clock.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { Eventually } from "../api.ts";

/** Work in bounded steps. */
export interface SearchJob {
  /** Does about a millisecond of work. Returns true when done; it is not called after that, or after it threw. */
  step(): boolean;
}

/** The time of all searches in a turn; new requests are read in between. bench/vector.bench.ts */
const TURN_MS = 8;

/** The most searches that run at the same time. */
const RUNNING_MAX = 16;

/** The searches of a tenant. */
interface Searches {
  runningCount: number;
  /** Searches that have not begun. */
  readonly waiting: (() => void)[];
}

export class SearchQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By tenant, if it has any. */
  readonly #searches = new Map<Tenant, Searches>();
  #runningCount = 0;
  #waitingCount = 0;
  /** When this turn's time is used up; undefined if there was no search in this turn. */
  #turnEndMs: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The number of searches that wait or run in later turns. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Runs a job, at once while this turn has time. Throws or rejects with the error of its step. */
  run(job: SearchJob, tenant: Tenant): Eventually<void> {
    this.#openTurn();
    // Waiting searches go first, or a stream of short searches would block a long one forever.
    const isFirst = this.#searches.get(tenant) === undefined;
    if (isFirst && this.#runningCount < RUNNING_MAX) {
      while (this.#hasTime()) if (job.step()) return undefined;
    }
    return this.#runLater(job, tenant);
  }

  async #runLater(job: SearchJob, tenant: Tenant): Promise<void> {
    this.#waitingCount += 1;
    try {
      await this.#begin(tenant);
      do await tenant.next();
      while (!job.step());
    } finally {
      this.#waitingCount -= 1;
      this.#end(tenant);
    }
  }

  /** Returns undefined if the next search of a tenant may begin, otherwise a promise that resolves when it may. */
  #begin(tenant: Tenant): Promise<void> | undefined {
    let searches = this.#searches.get(tenant);
    if (searches === undefined) {
      searches = { runningCount: 0, waiting: [] };
      this.#searches.set(tenant, searches);
    }
    if (searches.runningCount > 0 && this.#runningCount >= RUNNING_MAX) {
      const { waiting } = searches;
      return new Promise((resolve) => waiting.push(resolve));
    }
    this.#count(searches);
    return undefined;
  }

  #count(searches: Searches): void {
    searches.runningCount += 1;
    this.#runningCount += 1;
  }

  #end(tenant: Tenant): void {
    const ended = this.#searches.get(tenant);
    if (ended === undefined) return;
    ended.runningCount -= 1;
    this.#runningCount -= 1;
    if (ended.runningCount === 0 && ended.waiting.length === 0) this.#searches.delete(tenant);
    if (this.#runningCount >= RUNNING_MAX) return;
    let next: Searches | undefined;
    for (const searches of this.#searches.values()) {
      if (searches.waiting.length === 0) continue;
      if (next === undefined || searches.runningCount < next.runningCount) next = searches;
    }
    const begin = next?.waiting.shift();
    if (next === undefined || begin === undefined) return;
    this.#count(next);
    begin();
  }

  #hasTime(): boolean {
    return this.#clock.monotonicMs() < (this.#turnEndMs ?? 0);
  }

  #openTurn(): void {
    if (this.#turnEndMs !== undefined) return;
    this.#turnEndMs = this.#clock.monotonicMs() + TURN_MS;
    void nextTurn().then(() => {
      this.#turnEndMs = undefined;
    });
  }
}
