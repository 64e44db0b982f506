/**
 * The first few of many in order, without sorting the others: a heap of the
 * first ones so far, with the last of them on top. Takes n log k comparisons,
 * and mostly one for each that is not among them.
 */

type Compare = (one: number, other: number) => number;

/** The indexes 0 … length-1 that sort first, in order; equal ones in the order of their indexes. */
export function firstPlaces(length: number, count: number, compare: Compare): readonly number[] {
  const first = new FirstPlaces(length, count, compare);
  first.offer(0, length);
  return first.sorted();
}

/** The same in parts: indexes are offered in rising order, and may be taken from the last one on. */
export class FirstPlaces {
  readonly #isAfter: IsAfter;
  readonly #heap: Uint32Array;
  #count = 0;

  constructor(length: number, count: number, compare: Compare) {
    this.#heap = new Uint32Array(Math.min(count, length));
    this.#isAfter = (one, other) => {
      const order = compare(one, other);
      return order > 0 || (order === 0 && one > other);
    };
  }

  get count(): number {
    return this.#count;
  }

  offer(start: number, end: number): void {
    const heap = this.#heap;
    const isAfter = this.#isAfter;
    for (let place = start; place < end; place += 1) {
      if (this.#count < heap.length) {
        heap[place] = place;
        rise(heap, place, isAfter);
        this.#count += 1;
      } else if (heap.length > 0 && isAfter(heap[0] as number, place)) {
        heap[0] = place;
        sink(heap, heap.length, isAfter);
      }
    }
  }

  sorted(): number[] {
    return [...this.#heap].sort((one, other) => (this.#isAfter(one, other) ? 1 : -1));
  }

  /** Removes the last one of all. */
  takeLast(): number {
    const heap = this.#heap;
    const last = heap[0] as number;
    this.#count -= 1;
    heap[0] = heap[this.#count] as number;
    sink(heap, this.#count, this.#isAfter);
    return last;
  }
}

type IsAfter = (one: number, other: number) => boolean;

function rise(heap: Uint32Array, from: number, isAfter: IsAfter): void {
  let at = from;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!isAfter(heap[at] as number, heap[above] as number)) return;
    swap(heap, at, above);
    at = above;
  }
}

function sink(heap: Uint32Array, length: number, isAfter: IsAfter): void {
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const right = left + 1;
    let last = at;
    if (left < length && isAfter(heap[left] as number, heap[last] as number)) last = left;
    if (right < length && isAfter(heap[right] as number, heap[last] as number)) last = right;
    if (last === at) return;
    swap(heap, at, last);
    at = last;
  }
}

function swap(heap: Uint32Array, one: number, other: number): void {
  const place = heap[one] as number;
  heap[one] = heap[other] as number;
  heap[other] = place;
}
