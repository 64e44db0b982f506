import assert from "node:assert/strict";
import { test } from "node:test";
import { tenantSeries } from "./tenant-figures.ts";

test("the largest tenants have series of their own, and the others one together", () => {
  const figures = [
    ["a", 1],
    ["b", 5],
    ["none", 0],
    ["c", 3],
    ["other", 2],
  ] as const;
  assert.deepEqual(tenantSeries(figures, 2), [
    { labelValues: ["b"], values: [5] },
    { labelValues: ["c"], values: [3] },
    { labelValues: ["other"], values: [3] },
  ]);
});
