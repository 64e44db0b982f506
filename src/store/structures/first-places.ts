/**
 * The first few of many in order, without sorting the others: a heap of the
 * first ones so far, with the last of them on top. Takes n log k comparisons,
 * and mostly one for each that is not among them.
 */

/** The indexes 0 … length-1 that sort first, in order; equal ones in the order of their indexes. */
export function firstPlaces(
  length: number,
  count: number,
  compare: (one: number, other: number) => number,
): readonly number[] {
  const isAfter = (one: number, other: number): boolean => {
    const order = compare(one, other);
    return order > 0 || (order === 0 && one > other);
  };
  const heap = new Uint32Array(Math.min(count, length));
  for (let place = 0; place < length; place += 1) {
    if (place < heap.length) {
      heap[place] = place;
      rise(heap, place, isAfter);
    } else if (heap.length > 0 && isAfter(heap[0] as number, place)) {
      heap[0] = place;
      sink(heap, isAfter);
    }
  }
  return [...heap].sort((one, other) => (isAfter(one, other) ? 1 : -1));
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

function sink(heap: Uint32Array, isAfter: IsAfter): void {
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const right = left + 1;
    let last = at;
    if (left < heap.length && isAfter(heap[left] as number, heap[last] as number)) last = left;
    if (right < heap.length && isAfter(heap[right] as number, heap[last] as number)) last = right;
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
