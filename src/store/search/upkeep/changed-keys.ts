/**
 * Keys in the order of their last change, each once. A Set would need two look-ups for a key that changes again, and would
 * pass the places of removed keys at its front for each key that is taken.
 *
 * (1) `#changes` has the place of the last change of each key in `#queue`.
 * (2) The queue has older changes of the same keys too, but at most `SLACK` more of them than three for each key, and
 *     hardly more than `BYTES_MAX` of them.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const SLACK = 2_048;
const BYTES_MAX = 1_048_576;

export class ChangedKeys {
  readonly #changes = new Map<Bytes, number>();
  #queue: Bytes[] = [];
  /** Changes before this place of the queue were taken. */
  #taken = 0;
  /** Of the keys that were added since the queue was shortened. */
  #addedBytes = 0;

  get size(): number {
    return this.#changes.size;
  }

  has(key: Bytes): boolean {
    return this.#changes.has(key);
  }

  /** Adds a key, or moves it to the end. */
  add(key: Bytes): void {
    const queue = this.#queue;
    this.#changes.set(key, queue.length);
    queue.push(key);
    this.#addedBytes += key.length;
    if (queue.length > 4 * this.#changes.size + SLACK || this.#addedBytes > BYTES_MAX) this.#shorten(); // keeps (2)
  }

  delete(key: Bytes): void {
    this.#changes.delete(key);
  }

  /** Removes the first key and returns it; undefined if there is none. */
  take(): Bytes | undefined {
    const changes = this.#changes;
    const queue = this.#queue;
    while (this.#taken < queue.length) {
      const at = this.#taken;
      const key = queue[at] as Bytes;
      queue[at] = "";
      this.#taken += 1;
      if (changes.get(key) !== at) continue;
      changes.delete(key);
      if (changes.size === 0) this.clear();
      return key;
    }
    return undefined;
  }

  clear(): void {
    this.#changes.clear();
    this.#queue = [];
    this.#taken = 0;
    this.#addedBytes = 0;
  }

  /** Drops all but the last change of each key, with new numbers. */
  #shorten(): void {
    const last = [...this.#changes].sort(([, one], [, other]) => one - other);
    this.clear();
    for (const [key] of last) {
      this.#changes.set(key, this.#queue.length);
      this.#queue.push(key);
    }
  }
}
