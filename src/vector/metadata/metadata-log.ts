/**
 * Which records' metadata changed, in order. Whatever is derived from metadata
 * (columns, results of filters) holds the position up to which it has followed,
 * and does the rest when it is asked next.
 *
 *     start ≤ position of a follower ≤ end
 *
 * Nobody is known here: a follower whose position lies before `start` was away
 * for too long and begins anew. That is also how everything is told to forget.
 */

/** A record that changed twice stands here twice. The follower sees its present state both times. */
export class MetadataLog {
  /** Its length is a power of two, or 0 while nothing is kept. Position p is at p modulo the length. */
  #records = new Uint32Array(0);
  #start = 0;
  #end = 0;

  /** The first position that is still known. */
  get start(): number {
    return this.#start;
  }

  /** Behind the last change. Only ever grows. */
  get end(): number {
    return this.#end;
  }

  /** The record that changed at a position from `start` to before `end`. */
  at(position: number): number {
    return this.#records[position & (this.#records.length - 1)] as number;
  }

  /** From now on changes are kept. Before, no follower has a position. */
  keep(): void {
    if (this.#records.length === 0) this.#records = new Uint32Array(LENGTH_MIN);
  }

  /** Notes a change. Keeps at least as many as there are records: to begin anew is then as quick as to follow. */
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

  /** Forgets all changes, and is not kept until somebody asks again: every follower begins anew. */
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
