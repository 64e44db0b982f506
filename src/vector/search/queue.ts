/**
 * Searches run in the thread of the listener, so they may not hold it. In one
 * turn of the event loop all searches together get TURN_MS where they are asked
 * for, so that one that is done by then never waits. Another goes on in steps of
 * about a millisecond, each when its tenant has the thread (kernel/turns.ts), so
 * those of a tenant rotate and tenants share the time.
 *
 * A search under way holds memory, so only UNDER_WAY_MAX are, besides one for
 * each tenant that has none. The others have not begun, and the next to begin is
 * of the tenant that has the fewest under way.
 */
import type { Clock } from "../../kernel/clock.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { Eventually } from "../api.ts";

/** Work that is done in bounded steps. */
export interface SearchJob {
  /** Does about a millisecond of work; true when all is done. Not called again after that, or after it threw. */
  step(): boolean;
}

/** What all searches together may take of a turn; new requests are read in between. bench/vector.bench.ts */
const TURN_MS = 8;

/** Searches that are under way at the same time. */
const UNDER_WAY_MAX = 16;

/** The searches of a tenant. */
interface Searches {
  underWayCount: number;
  /** Those that have not begun. */
  readonly waiting: (() => void)[];
}

export class SearchQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Of tenants that have any. */
  readonly #searches = new Map<Tenant, Searches>();
  #underWayCount = 0;
  #waitingCount = 0;
  /** When this turn's time is used up; undefined: nobody has searched in this turn. */
  #turnEndMs: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Searches that were not done at once. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Runs a job, at once as far as this turn has time. Throws or rejects with what its step throws. */
  run(job: SearchJob, tenant: Tenant): Eventually<void> {
    this.#openTurn();
    // Those that wait go first, or a stream of short searches would keep a long one waiting for ever.
    const isFirst = this.#searches.get(tenant) === undefined;
    if (isFirst && this.#underWayCount < UNDER_WAY_MAX) {
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

  /** Returns undefined when the next search of a tenant may begin, and else when it may. */
  #begin(tenant: Tenant): Promise<void> | undefined {
    let searches = this.#searches.get(tenant);
    if (searches === undefined) {
      searches = { underWayCount: 0, waiting: [] };
      this.#searches.set(tenant, searches);
    }
    if (searches.underWayCount > 0 && this.#underWayCount >= UNDER_WAY_MAX) {
      const { waiting } = searches;
      return new Promise((resolve) => waiting.push(resolve));
    }
    this.#count(searches);
    return undefined;
  }

  #count(searches: Searches): void {
    searches.underWayCount += 1;
    this.#underWayCount += 1;
  }

  #end(tenant: Tenant): void {
    const ended = this.#searches.get(tenant);
    if (ended === undefined) return;
    ended.underWayCount -= 1;
    this.#underWayCount -= 1;
    if (ended.underWayCount === 0 && ended.waiting.length === 0) this.#searches.delete(tenant);
    if (this.#underWayCount >= UNDER_WAY_MAX) return;
    let next: Searches | undefined;
    for (const searches of this.#searches.values()) {
      if (searches.waiting.length === 0) continue;
      if (next === undefined || searches.underWayCount < next.underWayCount) next = searches;
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
