/**
 * The words within a distance of a word, as an automaton whose state is a row of the table of distances. Only the cells
 * within the distance of the diagonal can be small enough, so a row has 2 × distance + 1 of them and reading a code
 * point takes a few steps, however long the word is.
 *
 * With transpositions, a pair of neighbours may be swapped for one, and neither is changed again (optimal string
 * alignment).
 */
import type { PrefixAutomaton, Verdict } from "./term-walk.ts";

export class LevenshteinAutomaton implements PrefixAutomaton {
  readonly readSteps: number;
  readonly #word: readonly number[];
  readonly #distance: number;
  readonly #hasTranspositions: boolean;
  readonly #isPrefix: boolean;
  readonly #width: number;
  /**
   * By depth, a row: the cell at `i` is the distance of the prefix from the first `depth - distance + i` code points of
   * the word, at most one more than the limit.
   */
  #rows: Uint8Array;
  /** By depth, the code point that leads there. */
  readonly #codes: number[] = [0];

  constructor(
    word: readonly number[],
    options: { readonly distance: number; readonly transpositionCostOne: boolean; readonly isPrefix: boolean },
  ) {
    this.#word = word;
    this.#distance = options.distance;
    this.#hasTranspositions = options.transpositionCostOne;
    this.#isPrefix = options.isPrefix;
    this.#width = 2 * options.distance + 1;
    this.readSteps = 2 + this.#width;
    this.#rows = new Uint8Array(this.#width * 32);
  }

  begin(): Verdict {
    for (let i = 0; i < this.#width; i += 1) {
      const length = i - this.#distance;
      const isCell = length >= 0 && length <= this.#word.length;
      this.#rows[i] = isCell ? Math.min(length, this.#distance + 1) : this.#distance + 1;
    }
    return this.#isPrefix && this.#word.length <= this.#distance ? "accepted" : "open";
  }

  read(before: number, code: number): Verdict {
    const depth = before + 1;
    const width = this.#width;
    const limit = this.#distance + 1;
    const word = this.#word;
    const start = depth * width;
    if (start + width > this.#rows.length) this.#grow();
    const rows = this.#rows;
    this.#codes[depth] = code;
    const lastCode = this.#codes[before] as number;
    let least = limit;
    for (let i = 0; i < width; i += 1) {
      const length = depth - this.#distance + i;
      let cell = limit;
      if (length === 0) cell = Math.min(depth, limit);
      else if (length > 0 && length <= word.length) {
        const wanted = word[length - 1] as number;
        // The row before is one place to the left: its cell of `length - 1` has the same place.
        cell = (rows[start - width + i] as number) + (wanted === code ? 0 : 1);
        if (i + 1 < width) cell = Math.min(cell, (rows[start - width + i + 1] as number) + 1);
        if (i > 0) cell = Math.min(cell, (rows[start + i - 1] as number) + 1);
        if (this.#hasTranspositions && depth > 1 && length > 1 && wanted === lastCode && word[length - 2] === code)
          cell = Math.min(cell, (rows[start - 2 * width + i] as number) + 1);
        if (cell > limit) cell = limit;
      }
      rows[start + i] = cell;
      if (cell < least) least = cell;
    }
    if (least === limit) return "refused";
    return this.#isPrefix && this.isMatch(depth) ? "accepted" : "open";
  }

  isMatch(depth: number): boolean {
    const place = this.#word.length - depth + this.#distance;
    if (place < 0 || place >= this.#width) return false;
    return (this.#rows[depth * this.#width + place] as number) <= this.#distance;
  }

  #grow(): void {
    const larger = new Uint8Array(2 * this.#rows.length);
    larger.set(this.#rows);
    this.#rows = larger;
  }
}
