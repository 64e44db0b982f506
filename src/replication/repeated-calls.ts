/**
 * Calls of the store of a copy that are repeated until they succeed, and what is
 * known of its failures. A copier waits for the store and falls behind; it never
 * gives up an object, because each is part of a chain. Its store does not repeat
 * calls itself (`patienceMs: 0` of `openObjectStore`).
 */
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { type ObjectContent, type ObjectStore, ObjectStoreFailure } from "./objects/object-store.ts";
import { ThrottledFailure } from "./objects/retrying.ts";

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;
/** The longest pause that a store may ask for. */
const ASKED_MS_MAX = 3 * 60_000;

/** The copying has ended while something waited for the store. */
export class CopyEnded extends Error {
  override name = "CopyEnded";
}

export interface StoreFault {
  readonly atMs: number;
  readonly text: string;
}

export class RepeatedCalls {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waiting = new Set<() => void>();
  readonly #ended = Promise.withResolvers<never>();
  #isEnded = false;
  #fault: StoreFault | undefined;

  constructor({ store, clock, log }: { store: ObjectStore; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#ended.promise.catch(() => undefined); // Nobody may be waiting.
  }

  /** Why the last call failed; undefined if it succeeded. */
  get fault(): StoreFault | undefined {
    return this.#fault;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Rejects all waiting and later calls with `CopyEnded`. A call under way may still reach the store. */
  end(): void {
    this.#isEnded = true;
    this.#ended.reject(new CopyEnded("The copying has ended"));
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when the object is there: its name says its contents, so it does not matter who has stored it. */
  async put(name: string, content: ObjectContent): Promise<void> {
    await this.repeat(() => this.#store.putNew(name, content));
  }

  /** The result of a call of the store, repeated while the store fails. Rejects with other errors, and with `CopyEnded`. */
  async repeat<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let waitMs = RETRY_MS_MIN; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
      if (this.#isEnded) throw new CopyEnded("The copying has ended");
      let askedMs = 0;
      try {
        const result = await Promise.race([call(), this.#ended.promise]);
        if (this.#fault !== undefined) this.#log.info("the store of the copy answers again");
        this.#fault = undefined;
        return result;
      } catch (error) {
        if (!(error instanceof ObjectStoreFailure)) throw error;
        if (this.#fault === undefined) this.#log.warn("cannot copy to the store", { reason: error.message });
        this.#fault = { atMs: this.#clock.nowMs(), text: error.message };
        if (error instanceof ThrottledFailure) askedMs = Math.min(error.retryAfterMs, ASKED_MS_MAX);
      }
      await this.#pause(Math.max(waitMs, askedMs));
    }
  }

  #pause(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancel();
        this.#waiting.delete(goOn);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, goOn);
      this.#waiting.add(goOn);
      if (this.#isEnded) goOn();
    });
  }
}
