/**
 * Name look-ups for outgoing requests.
 *
 * The system's look-up blocks a thread of the pool that every fdatasync of
 * every area needs too, and it cannot be cancelled. So the slow ones must not
 * take all threads (threats S-16):
 *
 * (1) At most `LOOKUPS_MAX` run at a time, below the size of the pool. A slot
 *     is free when the system has answered, not when we stop waiting.
 * (2) Who waits longer than `LOOKUP_MS_MAX`, for a slot or for the answer, is
 *     refused; the look-up itself goes on in its slot.
 * (3) Look-ups of one name at one time are one look-up, and a name that nobody
 *     waits for any more is not looked up.
 */
import type { Clock } from "../../kernel/clock.ts";

/** Of the sixteen threads that `bin/larder.cjs` gives the pool. */
export const LOOKUPS_MAX = 6;
export const LOOKUP_MS_MAX = 5_000;

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name: `dns.promises.lookup` with `{ all: true }`. Rejects when there are none. */
export type Lookup = (name: string) => Promise<readonly Address[]>;

export class LookupTimeout extends Error {
  override name = "LookupTimeout";

  constructor(host: string) {
    super(`The name ${host} was not resolved within ${LOOKUP_MS_MAX / 1_000} s`);
  }
}

interface Pending {
  readonly name: string;
  readonly waiters: Set<PromiseWithResolvers<readonly Address[]>>;
}

export class Resolver {
  readonly #lookup: Lookup;
  readonly #clock: Clock;
  /** By name, those that run and those that wait for a slot. */
  readonly #pending = new Map<string, Pending>();
  /** Those that wait for a slot, in the order they came. */
  readonly #queue = new Set<Pending>();
  #runningCount = 0;

  constructor(options: { lookup: Lookup; clock: Clock }) {
    this.#lookup = options.lookup;
    this.#clock = options.clock;
  }

  /** The addresses of a name. Rejects with a `LookupTimeout` or the system's error. */
  resolve(name: string): Promise<readonly Address[]> {
    let pending = this.#pending.get(name);
    if (pending === undefined) {
      pending = { name, waiters: new Set() };
      this.#pending.set(name, pending);
      this.#queue.add(pending);
    }
    const waiter = this.#wait(pending);
    this.#startSome();
    return waiter.promise;
  }

  /** keeps (2) */
  #wait(pending: Pending): PromiseWithResolvers<readonly Address[]> {
    const waiter = Promise.withResolvers<readonly Address[]>();
    const cancel = this.#clock.after(LOOKUP_MS_MAX, () => {
      pending.waiters.delete(waiter);
      // keeps (3)
      if (pending.waiters.size === 0 && this.#queue.delete(pending)) this.#pending.delete(pending.name);
      waiter.reject(new LookupTimeout(pending.name));
    });
    pending.waiters.add(waiter);
    waiter.promise.then(cancel, cancel);
    return waiter;
  }

  /** keeps (1) */
  #startSome(): void {
    for (const pending of this.#queue) {
      if (this.#runningCount === LOOKUPS_MAX) return;
      this.#queue.delete(pending);
      this.#runningCount += 1;
      this.#lookup(pending.name).then(
        (addresses) => this.#finish(pending, (waiter) => waiter.resolve(addresses)),
        (failure: unknown) => this.#finish(pending, (waiter) => waiter.reject(failure)),
      );
    }
  }

  #finish(pending: Pending, settle: (waiter: PromiseWithResolvers<readonly Address[]>) => void): void {
    this.#runningCount -= 1;
    this.#pending.delete(pending.name);
    for (const waiter of pending.waiters) settle(waiter);
    this.#startSome();
  }
}
