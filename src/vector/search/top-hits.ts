/**
 * The best hits of a search: a binary heap with the worst on top, in one typed
 * array that grows up to `count`. A place of the heap has CELLS of it:
 *
 *     | rank | order | record | score |
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

/** Room for the hits of most searches: an array that does not grow is made once. */
const FIRST_SIZE = 32;

const CELLS = 4;
const ORDER = 1;
const RECORD = 2;
const SCORE = 3;

export class TopHits {
  readonly #countMax: number;
  readonly #orderOf: (record: number) => number;
  #size = 0;
  #threshold: number;
  #cells: Float64Array;

  /** Collects the `count` best. `order` returns a record's place in insertion order, which is only compared. */
  constructor(count: number, order: (record: number) => number) {
    this.#countMax = count;
    this.#orderOf = order;
    this.#threshold = count === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    this.#cells = new Float64Array(Math.min(count, FIRST_SIZE) * CELLS);
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
    let cell: number;
    if (this.#size < this.#countMax) {
      if (this.#size * CELLS === this.#cells.length) this.#grow();
      cell = riseFrom(this.#cells, this.#size, rank, order) * CELLS;
      this.#size += 1;
    } else {
      if (!isWorse(this.#cells, 0, rank, order)) return;
      cell = sinkFromTop(this.#cells, this.#size, rank, order) * CELLS;
    }
    const cells = this.#cells;
    cells[cell] = rank;
    cells[cell + ORDER] = order;
    cells[cell + RECORD] = record;
    cells[cell + SCORE] = score;
    if (this.#size === this.#countMax) this.#threshold = cells[0] as number;
  }

  /** The hits, best first. */
  sorted(): Hit[] {
    const cells = this.#cells.slice(0, this.#size * CELLS);
    const hits = new Array<Hit>(this.#size);
    for (let left = this.#size - 1; left >= 0; left -= 1) {
      hits[left] = { record: cells[RECORD] as number, score: cells[SCORE] as number, rank: cells[0] as number };
      const last = left * CELLS;
      const place = sinkFromTop(cells, left, cells[last] as number, cells[last + ORDER] as number);
      if (left > 0) move(cells, left, place);
    }
    return hits;
  }

  #grow(): void {
    const cells = new Float64Array(Math.min(this.#countMax, this.#size * 2) * CELLS);
    cells.set(this.#cells);
    this.#cells = cells;
  }
}

/** Whether the hit at a place is worse than one of this rank and order: keeps (1). */
function isWorse(cells: Float64Array, place: number, rank: number, order: number): boolean {
  const own = cells[place * CELLS] as number;
  return own < rank || (own === rank && (cells[place * CELLS + ORDER] as number) > order);
}

/** Moves better parents down and returns the free place. */
function riseFrom(cells: Float64Array, start: number, rank: number, order: number): number {
  let place = start;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    if (isWorse(cells, parent, rank, order)) break;
    move(cells, parent, place);
    place = parent;
  }
  return place;
}

/** Moves worse children up, over the worst hit of `size`, and returns the free place. */
function sinkFromTop(cells: Float64Array, size: number, rank: number, order: number): number {
  let place = 0;
  for (;;) {
    let child = 2 * place + 1;
    if (child >= size) return place;
    const other = child + 1;
    if (other < size && isWorse(cells, other, cells[child * CELLS] as number, cells[child * CELLS + ORDER] as number))
      child = other;
    if (!isWorse(cells, child, rank, order)) return place;
    move(cells, child, place);
    place = child;
  }
}

function move(cells: Float64Array, from: number, to: number): void {
  const source = from * CELLS;
  const target = to * CELLS;
  for (let i = 0; i < CELLS; i += 1) cells[target + i] = cells[source + i] as number;
}
