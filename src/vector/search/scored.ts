/** The results of searches, and the interface of a search by one of the two vectors. */
import type { TaskTaker } from "../threads/search-task.ts";

export interface ScoredRecord {
  readonly record: number;
  /** The score in answers, a float32. */
  readonly score: number;
}

/** `rank` decides the order; `score` is returned to clients (B2.dot-product). */
export interface RankedRecord extends ScoredRecord {
  readonly rank: number;
}

/** Finds the nearest records to a vector, in steps of about a millisecond. */
export interface CandidateSearch {
  /** Returns true when the search is done. If `taker` took a task of it, the next step is after the task's end. */
  step(taker?: TaskTaker): boolean;
  /** True if it ranks every record that passes, so that it misses none. Known from the first step on. */
  readonly isScan: boolean;
  /** The hits, best first, as many as requested if they exist. */
  hits(): readonly RankedRecord[];
  /**
   * Reads what `scoreNow` needs for these records, if it is in files. Returns false if that waits: the next step calls it
   * again, with the records that changed until then. Absent if all rows are in memory.
   */
  readScores?(records: readonly number[], taker?: TaskTaker): boolean;
  /** The current score of a record, or undefined if this search can never find it. */
  scoreNow(record: number): RankedRecord | undefined;
  /** Whether changes since its steps change the scores of all records, as weights by IDF do. Absent if none does. */
  readonly isOutdated?: boolean;
  /** Lets the next steps search again. Present if `isOutdated` is. */
  restart?(): void;
  /** Called if the search is not stepped to its end. Absent if it holds nothing. */
  abandon?(): void;
}
