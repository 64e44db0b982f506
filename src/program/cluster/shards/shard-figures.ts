/** The metrics of several shards in one list: each series names its shard. */
import type { FamilySnapshot } from "../../../kernel/metrics.ts";

const SHARD = "shard";

export interface ShardFamilies {
  readonly shard: number;
  readonly families: readonly FamilySnapshot[];
}

/** One family of each name; those that name a shard already stay as they are. */
export function mergeShardFamilies(shards: readonly ShardFamilies[]): readonly FamilySnapshot[] {
  const merged = new Map<string, FamilySnapshot>();
  for (const { shard, families } of shards)
    for (const family of families) {
      const named = family.labelNames.includes(SHARD) ? family : withShard(family, shard);
      const before = merged.get(named.name);
      merged.set(named.name, before === undefined ? named : { ...before, series: [...before.series, ...named.series] });
    }
  return [...merged.values()];
}

function withShard(family: FamilySnapshot, shard: number): FamilySnapshot {
  return {
    ...family,
    labelNames: [SHARD, ...family.labelNames],
    series: family.series.map(({ labelValues, values }) => ({ labelValues: [String(shard), ...labelValues], values })),
  };
}
