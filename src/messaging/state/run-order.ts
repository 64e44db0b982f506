/**
 * The runs of a user in the order of their start, so that the cost of a page
 * depends on its length only, in both directions and from any start time.
 *
 * (1) Order is by start time, then by number, which grows with each new run. A
 *     clock that was set back puts runs among older ones.
 * (2) No block is empty, and none has more than BLOCK_RUNS_MAX runs.
 */

const BLOCK_RUNS_MAX = 256;

export class RunOrder<Run extends NumberedRun> {
  readonly #blocks: Run[][] = [];
  #numberMax = 0;

  /** Gives the run its number. */
  add(run: Run): void {
    this.#numberMax += 1;
    run.number = this.#numberMax;
    const at = Math.max(0, this.#blockOf(run));
    const block = this.#blocks[at];
    if (block === undefined) this.#blocks.push([run]);
    else if (block.length < BLOCK_RUNS_MAX) block.splice(countBefore(block, run), 0, run);
    else this.#addToFull(at, block, run);
  }

  delete(run: Run): void {
    const at = this.#blockOf(run);
    const block = this.#blocks[at];
    const index = block === undefined ? -1 : countBefore(block, run);
    if (block?.[index] !== run) return;
    block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1); // keeps (2)
  }

  /** Earliest first, from a start time. Runs that are added or removed meanwhile may be missed. */
  *earliestFirst(fromMs = 0): Generator<Run> {
    const from = { record: { createdAtMs: fromMs }, number: 0 };
    let index = Math.max(0, this.#blockOf(from));
    let offset = countBefore(this.#blocks[index] ?? [], from);
    for (; index < this.#blocks.length; index += 1) {
      const block = this.#blocks[index] ?? [];
      for (; offset < block.length; offset += 1) yield block[offset] as Run;
      offset = 0;
    }
  }

  /** Latest first, before this place. Runs that are added or removed meanwhile may be missed. */
  *latestFirst(before: RunPlace = END): Generator<Run> {
    let index = this.#blockOf(before);
    let offset = countBefore(this.#blocks[index] ?? [], before);
    while (index >= 0) {
      const block = this.#blocks[index] ?? [];
      for (offset -= 1; offset >= 0; offset -= 1) yield block[offset] as Run;
      index -= 1;
      offset = this.#blocks[index]?.length ?? 0;
    }
  }

  /** Index of the last block that begins at or before this place; -1 if none does. */
  #blockOf(place: RunPlace): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const first = this.#blocks[middle]?.[0];
      if (first !== undefined && isBefore(place, first)) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  #addToFull(at: number, block: Run[], run: Run): void {
    const index = countBefore(block, run);
    // A run after all others begins a new block, so that blocks fill up when runs come in order.
    if (index === block.length) {
      this.#blocks.splice(at + 1, 0, [run]);
      return;
    }
    const upper = block.splice(BLOCK_RUNS_MAX / 2);
    this.#blocks.splice(at + 1, 0, upper);
    if (index <= block.length) block.splice(index, 0, run);
    else upper.splice(index - block.length, 0, run);
  }
}

/** A place among runs: before a run of the same start time whose number is not smaller. */
export interface RunPlace {
  readonly record: { readonly createdAtMs: number };
  readonly number: number;
}

/** The fields of a run that determine its place. */
interface NumberedRun extends RunPlace {
  number: number;
}

const END: RunPlace = { record: { createdAtMs: Number.POSITIVE_INFINITY }, number: 0 };

/** keeps (1) */
export function isBefore(one: RunPlace, other: RunPlace): boolean {
  const { createdAtMs } = one.record;
  return createdAtMs === other.record.createdAtMs ? one.number < other.number : createdAtMs < other.record.createdAtMs;
}

/** How many runs of a block are before this place. */
function countBefore(block: readonly RunPlace[], place: RunPlace): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const run = block[middle];
    if (run !== undefined && isBefore(run, place)) low = middle + 1;
    else high = middle;
  }
  return low;
}
