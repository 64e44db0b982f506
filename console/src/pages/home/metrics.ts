/** Rates and latencies from two readings of `/metrics`. */

export interface Reading {
  readonly atMs: number;
  /** Requests answered by each area since its start. */
  readonly requests: ReadonlyMap<string, number>;
  /** By area: the upper ends of the buckets in seconds, with the number of requests up to each. */
  readonly latencies: ReadonlyMap<string, ReadonlyMap<number, number>>;
}

const BUCKET = /^larder_http_request_duration_seconds_bucket\{area="([^"]*)",.*le="([^"]*)"\} (\S+)$/;
const REQUESTS = /^larder_http_requests_total\{area="([^"]*)".*\} (\S+)$/;

export function readMetrics(text: string, atMs: number): Reading {
  const requests = new Map<string, number>();
  const latencies = new Map<string, Map<number, number>>();
  for (const line of text.split("\n")) {
    const [, area, count] = REQUESTS.exec(line) ?? [];
    if (area !== undefined) requests.set(area, (requests.get(area) ?? 0) + Number(count));
    const [, timed, end, below] = BUCKET.exec(line) ?? [];
    if (timed === undefined) continue;
    const buckets = latencies.get(timed) ?? new Map<number, number>();
    latencies.set(timed, buckets);
    const limit = end === "+Inf" ? Number.POSITIVE_INFINITY : Number(end);
    buckets.set(limit, (buckets.get(limit) ?? 0) + Number(below));
  }
  return { atMs, requests, latencies };
}

/** Requests per second of an area between two readings; 0 after a restart. */
export function rateBetween(before: Reading, after: Reading, area: string): number {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const count = (after.requests.get(area) ?? 0) - (before.requests.get(area) ?? 0);
  return seconds > 0 && count > 0 ? count / seconds : 0;
}

/** The upper end of the bucket with the given share of the requests between two readings, in ms; null without requests. */
export function latencyBetween(
  before: Reading,
  after: Reading,
  { area, share }: { area: string; share: number },
): number | null {
  const old = before.latencies.get(area);
  const counts = [...(after.latencies.get(area) ?? [])]
    .map(([end, count]) => [end, count - (old?.get(end) ?? 0)] as const)
    .sort(([one], [other]) => one - other);
  const total = counts.at(-1)?.[1] ?? 0;
  if (total <= 0) return null;
  const [end] = counts.find(([, count]) => count >= share * total) ?? [Number.POSITIVE_INFINITY];
  return Number.isFinite(end) ? end * 1_000 : null;
}
