/**
 * Matches filters against all records of a namespace. The result of a filter is
 * cached, so that a repeated filter only tests the records that changed since.
 */
import type { Filter } from "../filter/filter.ts";
import { ColumnSet } from "./column-set.ts";
import { MatchSet } from "./match-set.ts";
import type { MetadataStore } from "./metadata-store.ts";

/** The match of a filter against all records, in bounded steps. */
export interface FilterMatch {
  readonly filter: Filter;
  /**
   * Does about `work` nanoseconds of work, plus that of the records changed since the last step. Returns true if
   * `matches` is correct for the current records. May be called again after that, to follow later changes.
   */
  step(work: number): boolean;
  /**
   * Record r exists and passes if bit `r & 31` of word `r >>> 5` is set. Correct as of the last step that returned
   * true, of this or of another match of the same filter: the array is shared and only changes in those steps. A larger
   * array replaces it when records outgrow it, so read it from here in each turn. Records beyond its end were added
   * after that step.
   */
  readonly matches: Uint32Array;
  /** The number of set bits. */
  readonly count: number;
  /** Changes whenever a bit of `matches` does, or the array itself. */
  readonly version: number;
}

/** The most cached results of one namespace; the least recently used one is evicted. */
const RESULTS_MAX = 32;
const RESULT_BYTES_MAX = 32 * 1024 * 1024;

export class FilterMatcher {
  readonly #store: MetadataStore;
  readonly #columns: ColumnSet;
  /** By filter text, in the order of last use. */
  readonly #results = new Map<string, MatchSet>();

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#columns = new ColumnSet(store);
  }

  /** Begins a match, or continues from the cached result. Costs nothing until it is stepped. */
  start(filter: Filter): FilterMatch {
    const known = this.#results.get(filter.text);
    const result = known ?? new MatchSet(filter, this.#store, this.#columns);
    this.#results.delete(filter.text);
    this.#results.set(filter.text, result);
    this.#evict();
    return result;
  }

  /** Whether a record exists and currently passes. Parses its metadata. */
  passesNow(record: number, filter: Filter): boolean {
    return this.#store.has(record) && filter.matches(this.#store.parsed(record));
  }

  #evict(): void {
    let bytes = 0;
    for (const result of this.#results.values()) bytes += result.matches.byteLength;
    for (const [text, result] of this.#results) {
      if (this.#results.size <= RESULTS_MAX && bytes <= RESULT_BYTES_MAX) return;
      if (this.#results.size === 1) return;
      bytes -= result.matches.byteLength;
      this.#results.delete(text);
    }
  }
}
