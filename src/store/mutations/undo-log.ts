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
const FIRST_CAPACITY = 16;

/** In place of a slot: the inverse is a closure, or takes back the last insertion. */
const CLOSURE = -1;
const INSERTION = -2;
const NO_SLOT = -1;

/** The two inverses that are so frequent that they are no closures. */
export interface SharedInverses<Old> {
  /** Takes back the last insertion into the table. */
  removeLast(): void;
  /** Puts the old value and its stamp back into a slot. */
  putBack(slot: number, old: Old, stamp: number): void;
}

/** The log, as far as state beside keys needs it. */
export type ClosureLog = Pick<UndoLog<never>, "push" | "own" | "owns">;

/** `Old`: the values that inverses put back. One log serves one unit after the other. */
export class UndoLog<Old> {
  readonly #shared: SharedInverses<Old>;
  readonly #usedBytes: () => number;
  #bytesMax = 0;
  #usedAtStart = 0;
  // Three places for each inverse: the slot and stamp of a replacement, and the old value or the closure.
  #slots = new Int32Array(FIRST_CAPACITY);
  #stamps = new Uint32Array(FIRST_CAPACITY);
  #contents: (Old | (() => void) | undefined)[] = [];
  #count = 0;
  #bytes = 0;
  #owned: Set<object> | undefined;
  /** The last value that was found in the set: most units change one value many times. */
  #lastOwned: object | undefined;
  /** The slot whose replacement is the last inverse. */
  #lastReplaced = NO_SLOT;

  /** `usedBytes`: the memory that the database takes now. */
  constructor(shared: SharedInverses<Old>, usedBytes: () => number) {
    this.#shared = shared;
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
      this.#slots = new Int32Array(FIRST_CAPACITY);
      this.#stamps = new Uint32Array(FIRST_CAPACITY);
      this.#contents = [];
    } else {
      for (let at = 0; at < this.#count; at += 1) this.#contents[at] = undefined;
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
    this.#contents[this.#next(CLOSURE)] = inverse;
    this.#bytes += bytes;
    this.#lastReplaced = NO_SLOT;
  }

  /** As `push`, when the value in a slot is replaced. */
  pushReplacement(bytes: number, slot: number, stamp: number, old: Old): void {
    const at = this.#next(slot);
    this.#stamps[at] = stamp;
    this.#contents[at] = old;
    this.#bytes += bytes;
    this.#lastReplaced = slot;
  }

  /** As `push`, when a value is inserted. */
  pushInsertion(): void {
    this.#next(INSERTION);
    this.#lastReplaced = NO_SLOT;
  }

  /** Takes the next places. */
  #next(slot: number): number {
    const at = this.#count;
    if (at === this.#slots.length) this.#grow();
    this.#slots[at] = slot;
    this.#count = at + 1;
    this.#bytes += INVERSE_BYTES;
    return at;
  }

  #grow(): void {
    const capacity = 2 * this.#slots.length;
    const slots = new Int32Array(capacity);
    const stamps = new Uint32Array(capacity);
    slots.set(this.#slots);
    stamps.set(this.#stamps);
    this.#slots = slots;
    this.#stamps = stamps;
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
    for (let at = this.#count - 1; at >= 0; at -= 1) {
      const slot = this.#slots[at] as number;
      const content = this.#contents[at];
      if (slot >= 0) this.#shared.putBack(slot, content as Old, this.#stamps[at] as number);
      else if (slot === INSERTION) this.#shared.removeLast();
      else (content as () => void)();
    }
  }
}
