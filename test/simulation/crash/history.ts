/**
 * The model that a recovered engine is compared with: the state after each unit
 * of work, and what clients were told.
 */

/** States by position, the first one at 0. A position inside a unit of work has no state. */
export class History<State> {
  readonly #states: (State | undefined)[];
  #end: number;

  constructor(states: readonly (State | undefined)[]) {
    this.#states = [...states];
    this.#end = states.length - 1;
  }

  /** The last position that has a state. */
  get end(): number {
    return this.#end;
  }

  stateAt(position: number): State | undefined {
    return this.#states[position];
  }

  /** The state of the engine after a unit of work. */
  note(position: number, state: State): void {
    this.#states[position] = state;
    this.#end = Math.max(this.#end, position);
  }

  /** Drops everything after a position, as a crash did: later units are unrelated to it. */
  upTo(position: number): History<State> {
    return new History(this.#states.slice(0, position + 1));
  }
}

interface Told {
  readonly position: number;
  readonly atMs: number;
}

/** The replies sent, by the position that each of them could have seen. */
export class Acknowledgements {
  /** Only replies that saw more than all earlier ones. */
  readonly #told: Told[] = [];

  note(position: number, atMs: number): void {
    if (position > this.position) this.#told.push({ position, atMs });
  }

  /** The highest position that a client was told of. */
  get position(): number {
    return this.#told.at(-1)?.position ?? 0;
  }

  /** The highest position that a client was told of at `atMs` or before. */
  positionAt(atMs: number): number {
    return this.#told.findLast((told) => told.atMs <= atMs)?.position ?? 0;
  }

  /** When a client was first told of a position beyond this one; undefined if none was up to `nowMs`. */
  firstBeyond(position: number, nowMs: number): number | undefined {
    const first = this.#told.find((told) => told.position > position);
    return first === undefined || first.atMs > nowMs ? undefined : first.atMs;
  }
}
