/** The metrics of several threads of an area in one list, with the labels that those of one thread have. */
import type { FamilySnapshot, SeriesSnapshot } from "../../../../kernel/metrics.ts";

/** One family of each name. Series with the same labels are added up, or the largest stays. */
export function mergeThreadFamilies(threads: readonly (readonly FamilySnapshot[])[]): readonly FamilySnapshot[] {
  const merged = new Map<string, FamilySnapshot>();
  for (const family of threads.flat()) {
    const before = merged.get(family.name);
    merged.set(family.name, before === undefined ? family : { ...before, series: mergeSeries(before, family) });
  }
  return [...merged.values()];
}

function mergeSeries({ series, ofThreads }: FamilySnapshot, other: FamilySnapshot): readonly SeriesSnapshot[] {
  const merged = new Map(series.map((each) => [keyOf(each), each]));
  for (const each of other.series) {
    const before = merged.get(keyOf(each));
    const values = before === undefined ? each.values : combine(before.values, each.values, ofThreads);
    merged.set(keyOf(each), { labelValues: each.labelValues, values });
  }
  return [...merged.values()];
}

function combine(
  left: readonly number[],
  right: readonly number[],
  ofThreads: FamilySnapshot["ofThreads"],
): readonly number[] {
  return left.map((value, index) => {
    const other = right[index] ?? 0;
    return ofThreads === "largest" ? Math.max(value, other) : value + other;
  });
}

function keyOf({ labelValues }: SeriesSnapshot): string {
  return labelValues.join("\u0000");
}
