/** What searches find, and what a search by one of the two vectors offers. */

export interface ScoredRecord {
  readonly record: number;
  /** As it is answered: a float32. */
  readonly score: number;
}

/** `rank` decides the order, `score` is what it is called outside (B2.dot-product). */
export interface RankedRecord extends ScoredRecord {
  readonly rank: number;
}

/** Finds the records nearest to one vector, in steps of about a millisecond. */
export interface CandidateSearch {
  /** True when all is found. */
  step(): boolean;
  /** Best first, as many as were asked for if there are so many. */
  hits(): readonly RankedRecord[];
  /** What a record is worth now, or undefined when this search can never find it. */
  scoreNow(record: number): RankedRecord | undefined;
}
