import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { DescriptorWatch, descriptorLimit, descriptorsForConnections } from "./descriptors.ts";

test("reserves descriptors for files and the admin port", () => {
  assert.equal(descriptorsForConnections(1_024), 960);
  assert.equal(descriptorsForConnections(100), 75);
  assert.ok((descriptorLimit() ?? Number.POSITIVE_INFINITY) > 100);
});

test("S-01: too few descriptors are logged once a minute, show as a metric, and make the process not ready", () => {
  const clock = new VirtualClock();
  const metrics = new Metrics();
  const lines: string[] = [];
  let free: number | undefined = 20;
  const watch = new DescriptorWatch({
    clock,
    log: createLog({ level: "warn", format: "json", clock, sink: (line) => lines.push(line) }),
    metrics,
    limit: 1_024,
    probe: () => free,
  });
  const figure = (): unknown =>
    metrics.snapshot().find(({ name }) => name === "larder_descriptors_short")?.series[0]?.values[0];
  const REASON = "too few file descriptors: raise the limit of 1024 (ulimit -n, LimitNOFILE)";

  assert.deepEqual([watch.reason, figure(), lines.length], [undefined, 0, 0]);
  for (free of [960, undefined]) {
    clock.advance(1_000);
    assert.deepEqual([watch.reason, figure(), lines.length], [REASON, 1, 1]);
  }
  free = 959;
  clock.advance(9_000);
  assert.equal(watch.reason, REASON);
  clock.advance(1_000);
  assert.deepEqual([watch.reason, figure()], [undefined, 0]);
  watch.stop();
});
