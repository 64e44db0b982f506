/**
 * Searches a graph in one thread. Any number of threads may have a searcher over
 * the same memory while another thread writes.
 */
import type { GraphHits, GraphRequest } from "./graph.ts";
import type { GraphKernel } from "./graph-kernel.ts";

/** The most filters in the graph's memory. */
const KEPT_FILTERS = 4;
const NO_LIMIT = 0xffff_ffff;

interface CachedFilter {
  accepts: Uint32Array | undefined;
  stamp: number | undefined;
  /** Bytes. */
  address: number;
  /** The number of words that fit at the address. */
  capacity: number;
}

interface WritableHits extends GraphHits {
  records: Uint32Array;
  distances: Float32Array;
  count: number;
  visits: number;
  isComplete: boolean;
}

export class GraphSearcher {
  readonly #kernel: GraphKernel;
  readonly #filters: CachedFilter[] = [];
  #nextFilter = 0;
  readonly #hits: WritableHits = {
    records: new Uint32Array(64),
    distances: new Float32Array(64),
    count: 0,
    visits: 0,
    isComplete: true,
  };

  constructor(kernel: GraphKernel) {
    this.#kernel = kernel;
  }

  /** The hits are valid until the next search of this searcher. */
  search({ query, count, effort, accepts, acceptsStamp, visitsMax = NO_LIMIT }: GraphRequest): GraphHits {
    const { code } = this.#kernel;
    const filter = accepts === undefined ? undefined : this.#cache(accepts, acceptsStamp);
    const hits = this.#hits;
    hits.count = 0;
    hits.visits = 0;
    hits.isComplete = false;
    // Without memory for the filter, the caller searches without the graph.
    if (accepts !== undefined && filter === undefined) return hits;
    this.#kernel.putRow(query);
    const recordEnd = accepts === undefined ? 0 : accepts.length * 32;
    const found = code.search(code.nodeCount(), count, effort, filter?.address ?? 0, recordEnd, visitsMax);
    hits.visits = code.visitCount();
    hits.isComplete = code.wasCut() === 0;
    this.#read(found);
    return hits;
  }

  #read(count: number): void {
    const hits = this.#hits;
    if (hits.records.length < count) {
      hits.records = new Uint32Array(count * 2);
      hits.distances = new Float32Array(count * 2);
    }
    const { words, floats } = this.#kernel;
    let at = this.#kernel.code.resultsAddress() >>> 2;
    for (let i = 0; i < count; i += 1, at += 2) {
      hits.records[i] = words[at] as number;
      hits.distances[i] = floats[at + 1] as number;
    }
    hits.count = count;
  }

  /** The filter in the graph's memory; undefined if there is no room for it. */
  #cache(accepts: Uint32Array, stamp: number | undefined): CachedFilter | undefined {
    const known = stamp === undefined ? undefined : this.#find(accepts, stamp);
    if (known !== undefined) return known;
    const filter = this.#slot();
    if (filter.capacity < accepts.length) {
      // Memory is never freed, so it grows in large steps.
      const capacity = Math.max(accepts.length, filter.capacity * 2);
      const address = this.#kernel.code.allocate(capacity * 4) >>> 0;
      if (address === 0) return undefined;
      filter.address = address;
      filter.capacity = capacity;
    }
    this.#kernel.words.set(accepts, filter.address / 4);
    filter.accepts = accepts;
    filter.stamp = stamp;
    return filter;
  }

  #find(accepts: Uint32Array, stamp: number): CachedFilter | undefined {
    for (const filter of this.#filters) if (filter.accepts === accepts && filter.stamp === stamp) return filter;
    return undefined;
  }

  #slot(): CachedFilter {
    const slot = this.#nextFilter;
    this.#nextFilter = (slot + 1) % KEPT_FILTERS;
    const known = this.#filters[slot];
    if (known !== undefined) return known;
    const made = { accepts: undefined, stamp: undefined, address: 0, capacity: 0 };
    this.#filters.push(made);
    return made;
  }
}
