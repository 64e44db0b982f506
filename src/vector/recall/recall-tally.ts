/**
 * The recall of a sample of queries, with the bounds of Wilson's score interval
 * (E. B. Wilson, 1927) at 95 %.
 *
 * The hits of one query are found or missed together, so a query with ten hits is
 * less than ten trials. The variance between queries gives Kish's design effect,
 * and the bounds are those of a sample that is smaller by this factor.
 */

/** The quantile of the normal distribution for 95 % on both sides. */
const Z = 1.96;

export class RecallTally {
  #queryCount = 0;
  #wanted = 0;
  #found = 0;
  #wantedSquares = 0;
  #foundSquares = 0;
  #products = 0;

  get queryCount(): number {
    return this.#queryCount;
  }

  /** Adds a query that found `found` of its `wanted` nearest records; `wanted` is above 0. */
  add(found: number, wanted: number): void {
    this.#queryCount += 1;
    this.#wanted += wanted;
    this.#found += found;
    this.#wantedSquares += wanted * wanted;
    this.#foundSquares += found * found;
    this.#products += found * wanted;
  }

  /** Of both samples together. */
  plus(other: RecallTally): RecallTally {
    const sum = new RecallTally();
    for (const part of [this, other]) {
      sum.#queryCount += part.#queryCount;
      sum.#wanted += part.#wanted;
      sum.#found += part.#found;
      sum.#wantedSquares += part.#wantedSquares;
      sum.#foundSquares += part.#foundSquares;
      sum.#products += part.#products;
    }
    return sum;
  }

  /** The share of the nearest records that were found; 1 for an empty sample. */
  get recall(): number {
    return this.#wanted === 0 ? 1 : this.#found / this.#wanted;
  }

  /** 0 for an empty sample. */
  get lowerBound(): number {
    return this.#bound(-1);
  }

  /** 1 for an empty sample. */
  get upperBound(): number {
    return this.#bound(1);
  }

  #bound(side: 1 | -1): number {
    if (this.#wanted === 0) return side === 1 ? 1 : 0;
    const share = this.recall;
    const trials = this.#wanted / this.#designEffect;
    const square = Z * Z;
    const middle = share + square / (2 * trials);
    const reach = Z * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials * trials));
    return Math.min(1, Math.max(0, (middle + side * reach) / (1 + square / trials)));
  }

  /** How many times larger the variance of the recall is than with independent hits; at least 1. */
  get #designEffect(): number {
    const share = this.recall;
    const independent = share * (1 - share) * this.#wanted;
    if (independent <= 0) return 1;
    const squares = this.#foundSquares - 2 * share * this.#products + share * share * this.#wantedSquares;
    return Math.max(1, squares / independent);
  }
}
