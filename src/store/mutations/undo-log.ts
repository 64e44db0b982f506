/**
 * What undoes the running unit of work: the inverses of its changes, last one
 * first. A keyspace has a log only while a unit of more than one command runs
 * (a script, a transaction), so a single command pays one test of a field.
 *
 * (1) Each `apply…` function of `mutations/` pushes the inverse of a change
 *     before it makes the change. So when an inverse runs, the state is as it was
 *     just after its change.
 * (2) Inverses change tables and values only: they record, publish and notify
 *     nothing.
 * (3) A value that the unit has created, or saved as a whole, needs no further
 *     inverses: an earlier one removes or replaces it.
 * (4) The log is bounded: `isFull` is true once it takes more memory than it
 *     may. A value that was in the database before the unit counts only as far
 *     as the unit has put other data in its place.
 */

/** Memory of an inverse beside the old content that it holds: its places in the log, and a closure. */
export const INVERSE_BYTES = 160;
/** Memory of a value in the set of those that need no inverses. */
const OWNED_BYTES = 64;
/** The places of longer logs are given back after the unit. */
const KEPT_COUNT_MAX = 1_024;
const NO_SLOT = -1;

/** An inverse without variables of its own: the log has its arguments. */
type SharedInverse<Target, Old> = (target: Target, slot: number, old: Old, stamp: number) => void;

/** The log, as far as state beside keys needs it. */
export type ClosureLog = Pick<UndoLog<never, never>, "push" | "own" | "owns">;

/** `Target`: what the inverses change. `Old`: what they put back. One log serves one unit after the other. */
export class UndoLog<Target, Old> {
  readonly #target: Target;
  readonly #usedBytes: () => number;
  #bytesMax = 0;
  #usedAtStart = 0;
  // Four places for each inverse: a closure for rare changes, a shared function and its arguments for frequent ones.
  #inverses: (SharedInverse<Target, Old> | (() => void) | undefined)[] = [];
  #slots: number[] = [];
  #olds: (Old | undefined)[] = [];
  #stamps: number[] = [];
  #count = 0;
  #bytes = 0;
  #owned: Set<object> | undefined;
  /** The last value that was found in the set: most units change one value many times. */
  #lastOwned: object | undefined;
  /** The slot whose replacement is the last inverse. */
  #lastReplaced = NO_SLOT;

  /** `usedBytes`: the memory that the database takes now. */
  constructor(target: Target, usedBytes: () => number) {
    this.#target = target;
    this.#usedBytes = usedBytes;
  }

  /** Begins a unit, which may take this much memory to undo. */
  begin(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#usedAtStart = this.#usedBytes();
  }

  /** Forgets everything. */
  end(): void {
    if (this.#count > KEPT_COUNT_MAX) {
      this.#inverses = [];
      this.#slots = [];
      this.#olds = [];
      this.#stamps = [];
    } else {
      for (let at = 0; at < this.#count; at += 1) {
        this.#inverses[at] = undefined;
        this.#olds[at] = undefined;
      }
    }
    this.#count = 0;
    this.#bytes = 0;
    this.#owned = undefined;
    this.#lastOwned = undefined;
    this.#lastReplaced = NO_SLOT;
  }

  /** True once the log takes more memory than it may: (4). */
  get isFull(): boolean {
    return this.#bytes > this.#bytesMax && this.#bytes - (this.#usedAtStart - this.#usedBytes()) > this.#bytesMax;
  }

  /** Adds an inverse. `bytes`: the memory of the old content that it holds. */
  push(bytes: number, inverse: () => void): void {
    this.#inverses[this.#count] = inverse;
    this.#slots[this.#count] = NO_SLOT;
    this.#olds[this.#count] = undefined;
    this.#stamps[this.#count] = 0;
    this.#count += 1;
    this.#bytes += bytes + INVERSE_BYTES;
    this.#lastReplaced = NO_SLOT;
  }

  /** As `push`, when the value in a slot is replaced. */
  pushReplacement(
    inverse: SharedInverse<Target, Old>,
    slot: number,
    replaced: { readonly old: Old; readonly stamp: number; readonly bytes: number },
  ): void {
    this.#inverses[this.#count] = inverse;
    this.#slots[this.#count] = slot;
    this.#olds[this.#count] = replaced.old;
    this.#stamps[this.#count] = replaced.stamp;
    this.#count += 1;
    this.#bytes += replaced.bytes + INVERSE_BYTES;
    this.#lastReplaced = slot;
  }

  /** As `push`, for an inverse that needs no arguments but the target. */
  pushShared(inverse: (target: Target) => void): void {
    this.#inverses[this.#count] = inverse;
    this.#slots[this.#count] = NO_SLOT;
    this.#olds[this.#count] = undefined;
    this.#stamps[this.#count] = 0;
    this.#count += 1;
    this.#bytes += INVERSE_BYTES;
    this.#lastReplaced = NO_SLOT;
  }

  /** True if the last inverse already restores the value in this slot: counters change the same key many times. */
  restoresLast(slot: number): boolean {
    return this.#lastReplaced === slot;
  }

  /** Marks a value that needs no further inverses: (3). */
  own(value: object): void {
    this.#owned ??= new Set();
    this.#owned.add(value);
    this.#lastOwned = value;
    this.#bytes += OWNED_BYTES;
  }

  /** Reverses `own`, for a value that only moved. */
  disown(value: object): void {
    this.#owned?.delete(value);
    this.#lastOwned = undefined;
  }

  owns(value: object): boolean {
    if (this.#lastOwned === value) return true;
    if (this.#owned?.has(value) !== true) return false;
    this.#lastOwned = value;
    return true;
  }

  /** Undoes all changes. */
  undo(): void {
    for (let at = this.#count - 1; at >= 0; at -= 1)
      this.#inverses[at]?.(this.#target, this.#slots[at] as number, this.#olds[at] as Old, this.#stamps[at] as number);
  }
}
