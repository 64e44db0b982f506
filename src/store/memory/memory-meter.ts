/**
 * The memory of all values of a keyspace: a running total.
 *
 * Values change in place, and only the value knows its size after a change. So
 * code that is about to change a value calls `change`, and the meter notes its
 * size; the difference is added when the next value changes, or when the total
 * is read. Repeated changes of the same value cost one comparison each.
 *
 * (1) `#totalBytes` is the sum of `valueBytesOf` of all values of the keyspace,
 *     in which `#changing` counts as `#changingBytes`.
 * (2) Every value whose memory changes is `#changing` while it does.
 */
import type { Value } from "../values/table.ts";
import { valueBytesOf } from "../values/table.ts";

/** Values that can change in place. */
export type ChangingValue = Exclude<Value, string>;

export class MemoryMeter {
  #totalBytes = 0;
  #changing: ChangingValue | undefined;
  #changingBytes = 0;

  /** Of all values, in bytes. */
  get totalBytes(): number {
    this.#settle();
    return this.#totalBytes;
  }

  /** Adds a value to the keyspace; it may be changed at once. */
  add(value: Value): void {
    if (typeof value === "string") {
      this.#totalBytes += valueBytesOf(value);
      return;
    }
    this.#settle();
    this.#changing = value;
    this.#changingBytes = 0;
  }

  /** Removes a value from the keyspace. */
  remove(value: Value): void {
    if (value === this.#changing) {
      this.#totalBytes -= this.#changingBytes;
      this.#changing = undefined;
    } else {
      this.#totalBytes -= valueBytesOf(value);
    }
  }

  /** Announces that a value of the keyspace may take more or less memory: keeps (2). */
  change(value: ChangingValue): void {
    if (value === this.#changing) return;
    this.#settle();
    this.#changing = value;
    this.#changingBytes = valueBytesOf(value);
  }

  /** Removes all values. */
  clear(): void {
    this.#totalBytes = 0;
    this.#changing = undefined;
  }

  /** Reverses `clear`: the keyspace has the values again whose memory this is. */
  restore(totalBytes: number): void {
    this.#totalBytes = totalBytes;
    this.#changing = undefined;
  }

  #settle(): void {
    if (this.#changing === undefined) return;
    const bytes = valueBytesOf(this.#changing); // keeps (1)
    this.#totalBytes += bytes - this.#changingBytes;
    this.#changingBytes = bytes;
  }
}
