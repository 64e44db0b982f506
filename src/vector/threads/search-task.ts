/**
 * The parts of a search that another thread can do: a walk over a graph, and a
 * scan of rows. A task names memory and copies what is not in shared memory; its
 * result has candidates, which the owner of the index checks (`search-threads.ts`
 * has the protocol).
 */
import type { GraphKernel } from "../graph/graph-kernel.ts";
import type { Similarity } from "../index/definition.ts";
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
  /** Candidates, best first. */
  readonly records: Uint32Array;
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

export type SearchTask = WalkTask | ScanTask;

/** Takes tasks away from the thread of the index. */
export interface TaskTaker {
  /** Whether a task of this duration would be taken now. */
  wants(costMs: number): boolean;
  /** True if another thread does the task; then `done` is called. */
  take(task: SearchTask): boolean;
}
