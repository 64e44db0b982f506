import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics, printMetrics, SERIES_MAX } from "./metrics.ts";

test("counters, gauges and histograms print as Prometheus text with the label of their thread", () => {
  const metrics = new Metrics();
  metrics.counter("larder_requests_total", "Requests answered", ["route", "status"]).with("A1", "200").add(2);
  metrics.gauge("larder_depth", "Things\nthat \\ wait").with().set(1.5);
  const times = metrics.histogram("larder_seconds", "How long", { labelNames: ["route"], buckets: [0.5, 1] });
  times.with("A1").observe(0.5);
  times.with("A1").observe(0.75);
  times.with("A1").observe(7);
  metrics.reading("larder_read", "Kept elsewhere", () => 42);
  const facts = { name: "larder_keys", help: "Keys", kind: "gauge", labelNames: ["database"] } as const;
  metrics.readings(facts, () => [{ labelValues: ["main"], values: [3] }]);

  const text = printMetrics([{ labels: { area: "store" }, families: metrics.snapshot() }]);

  assert.equal(
    text,
    `# HELP larder_requests_total Requests answered
# TYPE larder_requests_total counter
larder_requests_total{area="store",route="A1",status="200"} 2
# HELP larder_depth Things\\nthat \\\\ wait
# TYPE larder_depth gauge
larder_depth{area="store"} 1.5
# HELP larder_seconds How long
# TYPE larder_seconds histogram
larder_seconds_bucket{area="store",route="A1",le="0.5"} 1
larder_seconds_bucket{area="store",route="A1",le="1"} 2
larder_seconds_bucket{area="store",route="A1",le="+Inf"} 3
larder_seconds_sum{area="store",route="A1"} 8.25
larder_seconds_count{area="store",route="A1"} 3
# HELP larder_read Kept elsewhere
# TYPE larder_read gauge
larder_read{area="store"} 42
# HELP larder_keys Keys
# TYPE larder_keys gauge
larder_keys{area="store",database="main"} 3
`,
  );
});

test("families of one name from two threads have one header", () => {
  const first = new Metrics();
  const second = new Metrics();
  first.counter("larder_x_total", "X").with().add(1);
  first.counter("larder_y_total", "Y").with().add(1);
  second.counter("larder_x_total", "X").with().add(2);

  const text = printMetrics([
    { labels: { area: "a" }, families: first.snapshot() },
    { labels: {}, families: second.snapshot() },
  ]);

  assert.equal(
    text,
    `# HELP larder_x_total X
# TYPE larder_x_total counter
larder_x_total{area="a"} 1
larder_x_total 2
# HELP larder_y_total Y
# TYPE larder_y_total counter
larder_y_total{area="a"} 1
`,
  );
});

test("a label value cannot break out of its quotes", () => {
  const metrics = new Metrics();
  metrics.counter("larder_x_total", "X", ["name"]).with('a"} 1\nforged_total 2 \\').add();

  const text = printMetrics([{ labels: {}, families: metrics.snapshot() }]);

  assert.equal(text.split("\n")[2], 'larder_x_total{name="a\\"} 1\\nforged_total 2 \\\\"} 1');
});

test("a full family counts every further series as other", () => {
  const metrics = new Metrics();
  const family = metrics.counter("larder_x_total", "X", ["name"]);

  for (let i = 0; i < SERIES_MAX + 50; i += 1) family.with(`name-${i}`).add();

  const series = metrics.snapshot()[0]?.series ?? [];
  assert.equal(series.length, SERIES_MAX + 1);
  assert.deepEqual(series.at(-1), { labelValues: ["other"], values: [50] });
});

test("a metric cannot be registered twice", () => {
  const metrics = new Metrics();
  metrics.counter("larder_x_total", "X");
  assert.throws(() => metrics.gauge("larder_x_total", "X"), /registered twice/);
});

test("numbers that other code maintains are bounded too: those beyond the bound are added up", () => {
  const metrics = new Metrics();
  const facts = { name: "larder_keys", help: "Keys", kind: "gauge", labelNames: ["database"] } as const;
  const names = Array.from({ length: SERIES_MAX + 2 }, (_, index) => (index === 1 ? "other" : `database-${index}`));
  metrics.readings(facts, () => names.map((name, index) => ({ labelValues: [name], values: [index] })));
  const [family] = metrics.snapshot();
  assert.equal(family?.series.length, SERIES_MAX);
  assert.deepEqual(family?.series[0], { labelValues: ["database-0"], values: [0] });
  // 1, 1000 and 1001.
  assert.deepEqual(family?.series.at(-1), { labelValues: ["other"], values: [2_002] });
});
