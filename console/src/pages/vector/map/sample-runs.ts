/** Which records of a large namespace a map shows: runs that begin at evenly spaced offsets. */

/** Records of a map. */
const SAMPLE_MAX = 1_000;
/** Numbers of a map: a long vector has 20 KB of JSON. */
const NUMBERS_MAX = 500_000;
/** Of a map, however long its vectors are. */
const SAMPLE_MIN = 100;
const RUNS = 20;

export interface Run {
  /** The number of records before it: a cursor of `range`. */
  readonly offset: number;
  readonly count: number;
}

/** The most records of a map. The dimension is 0 if it has not been set. */
export function sampleMax(dimension: number): number {
  return Math.max(SAMPLE_MIN, Math.min(SAMPLE_MAX, Math.floor(NUMBERS_MAX / Math.max(1, dimension))));
}

/** The runs of a namespace that has more records than a map, in order. */
export function sampleRuns(recordCount: number, dimension: number): readonly Run[] {
  const count = Math.floor(sampleMax(dimension) / RUNS);
  return Array.from({ length: RUNS }, (_, index) => ({ offset: Math.floor((index * recordCount) / RUNS), count }));
}
