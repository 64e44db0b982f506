/**
 * The records whose metadata changed, in order. Data derived from metadata
 * (columns, results of filters) has the position up to which it has followed, and
 * follows the rest when it is next used.
 *
 *     start ≤ position of a follower ≤ end
 *
 * The log does not know its followers: one whose position is before `start` has
 * missed changes and starts over. A reset of all followers works the same way.
 */

/** A record that changed twice is in the log twice. The follower sees its current state both times. */
export class MetadataLog {
  /** Its length is a power of two, or 0 while nothing is stored. Position p is at p modulo the length. */
  #records = new Uint32Array(0);
  #start = 0;
  #end = 0;

  /** The memory outside the heap. */
  get byteCount(): number {
    return this.#records.byteLength;
  }

  /** The first position that is still stored. */
  get start(): number {
    return this.#start;
  }

  /** The position after the last change. It only grows. */
  get end(): number {
    return this.#end;
  }

  /** The record that changed at a position from `start` to before `end`. */
  at(position: number): number {
    return this.#records[position & (this.#records.length - 1)] as number;
  }

  /** Starts to store changes. Before that, no follower has a position. */
  keep(): void {
    if (this.#records.length === 0) this.#records = new Uint32Array(LENGTH_MIN);
  }

  /** Notes a change. Stores at least as many as there are records: with more, starting over is as fast as following. */
  append(record: number, recordCount: number): void {
    const { length } = this.#records;
    if (length === 0) {
      this.#end += 1;
      this.#start = this.#end;
      return;
    }
    if (this.#end - this.#start === length) {
      if (length < recordCount) this.#grow();
      else this.#start += 1;
    }
    this.#records[this.#end & (this.#records.length - 1)] = record;
    this.#end += 1;
  }

  /** Drops all changes and stores none until the next follower, so that every follower starts over. */
  forget(): void {
    this.#records = new Uint32Array(0);
    this.#end += 1;
    this.#start = this.#end;
  }

  #grow(): void {
    const grown = new Uint32Array(2 * this.#records.length);
    for (let position = this.#start; position < this.#end; position += 1)
      grown[position & (grown.length - 1)] = this.at(position);
    this.#records = grown;
  }
}

const LENGTH_MIN = 1_024;
