/**
 * Many keys in order, without a long pause: they are sorted in short runs while
 * they are collected, and the runs are merged while they are taken.
 *
 * The order is that of ranks, and of bytes for equal ranks. A key without a rank
 * comes after all that have one.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

/** A sort of so many takes about a millisecond. */
const RUN_LENGTH_MAX = 2_000;

interface Ranked {
  readonly rank: number;
  readonly key: Bytes;
}

interface Run {
  readonly keys: readonly Ranked[];
  at: number;
}

export class SortedKeys {
  readonly #rankOf: (key: Bytes) => number | undefined;
  #open: Ranked[] = [];
  /** A binary heap by the next key of each run. */
  readonly #heap: Run[] = [];
  #count = 0;

  constructor(rankOf: (key: Bytes) => number | undefined) {
    this.#rankOf = rankOf;
  }

  /** Keys that were added and not taken. */
  get count(): number {
    return this.#count;
  }

  add(key: Bytes): void {
    this.#open.push({ rank: this.#rankOf(key) ?? Number.POSITIVE_INFINITY, key });
    this.#count += 1;
    if (this.#open.length === RUN_LENGTH_MAX) this.#closeRun();
  }

  /** The next key, or undefined after the last. No key may be added afterwards. */
  take(): Bytes | undefined {
    if (this.#open.length > 0) this.#closeRun();
    const heap = this.#heap;
    const run = heap[0];
    if (run === undefined) return undefined;
    const { key } = run.keys[run.at] as Ranked;
    run.at += 1;
    this.#count -= 1;
    if (run.at === run.keys.length) {
      const last = heap.pop() as Run;
      if (heap.length === 0) return key;
      heap[0] = last;
    }
    this.#sink();
    return key;
  }

  #closeRun(): void {
    const heap = this.#heap;
    const run = { keys: this.#open.sort(compare), at: 0 };
    this.#open = [];
    let hole = heap.push(run) - 1;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (compareRuns(heap[parent] as Run, run) <= 0) break;
      heap[hole] = heap[parent] as Run;
      hole = parent;
    }
    heap[hole] = run;
  }

  /** Moves the first run down to its place. */
  #sink(): void {
    const heap = this.#heap;
    const run = heap[0] as Run;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && compareRuns(heap[child + 1] as Run, heap[child] as Run) < 0) child += 1;
      if (compareRuns(heap[child] as Run, run) >= 0) break;
      heap[hole] = heap[child] as Run;
      hole = child;
    }
    heap[hole] = run;
  }
}

function compareRuns(one: Run, other: Run): number {
  return compare(one.keys[one.at] as Ranked, other.keys[other.at] as Ranked);
}

function compare(one: Ranked, other: Ranked): number {
  if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
  return one.key < other.key ? -1 : one.key > other.key ? 1 : 0;
}
