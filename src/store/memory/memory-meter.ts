/**
 * How much memory the values of a keyspace take together: a running total.
 *
 * Values change in place, and what a change makes of a value's size is known
 * to the value alone. So whoever is about to change one says so (`change`), and
 * the meter notes its size; the difference is added when the next value comes,
 * or when the total is asked for. A value that is changed again and again costs
 * one comparison each time.
 *
 * (1) `#totalBytes` is the sum of `valueBytesOf` of all values of the keyspace,
 *     in which `#changing` counts as `#changingBytes`.
 * (2) Every value that changes is `#changing` while it does.
 */
import type { Value } from "../values/table.ts";
import { valueBytesOf } from "../values/table.ts";

/** What can change in place. */
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

  /** A value has come to the keyspace; it may be changed at once. */
  add(value: Value): void {
    if (typeof value === "string") {
      this.#totalBytes += valueBytesOf(value);
      return;
    }
    this.#settle();
    this.#changing = value;
    this.#changingBytes = 0;
  }

  /** A value has left the keyspace. */
  remove(value: Value): void {
    if (value === this.#changing) {
      this.#totalBytes -= this.#changingBytes;
      this.#changing = undefined;
    } else {
      this.#totalBytes -= valueBytesOf(value);
    }
  }

  /** A value of the keyspace is about to be changed: keeps (2). */
  change(value: ChangingValue): void {
    if (value === this.#changing) return;
    this.#settle();
    this.#changing = value;
    this.#changingBytes = valueBytesOf(value);
  }

  /** All values have left. */
  clear(): void {
    this.#totalBytes = 0;
    this.#changing = undefined;
  }

  #settle(): void {
    if (this.#changing === undefined) return;
    const bytes = valueBytesOf(this.#changing); // keeps (1)
    this.#totalBytes += bytes - this.#changingBytes;
    this.#changingBytes = bytes;
  }
}
