import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { Turns } from "../../kernel/turns.ts";
import { measureTurns } from "./turns.ts";

test("the busiest tenant of the area comes first, and idle ones are left out", () => {
  const turns = new Turns({ clock: new VirtualClock() });
  const metrics = new Metrics();
  measureTurns(metrics, turns, "store");
  turns.tenant("store", "light").charge(2, 2);
  turns.tenant("store", "heavy").charge(1_500, 1_502);
  turns.tenant("store", "idle");
  turns.tenant("vector", "other").charge(5, 1_507);
  const series = Object.fromEntries(
    metrics
      .snapshot()
      .map(({ name, series }) => [
        name,
        series.map(({ labelValues: [tenant], values: [value] }) => `${tenant} ${value}`),
      ]),
  );
  assert.deepEqual(series, {
    larder_tenant_seconds_total: ["heavy 1.5", "light 0.002"],
    larder_tenant_waits_total: ["heavy 0", "light 0"],
    larder_tenant_heavy_units_total: ["heavy 1", "light 0"],
    larder_tenant_wait_seconds_max: ["heavy 0", "light 0"],
    larder_tenant_waiting_units: ["heavy 0", "light 0"],
  });
});
