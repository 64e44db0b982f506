/**
 * Who wants to know that a key changes: what watches it for a transaction. Who
 * waits for a key to hold something is not asked at each change (waiters.ts).
 *
 * (1) A key is in the table as long as somebody observes it, and the keyspace is
 *     told to report changes as long as there is such a key.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Keyspace } from "../keyspace.ts";

export interface KeyObserver {
  /** The key is about to change, within the running unit of work. Must not change anything but itself. */
  keyChanges(key: Bytes): void;
}

export class KeyObservers {
  readonly #keyspace: Keyspace;
  readonly #byKey = new Map<Bytes, Set<KeyObserver>>();

  constructor(keyspace: Keyspace) {
    this.#keyspace = keyspace;
  }

  add(key: Bytes, observer: KeyObserver): void {
    const observers = this.#byKey.get(key);
    if (observers === undefined) this.#byKey.set(key, new Set([observer]));
    else observers.add(observer);
    this.#keyspace.onChange = this.#notify; // keeps (1)
  }

  remove(key: Bytes, observer: KeyObserver): void {
    const observers = this.#byKey.get(key);
    if (observers?.delete(observer) === true && observers.size === 0) this.#byKey.delete(key);
    if (this.#byKey.size === 0) this.#keyspace.onChange = undefined;
  }

  /** Of one key, or of every key that exists: `undefined`. */
  readonly #notify = (key: Bytes | undefined): void => {
    if (key !== undefined) {
      for (const observer of this.#byKey.get(key) ?? []) observer.keyChanges(key);
      return;
    }
    for (const [each, observers] of this.#byKey)
      if (this.#keyspace.entries.has(each)) for (const observer of observers) observer.keyChanges(each);
  };
}
