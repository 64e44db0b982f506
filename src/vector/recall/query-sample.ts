/**
 * Recent queries of one class, drawn by chance: their vectors, filters and topK.
 * They are in memory only, and neither logged nor stored.
 */
import type { Random } from "../../kernel/random.ts";
import type { Filter } from "../filter/filter.ts";

export interface SampledQuery {
  readonly vector: Float32Array;
  readonly filter: Filter;
  /** The number of hits that it asked for. */
  readonly count: number;
}

/** The most queries of a sample. */
export const QUERIES_MAX = 64;
/** When the sample is full, one query in this many replaces another, so that it is of the last thousand or so. */
const REPLACED_ONE_IN = 8;

/** A query without its vector, and a parsed filter for each character of its text. Approximate. */
const QUERY_BYTES = 200;
const FILTER_FACTOR = 8;

export class QuerySample {
  readonly #random: Random;
  readonly #queries: SampledQuery[] = [];
  #notedCount = 0;
  #byteCount = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The number of queries noted so far, sampled or not. */
  get notedCount(): number {
    return this.#notedCount;
  }

  /** The approximate memory of the sample. */
  get byteCount(): number {
    return this.#byteCount;
  }

  get queries(): readonly SampledQuery[] {
    return this.#queries;
  }

  /** The vector is copied if the query is sampled. */
  note({ vector, filter, count }: SampledQuery): void {
    this.#notedCount += 1;
    const isFull = this.#queries.length === QUERIES_MAX;
    if (isFull && this.#random.below(REPLACED_ONE_IN) > 0) return;
    const place = isFull ? this.#random.below(QUERIES_MAX) : this.#queries.length;
    const replaced = this.#queries[place];
    const query = { vector: vector.slice(), filter, count };
    this.#queries[place] = query;
    this.#byteCount += bytesOf(query) - (replaced === undefined ? 0 : bytesOf(replaced));
  }
}

function bytesOf({ vector, filter }: SampledQuery): number {
  return vector.byteLength + filter.text.length * FILTER_FACTOR + QUERY_BYTES;
}
