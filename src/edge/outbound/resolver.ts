/**
 * Name look-ups for outgoing requests.
 *
 * The system's look-up blocks a thread of the pool that every fdatasync of every
 * area needs too, and cannot be cancelled. So slow look-ups must not take all
 * threads (threats S-16):
 *
 * (1) At most `LOOKUPS_MAX` run at a time, below the size of the pool. A slot is
 *     free when the system has answered, not when the caller stops waiting.
 * (2) A caller that waits longer than `LOOKUP_MS_MAX`, for a slot or for the
 *     answer, gets an error; the look-up itself continues in its slot.
 * (3) Concurrent look-ups of one name are one look-up, and a name without waiting
 *     callers is not looked up.
 */
import type { Clock } from "../../kernel/clock.ts";

/** `bin/larder.cjs` sets the pool to sixteen threads. */
export const LOOKUPS_MAX = 6;
export const LOOKUP_MS_MAX = 5_000;

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name: `dns.promises.lookup` with `{ all: true }`. Rejects if the name has no address. */
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
  /** Running and waiting look-ups, by name. */
  readonly #pending = new Map<string, Pending>();
  /** Look-ups that wait for a slot, in order. */
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
