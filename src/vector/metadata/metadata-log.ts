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
  /** A power of two. Position p is at p modulo the length. */
  #records = new Uint32Array(LENGTH_MIN);
  #start = 0;
  #end = 0;
  #isKept = false;

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
    this.#isKept = true;
  }

  /** Notes a change. Keeps at least as many as there are records: to begin anew is then as quick as to follow. */
  append(record: number, recordCount: number): void {
    if (this.#isKept) {
      if (this.#end - this.#start === this.#records.length) {
        if (this.#records.length < recordCount) this.#grow();
        else this.#start += 1;
      }
      this.#records[this.#end & (this.#records.length - 1)] = record;
    }
    this.#end += 1;
    if (!this.#isKept) this.#start = this.#end;
  }

  /** Forgets all changes, and is not kept until somebody asks again: every follower begins anew. */
  forget(): void {
    this.#records = new Uint32Array(LENGTH_MIN);
    this.#isKept = false;
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
