/** Medians with their range: the figures of a noisy machine. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** The middle value; the lower of the two middle values for an even count. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
}

/** The lower quartile: used where waiting for other processes increases some values. */
export function lowerQuartile(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 2] ?? Number.NaN;
}
