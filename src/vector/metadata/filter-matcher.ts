/**
 * Filters against all records of a namespace. What a filter let through is kept
 * for when it is asked again, and then only the records that changed since are
 * decided anew.
 */
import type { Filter } from "../filter/filter.ts";
import { ColumnSet } from "./column-set.ts";
import { MatchSet } from "./match-set.ts";
import type { MetadataStore } from "./metadata-store.ts";

/** A filter being decided for all records, in bounded steps. */
export interface FilterMatch {
  readonly filter: Filter;
  /**
   * Does about `work` nanoseconds of work, and whatever the records cost that changed since the last step. True: `matches`
   * is right for the records as they are now. May be called again after that, to follow what changed since.
   */
  step(work: number): boolean;
  /**
   * Bit `r & 31` of word `r >>> 5` is set: record r exists and passes. Right as of the last step that returned true, of
   * this or of another match of the same filter: the array is shared and changes in those steps, never between turns
   * by itself. Another array takes its place when records outgrow it, so it is read from here in each turn; a record
   * beyond its end came later than that step.
   */
  readonly matches: Uint32Array;
  /** How many bits are set. */
  readonly count: number;
  /** Changes whenever a bit of `matches` does, or the array itself. */
  readonly version: number;
}

/** Results kept for one namespace; the one used least recently goes. */
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

  /** Begins to match, or takes up what is known of the filter already. Costs nothing until it is stepped. */
  start(filter: Filter): FilterMatch {
    const known = this.#results.get(filter.text);
    const result = known ?? new MatchSet(filter, this.#store, this.#columns);
    this.#results.delete(filter.text);
    this.#results.set(filter.text, result);
    this.#evict();
    return result;
  }

  /** Whether a record exists and passes as it is now. Parses its metadata. */
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
