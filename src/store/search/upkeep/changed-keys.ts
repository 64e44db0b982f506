/**
 * Keys in the order of their last change, each once, with an estimate of the work that each one is. The table is one of ours,
 * since the command that changes a key has just computed its hash for another one: a Set of V8 would hash the key, and look
 * it up twice if it changes again.
 *
 * (1) `#changes` has the place of the last change of each key in `#queue`; places of older changes, and of keys that were
 *     taken, are empty.
 * (2) The queue has at most `SLACK` more empty places than three for each key.
 * (3) `steps` is the sum of `#steps`, which has the estimate of each place, and 0 for an empty one: the most that the key
 *     was worth before and after its changes. Keys are added before they change; those from `#weighed` on may be worth more.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { Dictionary } from "../../structures/dictionary.ts";

const SLACK = 2_048;

export class ChangedKeys {
  readonly #changes: Dictionary<number>;
  #queue: (Bytes | undefined)[] = [];
  #steps: number[] = [];
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
    let steps: number;
    if (slot < 0) {
      changes.insert(key, at);
      steps = stepsBefore(key);
      this.steps += steps; // keeps (3)
    } else {
      const before = changes.valueAt(slot);
      steps = this.#steps[before] as number;
      this.#steps[before] = 0;
      this.#queue[before] = undefined; // keeps (1)
      changes.setValueAt(slot, at);
    }
    this.#queue.push(key);
    this.#steps.push(steps);
    if (at >= 4 * changes.size + SLACK) this.#shorten(); // keeps (2)
  }

  /** Estimates the keys that were added since the last call. */
  weigh(stepsOf: (key: Bytes) => number): void {
    const queue = this.#queue;
    for (let at = this.#weighed; at < queue.length; at += 1) {
      const key = queue[at];
      if (key === undefined) continue;
      const before = this.#steps[at] as number;
      const steps = stepsOf(key);
      if (steps <= before) continue;
      this.#steps[at] = steps;
      this.steps += steps - before; // keeps (3)
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
    let key: Bytes | undefined;
    for (; key === undefined; this.#taken += 1) key = this.#queue[this.#taken];
    this.#remove(this.#changes.find(key));
    return key;
  }

  clear(): void {
    this.#changes.clear();
    this.#emptyQueue();
  }

  #remove(slot: number): void {
    const changes = this.#changes;
    const at = changes.valueAt(slot);
    this.steps -= this.#steps[at] as number; // keeps (3)
    this.#steps[at] = 0;
    this.#queue[at] = undefined; // keeps (1)
    changes.removeAt(slot);
    if (changes.size === 0) this.#emptyQueue();
  }

  #emptyQueue(): void {
    this.#queue = [];
    this.#steps = [];
    this.#taken = this.#weighed = this.steps = 0;
  }

  /** Drops the empty places. */
  #shorten(): void {
    const queue = this.#queue;
    const steps = this.#steps;
    let end = 0;
    let weighed = 0;
    for (let at = this.#taken; at < queue.length; at += 1) {
      const key = queue[at];
      if (key === undefined) continue;
      queue[end] = key;
      steps[end] = steps[at] as number;
      this.#changes.setValueAt(this.#changes.find(key), end);
      end += 1;
      if (at < this.#weighed) weighed = end;
    }
    queue.length = steps.length = end;
    this.#taken = 0;
    this.#weighed = weighed;
  }
}
