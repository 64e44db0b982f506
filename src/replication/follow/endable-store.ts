/**
 * The store as one attempt of a follower reads it. When the attempt ends, all of its
 * calls reject at once, also those that wait for a store that does not answer: so
 * nothing of it writes to the directory any more.
 */
import type { ListedObject, ObjectStore } from "../objects/object-store.ts";

/** The attempt was ended. */
export class AttemptEnded extends Error {
  override name = "AttemptEnded";
}

export class EndableStore implements ObjectStore {
  readonly #store: ObjectStore;
  readonly #ended = Promise.withResolvers<never>();
  #isEnded = false;

  constructor(store: ObjectStore) {
    this.#store = store;
    this.#ended.promise.catch(() => undefined); // Nobody may be waiting.
  }

  end(): void {
    this.#isEnded = true;
    this.#ended.reject(new AttemptEnded("The attempt was ended"));
  }

  get(name: string, range: { readonly start: number; readonly end: number }): Promise<Buffer | undefined> {
    return this.#unlessEnded(() => this.#store.get(name, range));
  }

  list(prefix: string, after?: string): Promise<readonly ListedObject[]> {
    return this.#unlessEnded(() => this.#store.list(prefix, after));
  }

  putNew(): Promise<never> {
    return Promise.reject(new Error("A follower only reads the copy"));
  }

  remove(): Promise<never> {
    return Promise.reject(new Error("A follower only reads the copy"));
  }

  /** The store stays open for other attempts. */
  close(): Promise<void> {
    this.end();
    return Promise.resolve();
  }

  #unlessEnded<Result>(call: () => Promise<Result>): Promise<Result> {
    return this.#isEnded ? this.#ended.promise : Promise.race([call(), this.#ended.promise]);
  }
}
