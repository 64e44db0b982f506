/** Which shard each tenant of an imported area goes to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shareTenants } from "./split-area.ts";

const tenants = [
  { name: "small", bytes: 1 },
  { name: "large", bytes: 10 },
  { name: "middle", bytes: 6 },
  { name: "other", bytes: 6 },
];

test("the largest tenant is next, and goes to the shard with the fewest bytes", () => {
  assert.deepEqual(
    [...shareTenants(tenants, [1, 4], new Map())],
    [
      ["large", 1],
      ["middle", 4],
      ["other", 4],
      ["small", 1],
    ],
  );
});

test("a tenant with a row goes to its shard, and counts there", () => {
  assert.deepEqual(
    [...shareTenants(tenants, [1, 4], new Map([["large", 4]]))],
    [
      ["large", 4],
      ["middle", 1],
      ["other", 1],
      ["small", 4],
    ],
  );
  const all = shareTenants(tenants, [1, 4], new Map());
  assert.deepEqual(new Map(shareTenants(tenants, [1, 4], all)), new Map(all));
});
