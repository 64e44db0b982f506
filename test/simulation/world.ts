/**
 * The world of a simulated life, the same for every engine: a disk, a clock and
 * a random source, which move only when the life moves them.
 *
 * (1) What happens in a life, and in which order, follows from its seed.
 * (2) The next `settle` throws the first fault of any part. Later faults may be
 *     consequences of the first one and are dropped.
 * (3) Work of one kind is under way at most once.
 */
import type { Random } from "../../src/kernel/random.ts";
import { nextTurn } from "../../src/kernel/turn.ts";
import type { SimulatedDisk } from "./disk/simulated-disk.ts";

/** After this many rounds without an end, something waits permanently. */
const ROUND_COUNT_MAX = 20_000;

export interface WorldOptions {
  readonly disk: SimulatedDisk;
  readonly random: Random;
  /** Lets the disk do one operation, and may do more. The default does only that. */
  readonly step?: () => void;
  /** Lets a little time pass while the life waits. */
  readonly wait: () => void;
  /** Checks what must hold whenever nothing can progress. */
  readonly settled?: () => void;
  /** How the life ends if nothing that it waits for comes. */
  readonly violation: new (
    text: string,
  ) => Error;
}

export class SimulatedWorld {
  readonly disk: SimulatedDisk;
  readonly random: Random;
  readonly #step: () => void;
  readonly #wait: () => void;
  readonly #settled: () => void;
  readonly #violation: new (
    text: string,
  ) => Error;
  readonly #busy = new Set<string>();
  #fault: unknown;

  constructor({ disk, random, step, wait, settled, violation }: WorldOptions) {
    this.disk = disk;
    this.random = random;
    this.#step = step ?? (() => disk.step(random));
    this.#wait = wait;
    this.#settled = settled ?? (() => {});
    this.#violation = violation;
  }

  /** Lets the disk do one operation. */
  step(): void {
    this.#step();
  }

  /** Lets every part continue that can, and throws the first fault. keeps (2) */
  async settle(): Promise<void> {
    // A journal looks at its queue once a turn, and may be notified in the turn before.
    await nextTurn();
    await nextTurn();
    if (this.#fault !== undefined) throw this.#fault;
    this.#settled();
  }

  /** Moves disk and time until `isDone`. */
  async until(what: string, isDone: () => boolean): Promise<void> {
    for (let round = 0; !isDone(); round += 1) {
      if (round === ROUND_COUNT_MAX) throw new this.#violation(`${what} never came`);
      if (this.disk.underwayCount > 0 && this.random.below(8) > 0) this.#step();
      else this.#wait();
      await this.settle();
    }
  }

  /** Moves disk and time until a promise is settled, and returns its value. */
  async drive<Value>(work: Promise<Value>): Promise<Value> {
    let isDone = false;
    work.then(() => {
      isDone = true;
    }, this.fail);
    await this.until("an answer", () => isDone);
    return await work;
  }

  /** Starts work that takes time. `isExpected` says which failures are not faults. keeps (3) */
  begin(kind: string, work: () => Promise<unknown>, isExpected: (fault: unknown) => boolean): void {
    if (this.#busy.has(kind)) return;
    this.#busy.add(kind);
    work()
      .catch((fault: unknown) => {
        if (!isExpected(fault)) this.fail(fault);
      })
      .finally(() => this.#busy.delete(kind));
  }

  /** Whether work of one of these kinds, or of any kind if none is named, is under way. */
  isBusy(...kinds: readonly string[]): boolean {
    return kinds.length === 0 ? this.#busy.size > 0 : kinds.some((kind) => this.#busy.has(kind));
  }

  /** Turns an exception into a fault of the life. */
  guard(work: () => void): void {
    try {
      work();
    } catch (fault) {
      this.fail(fault);
    }
  }

  readonly fail = (fault: unknown): void => {
    this.#fault ??= fault;
  };
}
