/**
 * Classes of queries by dense vectors that need different efforts for the same
 * recall: by the range of topK, and by the share of records that pass the filter.
 * Each is a row; the number of a class is that of its topK row and its filter
 * row.
 */

export interface TopKRange {
  /** As reports name it. */
  readonly name: string;
  readonly max: number;
  /** The level of the effort (`effort.ts`) until the first measurement. bench/vector.bench.ts */
  readonly firstLevel: number;
}

export interface FilterKind {
  readonly name: string;
  /** The least share of records that pass. */
  readonly shareMin: number;
}

export const topKRanges: readonly TopKRange[] = [
  { name: "1-10", max: 10, firstLevel: 2 },
  { name: "11-100", max: 100, firstLevel: 5 },
  { name: "101-1000", max: 1_000, firstLevel: 3 },
  { name: "over 1000", max: Number.POSITIVE_INFINITY, firstLevel: 2 },
];

/** The first row is for queries without a filter. Walks with a small share are rare: a scan costs less. */
export const filterKinds: readonly FilterKind[] = [
  { name: "none", shareMin: Number.NaN },
  { name: "50-100%", shareMin: 0.5 },
  { name: "10-50%", shareMin: 0.1 },
  { name: "0-10%", shareMin: 0 },
];

export const CLASS_COUNT = topKRanges.length * filterKinds.length;

/** topK 1 to 10 without a filter: it is measured even before the first query. */
export const BASE_CLASS = 0;

/** `share` is that of the records that pass the filter, from 0 to 1; undefined without a filter. */
export function classOf(topK: number, share: number | undefined): number {
  const range = topKRanges.findIndex(({ max }) => topK <= max);
  const kind = share === undefined ? 0 : filterKinds.findIndex(({ shareMin }) => share >= shareMin);
  return range * filterKinds.length + kind;
}

export function rangeOf(number: number): TopKRange {
  return topKRanges[Math.floor(number / filterKinds.length)] as TopKRange;
}

export function kindOf(number: number): FilterKind {
  return filterKinds[number % filterKinds.length] as FilterKind;
}

/** The class with the same topK range and no filter. */
export function unfilteredOf(number: number): number {
  return number - (number % filterKinds.length);
}
