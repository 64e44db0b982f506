/** Metrics of several threads as those of one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics, printMetrics } from "../../../../kernel/metrics.ts";
import { mergeThreadFamilies } from "./thread-figures.ts";

interface Figures {
  readonly requests: number;
  readonly delay: number;
  readonly pause: number;
  readonly shard: number;
}

function figuresOf({ requests, delay, pause, shard }: Figures): Metrics {
  const metrics = new Metrics();
  metrics.counter("requests_total", "Requests", ["route"]).with("get").add(requests);
  metrics.readings({ name: "delay", help: "Delay", kind: "gauge", labelNames: [], ofThreads: "largest" }, () => [
    { labelValues: [], values: [delay] },
  ]);
  metrics
    .histogram("pause", "Pauses", { buckets: [1] })
    .with()
    .observe(pause);
  metrics.gauge("keys", "Keys", ["shard"]).with(String(shard)).set(shard);
  return metrics;
}

test("series with the same labels are added up, a largest value stays, and other series stand beside each other", () => {
  const families = mergeThreadFamilies([
    figuresOf({ requests: 2, delay: 7, pause: 0.5, shard: 1 }).snapshot(),
    figuresOf({ requests: 3, delay: 5, pause: 4, shard: 4 }).snapshot(),
  ]);
  assert.equal(
    printMetrics([{ labels: { area: "store" }, families }]),
    `# HELP requests_total Requests
# TYPE requests_total counter
requests_total{area="store",route="get"} 5
# HELP delay Delay
# TYPE delay gauge
delay{area="store"} 7
# HELP pause Pauses
# TYPE pause histogram
pause_bucket{area="store",le="1"} 1
pause_bucket{area="store",le="+Inf"} 2
pause_sum{area="store"} 4.5
pause_count{area="store"} 2
# HELP keys Keys
# TYPE keys gauge
keys{area="store",shard="1"} 1
keys{area="store",shard="4"} 4
`,
  );
});
