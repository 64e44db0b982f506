/**
 * Keys in the order of their last change, each once, with an estimate of the work that each one is. The table is one of ours,
 * since the command that changes a key has just computed its hash for another one: a Set of V8 would hash the key, and look
 * it up twice if it changes again.
 *
 * (1) A place of `#queue` is that of the last change of its key if the key is in `#changes` and names the place. Other
 *     places are passed over; there are at most `SLACK` more of them than three for each key.
 * (2) `steps` is the sum of the estimates: the most that each key was worth before and after its changes. Keys are added
 *     before they change; those from `#weighed` on may be worth more.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { Dictionary } from "../../structures/dictionary.ts";

const SLACK = 2_048;
/** The place of a key that was taken or deleted. */
const NO_PLACE = -1;

interface Change {
  readonly key: Bytes;
  /** In the queue. */
  at: number;
  steps: number;
}

export class ChangedKeys {
  readonly #changes: Dictionary<Change>;
  #queue: Change[] = [];
  /** Places before it were taken. */
  #taken = 0;
  #weighed = 0;
  steps = 0;

  /** @param hashSeed that of the keyspace */
  constructor(hashSeed: Uint8Array) {
    this.#changes = new Dictionary(hashSeed);
  }

  get size(): number {
    return this.#changes.size;
  }

  /** False if keys were added since the last call of `weigh`. */
  get isWeighed(): boolean {
    return this.#weighed === this.#queue.length;
  }

  has(key: Bytes): boolean {
    return this.#changes.has(key);
  }

  /** Adds a key, or moves it to the end. `stepsBefore` is called if the key is new: the work to remove what it had. */
  add(key: Bytes, stepsBefore: (key: Bytes) => number): void {
    const changes = this.#changes;
    const at = this.#queue.length;
    const slot = changes.find(key);
    let change: Change;
    if (slot < 0) {
      change = { key, at, steps: stepsBefore(key) };
      changes.insert(key, change);
      this.steps += change.steps; // keeps (2)
    } else {
      change = changes.valueAt(slot);
      change.at = at;
    }
    this.#queue.push(change);
    if (at >= 4 * changes.size + SLACK) this.#shorten(); // keeps (1)
  }

  /** Estimates the keys that were added since the last call. */
  weigh(stepsOf: (key: Bytes) => number): void {
    const queue = this.#queue;
    for (let at = this.#weighed; at < queue.length; at += 1) {
      const change = queue[at] as Change;
      if (change.at !== at) continue;
      const steps = stepsOf(change.key);
      if (steps <= change.steps) continue;
      this.steps += steps - change.steps; // keeps (2)
      change.steps = steps;
    }
    this.#weighed = queue.length;
  }

  delete(key: Bytes): void {
    const slot = this.#changes.find(key);
    if (slot >= 0) this.#remove(slot);
  }

  /** Removes the first key and returns it, or undefined. */
  take(): Bytes | undefined {
    if (this.#changes.size === 0) return undefined;
    const queue = this.#queue;
    while ((queue[this.#taken] as Change).at !== this.#taken) this.#taken += 1;
    const { key } = queue[this.#taken] as Change;
    this.#taken += 1;
    this.#remove(this.#changes.find(key));
    return key;
  }

  clear(): void {
    this.#changes.clear();
    this.#emptyQueue();
  }

  #remove(slot: number): void {
    const changes = this.#changes;
    const change = changes.valueAt(slot);
    change.at = NO_PLACE;
    this.steps -= change.steps; // keeps (2)
    changes.removeAt(slot);
    if (changes.size === 0) this.#emptyQueue();
  }

  #emptyQueue(): void {
    this.#queue = [];
    this.#taken = this.#weighed = this.steps = 0;
  }

  /** Drops the places that are passed over. */
  #shorten(): void {
    const queue = this.#queue;
    let end = 0;
    let weighed = 0;
    for (let at = this.#taken; at < queue.length; at += 1) {
      const change = queue[at] as Change;
      if (change.at !== at) continue;
      change.at = end;
      queue[end] = change;
      end += 1;
      if (at < this.#weighed) weighed = end;
    }
    queue.length = end;
    this.#taken = 0;
    this.#weighed = weighed;
  }
}
