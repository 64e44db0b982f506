/**
 * Observers of changes of keys: transactions that watch them, the tracking of
 * keys that clients cache (tracking/), and search indexes (search/). Clients that wait for a key are not
 * called at each change (waiters.ts).
 *
 * (1) A key is in the table while it has an observer, and the keyspace reports
 *     changes while there is such a key, or an observer of all keys.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Keyspace } from "../keyspace.ts";

export interface KeyObserver {
  /** The key is about to change, within the running unit of work. Must change only the observer itself. */
  keyChanges(key: Bytes): void;
}

/** Called as `onChange` of a keyspace. */
export type ChangeObserver = (key: Bytes | undefined, isOwn?: boolean) => void;

export class KeyObservers {
  readonly #keyspace: Keyspace;
  readonly #byKey = new Map<Bytes, Set<KeyObserver>>();
  #ofAll: readonly ChangeObserver[] = [];

  constructor(keyspace: Keyspace) {
    this.#keyspace = keyspace;
  }

  add(key: Bytes, observer: KeyObserver): void {
    const observers = this.#byKey.get(key);
    if (observers === undefined) this.#byKey.set(key, new Set([observer]));
    else observers.add(observer);
    this.#register();
  }

  /** Adds an observer of all keys, unless it is one. */
  observeAll(observer: ChangeObserver): void {
    if (!this.#ofAll.includes(observer)) this.#ofAll = [...this.#ofAll, observer];
    this.#register();
  }

  /** Removes an observer of all keys. */
  leaveAll(observer: ChangeObserver): void {
    this.#ofAll = this.#ofAll.filter((each) => each !== observer);
    this.#register();
  }

  remove(key: Bytes, observer: KeyObserver): void {
    const observers = this.#byKey.get(key);
    if (observers?.delete(observer) === true && observers.size === 0) this.#byKey.delete(key);
    if (this.#byKey.size === 0) this.#register();
  }

  /** keeps (1) */
  #register(): void {
    const [only, ...others] = this.#ofAll;
    this.#keyspace.onChange = this.#byKey.size > 0 || others.length > 0 ? this.#notify : only;
  }

  /** One key, or `undefined` for all keys. */
  readonly #notify = (key: Bytes | undefined, isOwn?: boolean): void => {
    for (const observer of this.#ofAll) observer(key, isOwn);
    if (key !== undefined) {
      for (const observer of this.#byKey.get(key) ?? []) observer.keyChanges(key);
      return;
    }
    for (const [each, observers] of this.#byKey)
      if (this.#keyspace.entries.has(each)) for (const observer of observers) observer.keyChanges(each);
  };
}
