/**
 * Recently accepted messages by deduplication key (C.deduplication). An entry is
 * valid for the window after the acceptance, and is removed by a later call of
 * `forget`.
 *
 * Entries are added in the order of time, so expired ones are at the front; a
 * `Map` keeps that order.
 */

import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import { deduplicationBytes } from "./memory-sizes.ts";

export interface Accepted {
  readonly sequence: number;
  readonly nonce: number;
  readonly atMs: number;
}

export class Deduplication {
  readonly #windowMs: number;
  readonly #memory: MemoryAccount | undefined;
  readonly #byKey = new Map<string, Accepted>();

  constructor(windowMs: number, memory?: MemoryAccount) {
    this.#windowMs = windowMs;
    this.#memory = memory;
  }

  get size(): number {
    return this.#byKey.size;
  }

  find(key: string, nowMs: number): Accepted | undefined {
    const found = this.#byKey.get(key);
    if (found === undefined) return undefined;
    // An entry in the future, from a clock that was far ahead, suppresses nothing.
    const isNear = Math.abs(nowMs - found.atMs) < this.#windowMs;
    return isNear ? found : undefined;
  }

  /** Also removes entries that have expired at this time. */
  add(key: string, accepted: Accepted): void {
    this.forget(accepted.atMs);
    if (!this.#byKey.delete(key)) this.#memory?.add(deduplicationBytes(key));
    this.#byKey.set(key, accepted);
  }

  forget(nowMs: number): void {
    for (const [key, { atMs }] of this.#byKey) {
      if (nowMs < atMs + this.#windowMs) return;
      this.#byKey.delete(key);
      this.#memory?.add(-deduplicationBytes(key));
    }
  }

  entries(): IterableIterator<[key: string, accepted: Accepted]> {
    return this.#byKey.entries();
  }
}
