/** Rates and latencies from two readings of the statistics. */

export interface Reading {
  readonly atMs: number;
  readonly areas: Readonly<Record<string, MeasuredArea>>;
}

/** An area in `GET /v1/stats`. */
export interface MeasuredArea {
  /** `requests`: answered since its start. */
  readonly figures: Readonly<Record<string, number>>;
  /** How many requests took up to so many seconds, and longer than the pair before; null: longer than all. */
  readonly durations: readonly (readonly [endSeconds: number | null, count: number])[];
}

/** Requests per second of an area between two readings; 0 after a restart. */
export function rateBetween(before: Reading, after: Reading, area: string): number {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const requestsIn = (reading: Reading): number => reading.areas[area]?.figures["requests"] ?? 0;
  const count = requestsIn(after) - requestsIn(before);
  return seconds > 0 && count > 0 ? count / seconds : 0;
}

/** The upper end of the bucket with the given share of the requests between two readings, in ms; null without requests. */
export function latencyBetween(
  before: Reading,
  after: Reading,
  { area, share }: { area: string; share: number },
): number | null {
  const old = before.areas[area]?.durations ?? [];
  const counts = (after.areas[area]?.durations ?? []).map(
    ([end, count], index) => [end, count - (old[index]?.[1] ?? 0)] as const,
  );
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  if (total <= 0) return null;
  let below = 0;
  for (const [end, count] of counts) {
    below += count;
    if (below >= share * total) return end === null ? null : end * 1_000;
  }
  return null;
}
