/** The best hits so far: a heap with the worst of them on top. */

export interface RankedDocument<Key> {
  readonly document: number;
  readonly key: Key;
}

/** Negative if `one` comes first. */
export type CompareKeys<Key> = (one: Key, other: Key) => number;

/** Keeps `limit` documents, at least 1. Of equal keys, the document with the smaller number comes first. */
export class BestDocuments<Key> {
  readonly #limit: number;
  readonly #compareKeys: CompareKeys<Key>;
  readonly #heap: RankedDocument<Key>[] = [];

  constructor(limit: number, compareKeys: CompareKeys<Key>) {
    this.#limit = limit;
    this.#compareKeys = compareKeys;
  }

  /** The worst hit, once there are enough: documents after it need a better key. */
  get worst(): RankedDocument<Key> | undefined {
    return this.#heap.length < this.#limit ? undefined : this.#heap[0];
  }

  /** True if the document is among the best so far. */
  offer(document: number, key: Key): boolean {
    const heap = this.#heap;
    const hit = { document, key };
    if (heap.length < this.#limit) {
      heap.push(hit);
      this.#raise(heap.length - 1);
      return true;
    }
    if (this.#compare(hit, heap[0] as RankedDocument<Key>) >= 0) return false;
    heap[0] = hit;
    this.#sink(0);
    return true;
  }

  /** Takes all documents out, and returns them with the best first. */
  takeSorted(): RankedDocument<Key>[] {
    const heap = this.#heap;
    const sorted = [...heap];
    for (let left = heap.length - 1; left >= 0; left -= 1) {
      sorted[left] = heap[0] as RankedDocument<Key>;
      const last = heap.pop() as RankedDocument<Key>;
      if (left === 0) break;
      heap[0] = last;
      this.#sink(0);
    }
    return sorted;
  }

  #compare(one: RankedDocument<Key>, other: RankedDocument<Key>): number {
    return this.#compareKeys(one.key, other.key) || one.document - other.document;
  }

  #raise(from: number): void {
    const heap = this.#heap;
    const hit = heap[from] as RankedDocument<Key>;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (this.#compare(hit, heap[parent] as RankedDocument<Key>) <= 0) break;
      heap[at] = heap[parent] as RankedDocument<Key>;
      at = parent;
    }
    heap[at] = hit;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const hit = heap[from] as RankedDocument<Key>;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = child + 1;
      if (
        right < heap.length &&
        this.#compare(heap[right] as RankedDocument<Key>, heap[child] as RankedDocument<Key>) > 0
      )
        child = right;
      if (this.#compare(hit, heap[child] as RankedDocument<Key>) >= 0) break;
      heap[at] = heap[child] as RankedDocument<Key>;
      at = child;
    }
    heap[at] = hit;
  }
}
