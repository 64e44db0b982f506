/**
 * The parts of a search that another thread can do: a walk over a graph, a scan of
 * rows, and the ranks of rows in files. A task names memory and copies what is not in shared memory; its
 * result has candidates, which the owner of the index checks (`search-threads.ts`
 * has the protocol).
 */
import type { GraphKernel } from "../graph/graph-kernel.ts";
import type { Similarity } from "../index/definition.ts";
import type { RowPlace } from "../row-files/row-file-storage.ts";
import type { PreparedQuery } from "../rows/prepared-query.ts";
import type { RowStore } from "../rows/row-store.ts";

export interface WalkTask {
  readonly kind: "walk";
  /** The expected duration, in milliseconds. */
  readonly costMs: number;
  readonly kernel: GraphKernel;
  readonly query: Float32Array;
  /** The candidates of the walk, and the number of hits. */
  readonly effort: number;
  readonly visitsMax: number;
  /** The records that pass, as bits; `version` changes whenever one of them does. All pass if undefined. */
  readonly accepts: { readonly matches: Uint32Array; readonly version: number } | undefined;
  /** Called later, never during the call that starts the task; undefined if the task is lost. */
  done(result: WalkResult | undefined): void;
}

export interface WalkResult {
  /** Candidates, best first, by the numbers of the graph. */
  readonly records: Uint32Array;
  /** By their codes (`graph/graph.ts`). */
  readonly distances: Float32Array;
  /** False if better ones may exist. */
  readonly isComplete: boolean;
}

export interface ScanTask {
  readonly kind: "scan";
  readonly costMs: number;
  readonly rows: RowStore;
  readonly query: PreparedQuery;
  readonly similarity: Similarity;
  /** The number of hits. */
  readonly count: number;
  /** The records that pass, as bits, and how many they are. All pass if undefined. */
  readonly matches: Uint32Array | undefined;
  readonly matchCount: number | undefined;
  done(result: ScanResult | undefined): void;
}

export interface ScanResult {
  readonly records: Uint32Array;
  readonly ranks: Float32Array;
  /**
   * False if there were so many equal ranks that hits may be missing: the order of equal ranks is the insertion order,
   * which other threads do not know.
   */
  readonly isComplete: boolean;
}

/** Reads rows from files (`row-files/row-files.ts`), which the owner holds until the end of the task. */
export interface RankTask {
  readonly kind: "rank";
  readonly costMs: number;
  readonly query: PreparedQuery;
  readonly similarity: Similarity;
  readonly places: readonly RowPlace[];
  /**
   * The number of wanted hits, if the places are those of candidates in the order of a walk: then the ranking ends when
   * further hits are unlikely (`search/late-hits.ts`). 0 ranks all.
   */
  readonly hitCount: number;
  /** The distances of the candidates by their codes; empty if `hitCount` is 0. */
  readonly distances: readonly number[];
  done(result: RankResult | undefined): void;
}

export interface RankResult {
  /** Of the first places, in their order. */
  readonly ranks: Float32Array;
  /** True if the next row could not be read as it was written. */
  readonly isDamaged: boolean;
}

/** Ranks all rows of one file that its owner lists, which holds the file until the end of the task. */
export interface FileScanTask {
  readonly kind: "file scan";
  readonly costMs: number;
  readonly query: PreparedQuery;
  readonly similarity: Similarity;
  readonly descriptor: number;
  /** By entry of the file; `NO_RECORD` for those that are not scanned. */
  readonly records: Uint32Array;
  /** The number of hits. */
  readonly count: number;
  done(result: FileScanResult | undefined): void;
}

export interface FileScanResult extends ScanResult {
  /** True if a row could not be read as it was written; then the others are worth nothing. */
  readonly isDamaged: boolean;
}

export type SearchTask = WalkTask | ScanTask | RankTask | FileScanTask;

export type ReadTask = RankTask | FileScanTask;

/** Takes tasks away from the thread of the index, and makes a job wait. */
export interface TaskTaker {
  /** Whether a task of this duration would be taken now. */
  wants(costMs: number): boolean;
  /** True if another thread does the task; then `done` is called. */
  take(task: SearchTask): boolean;
  /**
   * As `take`, for a task that waits for the disk, which the thread of the index must not do. `later`: all threads have
   * enough to do, and the next step of the job is when one has room. `never`: no thread reads.
   */
  takeRead(task: ReadTask): "taken" | "later" | "never";
  /** The next step of the job is when the promise is settled. */
  waitFor(promise: Promise<unknown>): void;
}
