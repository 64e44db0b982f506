/** Metrics of several shards in one list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics, printMetrics } from "../../../kernel/metrics.ts";
import { mergeShardFamilies } from "./shard-figures.ts";

function figuresOf(keys: number): Metrics {
  const metrics = new Metrics();
  metrics.gauge("keys", "Keys", ["tenant"]).with("main").set(keys);
  metrics.gauge("lag", "Lag", ["shard"]).with(String(keys)).set(keys);
  return metrics;
}

test("each series names its shard, and each metric is printed once", () => {
  const families = mergeShardFamilies([
    { shard: 1, families: figuresOf(7).snapshot() },
    { shard: 4, families: figuresOf(8).snapshot() },
  ]);
  assert.equal(
    printMetrics([{ labels: { area: "store" }, families }]),
    `# HELP keys Keys
# TYPE keys gauge
keys{area="store",shard="1",tenant="main"} 7
keys{area="store",shard="4",tenant="main"} 8
# HELP lag Lag
# TYPE lag gauge
lag{area="store",shard="7"} 7
lag{area="store",shard="8"} 8
`,
  );
});
