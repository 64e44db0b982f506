/**
 * Keys in the order of their last change, each once. The table is one of ours, since the command that changes a key has just
 * computed its hash for another one: a Set of V8 would hash the key, and look it up twice if it changes again.
 *
 * (1) `#changes` has the place of the last change of each key in `#queue`.
 * (2) The queue has older changes of the same keys too, but at most `SLACK` more of them than three for each key, and
 *     hardly more than `BYTES_MAX` of them.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { Dictionary } from "../../structures/dictionary.ts";

const SLACK = 2_048;
const BYTES_MAX = 1_048_576;

export class ChangedKeys {
  readonly #changes: Dictionary<number>;
  #queue: Bytes[] = [];
  /** Changes before this place of the queue were taken. */
  #taken = 0;
  /** Of the keys that were added since the queue was shortened. */
  #addedBytes = 0;

  /** @param hashSeed that of the keyspace */
  constructor(hashSeed: Uint8Array) {
    this.#changes = new Dictionary(hashSeed);
  }

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

  /** Removes the first key and returns it, or undefined. */
  take(): Bytes | undefined {
    const changes = this.#changes;
    const queue = this.#queue;
    while (changes.size > 0) {
      const at = this.#taken;
      const key = queue[at] as Bytes;
      queue[at] = "";
      this.#taken += 1;
      const slot = changes.find(key);
      if (slot < 0 || changes.valueAt(slot) !== at) continue;
      changes.removeAt(slot);
      if (changes.size === 0) this.#emptyQueue();
      return key;
    }
    return undefined;
  }

  clear(): void {
    this.#changes.clear();
    this.#emptyQueue();
  }

  #emptyQueue(): void {
    this.#queue = [];
    this.#taken = 0;
    this.#addedBytes = 0;
  }

  /** Drops all but the last change of each key, which get new places. */
  #shorten(): void {
    const changes = this.#changes;
    const slots = Array.from({ length: changes.size }, (_, slot) => slot);
    slots.sort((one, other) => changes.valueAt(one) - changes.valueAt(other));
    this.#emptyQueue();
    for (const slot of slots) {
      changes.setValueAt(slot, this.#queue.length);
      this.#queue.push(changes.keyAt(slot));
    }
  }
}
