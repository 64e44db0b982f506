/**
 * One search of one namespace, in bounded steps:
 *
 *     match        finds the records that pass the filter (all without a filter)
 *     candidates   by the dense vector, by the sparse vector, or both
 *     finish       scores changed records again; fuses two lists
 *
 * The answer is the state at the time of `finish`, which is one step:
 * (1) A candidate that changed since the search began counts only with its
 *     current score, and any changed record may become a candidate.
 * (2) The search collects spare candidates for those that drop out. If they are
 *     too few, it starts again with SPARE_GROWTH times as many, until they suffice
 *     or are all records that pass. So a scan misses nothing, whatever changes.
 */

import type { Effort, Fusion, Weighting } from "../api.ts";
import type { Filter } from "../filter/filter.ts";
import type { Namespace } from "../index/namespace.ts";
import type { SparseVector } from "../index/record.ts";
import type { FilterMatch } from "../metadata/filter-matcher.ts";
import type { FileRows } from "../row-files/file-rows.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { DenseSearch } from "./dense.ts";
import { FileDenseSearch } from "./file-dense.ts";
import { fuse } from "./fusion.ts";
import type { SearchJob } from "./queue.ts";
import type { CandidateSearch, RankedRecord } from "./scored.ts";
import { SparseSearch } from "./sparse.ts";

export interface SearchRequest {
  /** One of the two, or both; then their lists are fused. */
  readonly vector: Float32Array | undefined;
  readonly sparseVector: SparseVector | undefined;
  /** The most hits. */
  readonly count: number;
  /** The candidates of each of the two lists that are fused. */
  readonly fusionDepth: number;
  readonly filter: Filter;
  readonly weighting: Weighting;
  readonly fusion: Fusion;
  /** Ids that are excluded. */
  readonly excludedIds: ReadonlySet<string>;
  readonly effort?: Effort;
}

/** The request of a search by one vector. */
export interface CandidateRequest {
  /** The number of candidates; `spareCount` more replace those that drop out during the search. */
  readonly count: number;
  readonly spareCount: number;
  /** As `count` and `spareCount` together, for a walk or a short scan. */
  readonly certainCount: number;
  /** The least candidates of a walk. */
  readonly effortMin: number;
  /** Every record passes if undefined. */
  readonly match: FilterMatch | undefined;
  readonly excluded: ReadonlySet<number>;
  readonly effort: Effort;
}

/** Spare candidates, a fixed number and a share: keeps (2). All are scored, so the first start has few. */
const SPARE_MIN = 16;
const SPARE_SHARE = 0.1;
/** The same for a walk, which scores rows one by one (one is in a file, or in no cache), and for a short scan. */
const CERTAIN_SPARE_MIN = 1;
/** Each further start has this many times as many, so a search of n records starts about log4(n) times at most. */
const SPARE_GROWTH = 4;
/** Starts that other threads may take. The later ones stay on this thread: fewer records change meanwhile. */
const AWAY_STARTS_MAX = 3;
/** How often a search whose weights have changed goes on in steps; then it ends in one. */
const RENEWALS_MAX = 4;
/** The time of one step, in nanoseconds. */
const MATCH_WORK = 1_000_000;

export class NamespaceSearch implements SearchJob {
  readonly #namespace: Namespace;
  readonly #request: SearchRequest;
  readonly #depth: number;
  /** The mark of this search in the log of changes. */
  #mark: number | undefined;
  /** The starts after the first one. */
  #againCount = 0;
  /** How often weights had changed at the end. */
  #renewedCount = 0;
  #match: FilterMatch | undefined;
  #searches: readonly CandidateSearch[] | undefined;
  /** Where the rows were when the searches began. */
  #fileRows: FileRows | undefined;
  #doneCount = 0;
  #hits: readonly RankedRecord[] = [];

  constructor(namespace: Namespace, request: SearchRequest) {
    const isFused = request.vector !== undefined && request.sparseVector !== undefined;
    this.#namespace = namespace;
    this.#request = request;
    this.#depth = isFused ? request.fusionDepth : request.count;
  }

  /** The hits, best first, as of the step that returned true. The rank of a fused hit is its score. */
  get hits(): readonly RankedRecord[] {
    return this.#hits;
  }

  /** The number of candidates of each list. */
  get depth(): number {
    return this.#depth;
  }

  /** The share of the dense vectors that pass the filter, when the search is done; undefined without a filter. */
  get passShare(): number | undefined {
    return this.#match && this.#match.count / Math.max(1, this.#namespace.rowCount);
  }

  /** True if the search ranks every record that passes. False before that is known. */
  get isScan(): boolean {
    return this.#searches?.every(({ isScan }) => isScan) ?? false;
  }

  /** Ends a search that is no longer needed. Not stepped after that. */
  abandon(): void {
    this.#abandonSearches();
    if (this.#mark !== undefined) this.#namespace.changes.end();
  }

  step(taker?: TaskTaker): boolean {
    let isDone = true;
    this.#mark ??= this.#namespace.changes.begin();
    try {
      isDone = this.#step(taker);
    } catch (failure) {
      this.#abandonSearches();
      throw failure;
    } finally {
      if (isDone) this.#namespace.changes.end();
    }
    return isDone;
  }

  #step(taker: TaskTaker | undefined): boolean {
    const { filter } = this.#request;
    if (filter.expression !== undefined) {
      this.#match ??= this.#namespace.filters.start(filter);
      if (!this.#match.step(MATCH_WORK)) return false;
    }
    // Rows that have moved to files are not where these searches look.
    if (this.#searches !== undefined && this.#fileRows !== this.#namespace.fileRows) return this.#startAgain();
    this.#searches ??= this.#begin();
    // Rows in files are read by others at every start: the spare candidates grow until they suffice.
    const mayLeave = this.#fileRows !== undefined || this.#againCount < AWAY_STARTS_MAX;
    const allowedTaker = mayLeave ? taker : undefined;
    for (; this.#doneCount < this.#searches.length; this.#doneCount += 1) {
      if (this.#searches[this.#doneCount]?.step(allowedTaker) === false) return false;
    }
    return this.#finish(this.#searches, taker);
  }

  #begin(): readonly CandidateSearch[] {
    const { vector, sparseVector, weighting } = this.#request;
    const namespace = this.#namespace;
    this.#fileRows = namespace.fileRows;
    const excluded = this.#excluded();
    const options = {
      count: this.#depth,
      spareCount: this.#spareCount,
      certainCount: this.#depth + this.#certainSpareCount,
      effortMin: this.#againCount === 0 ? 0 : this.#depth + this.#spareCount + excluded.size,
      match: this.#match,
      excluded,
      effort: this.#request.effort,
    };
    return [
      ...(vector === undefined ? [] : [denseSearch(namespace, vector, options)]),
      ...(sparseVector === undefined ? [] : [new SparseSearch(namespace, { query: sparseVector, weighting }, options)]),
    ];
  }

  get #spareCount(): number {
    return (SPARE_MIN + Math.ceil(this.#depth * SPARE_SHARE)) * SPARE_GROWTH ** this.#againCount;
  }

  get #certainSpareCount(): number {
    return this.#againCount === 0 ? CERTAIN_SPARE_MIN + Math.ceil(this.#depth * SPARE_SHARE) : this.#spareCount;
  }

  #excluded(): ReadonlySet<number> {
    const records = new Set<number>();
    for (const id of this.#request.excludedIds) {
      const record = this.#namespace.table.find(id);
      if (record !== undefined) records.add(record);
    }
    return records;
  }

  #finish(searches: readonly CandidateSearch[], taker: TaskTaker | undefined): boolean {
    const { count, fusion } = this.#request;
    const changed = this.#namespace.changes.since(this.#mark ?? 0);
    if (changed.size > 0 && !this.#readChanged(searches, changed, taker)) return false;
    if (changed.size > 0 && !this.#renewOutdated(searches)) return false;
    const lists: RankedRecord[][] = [];
    for (const search of searches) {
      const list = this.#settle(search, changed);
      if (list === undefined) return this.#startAgain();
      lists.push(list);
    }
    const [first = [], second] = lists;
    this.#hits =
      second === undefined
        ? first
        : fuse(fusion, first, second, { count, order: (record) => this.#namespace.table.order.placeOf(record) }).map(
            (hit) => ({ ...hit, rank: hit.score }),
          );
    return true;
  }

  /** Reads the rows of changed records that are in files. Returns false if that waits: then more may change. */
  #readChanged(
    searches: readonly CandidateSearch[],
    changed: ReadonlySet<number>,
    taker: TaskTaker | undefined,
  ): boolean {
    for (const search of searches) {
      if (search.readScores === undefined) continue;
      const wanted = [...changed].filter((record) => this.#isWanted(record));
      if (!search.readScores(wanted, taker)) return false;
    }
    return true;
  }

  /**
   * Searches again by weights that have changed. Returns false if that takes further steps, after which more may have
   * changed: so the last attempt is made at once.
   */
  #renewOutdated(searches: readonly CandidateSearch[]): boolean {
    for (const [i, search] of searches.entries()) {
      if (search.isOutdated !== true) continue;
      search.restart?.();
      this.#renewedCount += 1;
      if (this.#renewedCount < RENEWALS_MAX) {
        this.#doneCount = i;
        return false;
      }
      while (!search.step());
    }
    return true;
  }

  /** The candidates with their current scores; undefined if too many of them changed. keeps (1) and (2) */
  #settle(search: CandidateSearch, changed: ReadonlySet<number>): RankedRecord[] | undefined {
    const found = search.hits();
    if (changed.size === 0) return found.slice(0, this.#depth);
    const settled = found.filter(({ record }) => !changed.has(record));
    // Records that were not found may be better than the remaining candidates.
    const mayMiss = found.length >= this.#depth + (search.isScan ? this.#certainSpareCount : 0);
    if (settled.length < this.#depth && mayMiss) return undefined;
    for (const record of changed) {
      if (!this.#isWanted(record)) continue;
      const scored = search.scoreNow(record);
      if (scored !== undefined) settled.push(scored);
    }
    const { order } = this.#namespace.table;
    settled.sort((a, b) => b.rank - a.rank || order.placeOf(a.record) - order.placeOf(b.record));
    return settled.slice(0, this.#depth);
  }

  #isWanted(record: number): boolean {
    const { filter, excludedIds } = this.#request;
    const id = this.#namespace.table.idOf(record);
    return (
      id !== undefined &&
      !excludedIds.has(id) &&
      (filter.expression === undefined || this.#namespace.filters.passesNow(record, filter))
    );
  }

  #abandonSearches(): void {
    for (const search of this.#searches ?? []) search.abandon?.();
  }

  #startAgain(): false {
    this.#abandonSearches();
    this.#againCount += 1;
    this.#namespace.changes.end();
    this.#mark = this.#namespace.changes.begin();
    this.#match = undefined;
    this.#searches = undefined;
    this.#doneCount = 0;
    return false;
  }
}

function denseSearch(namespace: Namespace, vector: Float32Array, request: CandidateRequest): CandidateSearch {
  if (namespace.fileRows !== undefined) return new FileDenseSearch(namespace, vector, request);
  return namespace.rows === undefined ? nothing : new DenseSearch(namespace, vector, request);
}

/** The search of a namespace that never had a dense vector. */
const nothing: CandidateSearch = { isScan: true, step: () => true, hits: () => [], scoreNow: () => undefined };
