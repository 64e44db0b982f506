/** The most important figures, from made-up metrics. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../../kernel/metrics.ts";
import { figuresIn, printStats, type ServerStats } from "./stats.ts";

test("adds up series, and leaves out figures that an area does not have or cannot report", () => {
  const metrics = new Metrics();
  const keys = metrics.gauge("larder_store_keys", "Keys", ["database"]);
  keys.with("a").set(3);
  keys.with("b").set(4);
  metrics.reading("larder_directory_bytes", "Bytes", () => Number.NaN);
  metrics.reading("larder_vector_records", "Records", () => 9);

  assert.deepEqual(figuresIn(metrics.snapshot(), "store"), { keys: 7 });
  assert.deepEqual(figuresIn(metrics.snapshot(), "vector"), { vectors: 9 });
  assert.deepEqual(figuresIn(metrics.snapshot(), "server"), {});
});

test("the recall of the vector area is the lowest one, and is absent if nothing was measured", () => {
  const metrics = new Metrics();
  const recall = metrics.gauge("larder_vector_recall", "Recall", ["index"]);
  assert.deepEqual(figuresIn(metrics.snapshot(), "vector"), {});
  recall.with("a").set(0.99);
  recall.with("b").set(0.5);
  assert.deepEqual(figuresIn(metrics.snapshot(), "vector"), { recall: 0.5 });
});

test("prints units for people, and rates per second", () => {
  const stats = (commands: number): ServerStats => ({
    version: "1.2.3",
    server: { uptimeSeconds: 3.25, memoryBytes: 157_286_400, diskFreeBytes: 0 },
    areas: {
      store: { state: "serving", tenants: 2, figures: { keys: 7, commands, directoryBytes: 1_023 }, durations: [] },
      messaging: { state: "opening", tenants: undefined, figures: {}, durations: [] },
      vector: { state: "serving", tenants: 1, figures: { vectors: 9, recall: 0.98765 }, durations: [] },
    },
    cluster: {
      node: "a",
      nodes: [
        { name: "a", isAlive: true, isDrained: false, isFront: false, format: 2, since: "2026-01-01T00:00:00.000Z" },
        { name: "b", isAlive: false, isDrained: true, isFront: false, format: 1, since: "2026-01-02T00:00:00.000Z" },
        { name: "f", isAlive: true, isDrained: false, isFront: true, format: 0, since: "2026-01-03T00:00:00.000Z" },
      ],
    },
  });

  assert.deepEqual(printStats(stats(150), stats(100), 2), [
    "larder 1.2.3",
    "  up for              3.25 s",
    "  memory              150 mb",
    "  disk free           0 bytes",
    "store (serving)",
    "  databases           2",
    "  keys                7",
    "  commands            150  25/s",
    "  on disk             1023 bytes",
    "messaging (opening)",
    "vector (serving)",
    "  indexes             1",
    "  vectors             9",
    "  lowest recall       98.8 %",
    "nodes",
    "  a                   alive, since 2026-01-01T00:00:00.000Z, format 2",
    "  b                   dead, drained, since 2026-01-02T00:00:00.000Z, format 1",
    "  f                   alive, since 2026-01-03T00:00:00.000Z, front",
  ]);
});
