/**
 * Type, expiry and size of the keys that are on the screen. Rows exist only while they are visible, so a row asks when it
 * appears; the rows that appear together share a pipeline.
 */
import { type Signal, signal } from "@preact/signals";
import type { Bytes } from "../values/bytes.ts";
import { bytesOf, isFailure, numberOf, run } from "../values/run.ts";

export interface KeyFacts {
  /** `none` if the key does not exist any more. */
  readonly type: string;
  /** Unix ms; absent: no expiry. */
  readonly expiresAtMs?: number;
  readonly bytes?: number;
}

/** How long a row waits for others. */
const WAIT_MS = 30;

export class KeyFactsLoader {
  readonly #database: string;
  readonly #facts = new Map<Bytes, Signal<KeyFacts | undefined>>();
  #wanted: Bytes[] = [];

  constructor(database: string) {
    this.#database = database;
  }

  /** Undefined until the answer is here. */
  of(key: Bytes): Signal<KeyFacts | undefined> {
    let facts = this.#facts.get(key);
    if (facts === undefined) {
      facts = signal(undefined);
      this.#facts.set(key, facts);
      if (this.#wanted.push(key) === 1) setTimeout(() => void this.#load(), WAIT_MS);
    }
    return facts;
  }

  async #load(): Promise<void> {
    const keys = this.#wanted;
    this.#wanted = [];
    const commands = keys.flatMap((key) => [
      ["TYPE", key],
      ["PEXPIRETIME", key],
      ["MEMORY", "USAGE", key],
    ]);
    try {
      const replies = await run(this.#database, commands);
      for (const [index, key] of keys.entries()) {
        const [type = null, expiry = null, bytes = null] = replies.slice(index * 3, index * 3 + 3);
        const facts = this.#facts.get(key);
        if (facts === undefined) continue;
        facts.value = {
          type: isFailure(type) ? "?" : bytesOf(type),
          ...(typeof expiry === "number" && expiry > 0 && { expiresAtMs: expiry }),
          ...(bytes !== null && !isFailure(bytes) && { bytes: numberOf(bytes) }),
        };
      }
    } catch {
      // The rows stay without facts: the list shows the failure when it asks for its next page.
      for (const key of keys) this.#facts.delete(key);
    }
  }
}
