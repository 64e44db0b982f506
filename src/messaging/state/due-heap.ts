/**
 * A heap of (due time, sequence) pairs.
 *
 * The pairs are in two typed arrays: a million pairs take 16 MB, without an object per entry, and the garbage collector
 * never visits them. Each node has four children. With a million entries in random order a push takes 0.02 us and a pop
 * 0.28; with two children a push took 0.04 and a pop the same.
 *
 * (1) No child is before its parent. "Before" is the earlier due time, then the lower sequence, so entries that are due
 *     at the same time come out in order of acceptance.
 * (2) Values beyond `size` have no meaning.
 *
 * Removing an entry from the middle needs a search. So a caller that cancels many skips them when they come out, and calls
 * `retain` when too many entries are obsolete.
 */
import { assert } from "../../kernel/assert.ts";

const CHILDREN = 4;
/** The arrays never get smaller. */
const CAPACITY_MIN = 1_024;

export class DueHeap {
  #due = new Float64Array(CAPACITY_MIN);
  #sequence = new Float64Array(CAPACITY_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The due time of the first entry, or undefined if the heap is empty. */
  peekDueMs(): number | undefined {
    return this.#size === 0 ? undefined : this.#due[0];
  }

  /** The sequence of the first entry, or undefined if the heap is empty. */
  peekSequence(): number | undefined {
    return this.#size === 0 ? undefined : this.#sequence[0];
  }

  /** `dueMs` is any number but NaN, `sequence` a whole one below 2^53. */
  push(dueMs: number, sequence: number): void {
    assert(!Number.isNaN(dueMs), "a due time is a number");
    if (this.#size === this.#due.length) this.#resize(this.#size * 2);
    this.#size += 1;
    this.#siftUp(this.#size - 1, dueMs, sequence);
  }

  /** Removes the first entry and returns its sequence. The heap must not be empty. */
  pop(): number {
    assert(this.#size > 0, "pop needs an entry");
    const first = this.#sequence[0] as number;
    this.#size -= 1;
    const last = this.#size;
    if (last > 0) this.#siftDown(0, this.#due[last] as number, this.#sequence[last] as number);
    return first;
  }

  /** Removes the entry of this sequence, if there is one, by a search through all entries: 0.5 ms for a million. */
  remove(sequence: number): void {
    const at = this.#sequence.subarray(0, this.#size).indexOf(sequence);
    if (at < 0) return;
    this.#size -= 1;
    const last = this.#size;
    if (at === last) return;
    const dueMs = this.#due[last] as number;
    const moved = this.#sequence[last] as number;
    this.#siftDown(at, dueMs, moved);
    if (this.#sequence[at] === moved) this.#siftUp(at, dueMs, moved);
  }

  /** Removes the entries for which `isValid` returns false, in one pass, and releases memory if few are left. */
  retain(isValid: (sequence: number, dueMs: number) => boolean): void {
    const due = this.#due;
    const sequence = this.#sequence;
    let count = 0;
    for (let at = 0; at < this.#size; at += 1) {
      if (!isValid(sequence[at] as number, due[at] as number)) continue;
      due[count] = due[at] as number;
      sequence[count] = sequence[at] as number;
      count += 1;
    }
    this.#size = count;
    // From the last parent to the root: keeps (1) in time proportional to the remaining entries.
    for (let at = Math.floor((count - 2) / CHILDREN); at >= 0; at -= 1)
      this.#siftDown(at, due[at] as number, sequence[at] as number);
    if (due.length > CAPACITY_MIN && count < due.length / 4) this.#resize(Math.max(CAPACITY_MIN, count * 2));
  }

  /** Puts the pair at `at` or at an ancestor of it. */
  #siftUp(at: number, dueMs: number, sequence: number): void {
    const dues = this.#due;
    const sequences = this.#sequence;
    let hole = at;
    while (hole > 0) {
      const parent = (hole - 1) >>> 2;
      const parentDueMs = dues[parent] as number;
      if (parentDueMs < dueMs || (parentDueMs === dueMs && (sequences[parent] as number) <= sequence)) break;
      dues[hole] = parentDueMs;
      sequences[hole] = sequences[parent] as number;
      hole = parent;
    }
    dues[hole] = dueMs;
    sequences[hole] = sequence;
  }

  /** Puts the pair at `at` or at a descendant of it. */
  #siftDown(at: number, dueMs: number, sequence: number): void {
    const dues = this.#due;
    const sequences = this.#sequence;
    const size = this.#size;
    let hole = at;
    for (;;) {
      let child = hole * CHILDREN + 1;
      if (child >= size) break;
      const end = Math.min(child + CHILDREN, size);
      let least = child;
      let leastDueMs = dues[child] as number;
      for (child += 1; child < end; child += 1) {
        const childDueMs = dues[child] as number;
        if (childDueMs > leastDueMs) continue;
        if (childDueMs === leastDueMs && (sequences[child] as number) > (sequences[least] as number)) continue;
        least = child;
        leastDueMs = childDueMs;
      }
      if (leastDueMs > dueMs || (leastDueMs === dueMs && (sequences[least] as number) >= sequence)) break;
      dues[hole] = leastDueMs;
      sequences[hole] = sequences[least] as number;
      hole = least;
    }
    dues[hole] = dueMs;
    sequences[hole] = sequence;
  }

  #resize(capacity: number): void {
    const due = new Float64Array(capacity);
    const sequence = new Float64Array(capacity);
    due.set(this.#due.subarray(0, this.#size));
    sequence.set(this.#sequence.subarray(0, this.#size));
    this.#due = due;
    this.#sequence = sequence;
  }
}
