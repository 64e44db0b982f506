/**
 * The best hits of a search: a binary heap with the worst on top, in typed arrays
 * that grow up to `count`.
 *
 * (1) A hit is better than another if its rank is higher, or if the ranks are
 *     equal and its record is earlier in insertion order.
 * (2) A record's order is read once, when it is added: changes of records during
 *     a long search cannot confuse the heap.
 */

export interface Hit {
  readonly record: number;
  /** The printed score, a float32. */
  readonly score: number;
  /** The sort key. */
  readonly rank: number;
}

const FIRST_SIZE = 16;

export class TopHits {
  readonly #countMax: number;
  readonly #orderOf: (record: number) => number;
  #size = 0;
  #threshold: number;
  #ranks: Float64Array;
  #orders: Float64Array;
  #records: Float64Array;
  #scores: Float64Array;

  /** Collects the `count` best. `order` returns a record's place in insertion order, which is only compared. */
  constructor(count: number, order: (record: number) => number) {
    this.#countMax = count;
    this.#orderOf = order;
    this.#threshold = count === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    const size = Math.min(count, FIRST_SIZE);
    this.#ranks = new Float64Array(size);
    this.#orders = new Float64Array(size);
    this.#records = new Float64Array(size);
    this.#scores = new Float64Array(size);
  }

  get size(): number {
    return this.#size;
  }

  /** Lower ranks cannot be added any more; an equal rank can, depending on its order. */
  get threshold(): number {
    return this.#threshold;
  }

  /** Adds a hit if it is among the best so far. No record may be offered twice. */
  offer(record: number, rank: number, score = rank): void {
    if (rank < this.#threshold || this.#countMax === 0) return;
    const order = this.#orderOf(record);
    let place: number;
    if (this.#size < this.#countMax) {
      if (this.#size === this.#ranks.length) this.#grow();
      place = this.#riseFrom(this.#size, rank, order);
      this.#size += 1;
    } else {
      if (!this.#isWorse(0, rank, order)) return;
      place = this.#sinkFromTop(rank, order);
    }
    this.#ranks[place] = rank;
    this.#orders[place] = order;
    this.#records[place] = record;
    this.#scores[place] = score;
    if (this.#size === this.#countMax) this.#threshold = this.#ranks[0] as number;
  }

  /** The hits, best first. */
  sorted(): Hit[] {
    const places = Array.from({ length: this.#size }, (_, place) => place);
    places.sort((a, b) => (this.#isWorse(a, this.#ranks[b] as number, this.#orders[b] as number) ? 1 : -1));
    return places.map((place) => ({
      record: this.#records[place] as number,
      score: this.#scores[place] as number,
      rank: this.#ranks[place] as number,
    }));
  }

  /** Whether the hit at an index is worse than one of this rank and order: keeps (1). */
  #isWorse(place: number, rank: number, order: number): boolean {
    const own = this.#ranks[place] as number;
    return own < rank || (own === rank && (this.#orders[place] as number) > order);
  }

  /** Moves better parents down and returns the free index. */
  #riseFrom(start: number, rank: number, order: number): number {
    let place = start;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#isWorse(parent, rank, order)) break;
      this.#move(parent, place);
      place = parent;
    }
    return place;
  }

  /** Moves worse children up, over the worst hit, and returns the free index. */
  #sinkFromTop(rank: number, order: number): number {
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.#size) return place;
      const other = child + 1;
      if (other < this.#size && this.#isWorse(other, this.#ranks[child] as number, this.#orders[child] as number))
        child = other;
      if (!this.#isWorse(child, rank, order)) return place;
      this.#move(child, place);
      place = child;
    }
  }

  #move(from: number, to: number): void {
    this.#ranks[to] = this.#ranks[from] as number;
    this.#orders[to] = this.#orders[from] as number;
    this.#records[to] = this.#records[from] as number;
    this.#scores[to] = this.#scores[from] as number;
  }

  #grow(): void {
    const size = Math.min(this.#countMax, this.#size * 2);
    this.#ranks = grown(this.#ranks, size);
    this.#orders = grown(this.#orders, size);
    this.#records = grown(this.#records, size);
    this.#scores = grown(this.#scores, size);
  }
}

function grown(values: Float64Array, size: number): Float64Array {
  const copy = new Float64Array(size);
  copy.set(values);
  return copy;
}
