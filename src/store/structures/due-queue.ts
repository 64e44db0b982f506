/**
 * Due times: a binary heap of (time, name), earliest first, and equal times in
 * the order of the names, so that the order does not depend on the history.
 *
 * A name whose time changes is pushed again and its old entry stays; the owner
 * knows the current time of each name and skips stale entries. `rebuild` bounds
 * them, so that memory stays within twice the live names.
 */
import type { Bytes } from "../../kernel/bytes.ts";

export class DueQueue {
  #moments: number[] = [];
  #names: Bytes[] = [];

  get length(): number {
    return this.#moments.length;
  }

  /** The earliest time, or Infinity. */
  get firstMs(): number {
    return this.#moments[0] ?? Number.POSITIVE_INFINITY;
  }

  /** The name of the entry at `firstMs`. */
  get firstName(): Bytes | undefined {
    return this.#names[0];
  }

  push(ms: number, name: Bytes): void {
    let hole = this.#moments.length;
    this.#moments.push(ms);
    this.#names.push(name);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!this.#isAfter(parent, ms, name)) break;
      this.#move(parent, hole);
      hole = parent;
    }
    this.#moments[hole] = ms;
    this.#names[hole] = name;
  }

  /** Removes the earliest entry. */
  pop(): void {
    const ms = this.#moments.pop();
    const name = this.#names.pop();
    if (ms === undefined || name === undefined || this.#moments.length === 0) return;
    const count = this.#moments.length;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= count) break;
      const next = child + 1;
      if (next < count && this.#isAfter(child, this.#moments[next] as number, this.#names[next] as Bytes)) child = next;
      if (this.#isAfter(child, ms, name)) break;
      this.#move(child, hole);
      hole = child;
    }
    this.#moments[hole] = ms;
    this.#names[hole] = name;
  }

  /** Replaces all entries. */
  rebuild(entries: Iterable<readonly [Bytes, number]>): void {
    this.#moments = [];
    this.#names = [];
    for (const [name, ms] of entries) this.push(ms, name);
  }

  /** Whether the entry at an index comes after this one. */
  #isAfter(index: number, ms: number, name: Bytes): boolean {
    const other = this.#moments[index] as number;
    return other > ms || (other === ms && (this.#names[index] as Bytes) > name);
  }

  #move(from: number, to: number): void {
    this.#moments[to] = this.#moments[from] as number;
    this.#names[to] = this.#names[from] as Bytes;
  }
}
