/** Metrics by tenant with a bounded number of series: the largest by name, and the sum of the others. */
import type { SeriesSnapshot } from "../../kernel/metrics.ts";

/** The most tenants with their own series in a family. */
export const TENANTS_NAMED_MAX = 50;

/** The name of the series for the others. */
const OTHER = "other";

/** The largest first. Tenants with 0 are left out. */
export function tenantSeries(
  figures: Iterable<readonly [name: string, value: number]>,
  namedMax = TENANTS_NAMED_MAX,
): SeriesSnapshot[] {
  const all = [...figures].filter(([, value]) => value > 0).sort(([, one], [, other]) => other - one);
  const series = new Map<string, number>();
  for (const [index, [name, value]] of all.entries()) {
    const label = index < namedMax ? name : OTHER;
    series.set(label, (series.get(label) ?? 0) + value);
  }
  return [...series].map(([name, value]) => ({ labelValues: [name], values: [value] }));
}
