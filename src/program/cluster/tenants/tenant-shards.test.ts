/** The shard of a new tenant. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shardForTenant } from "./tenant-shards.ts";

test("a new tenant goes to the shard with the fewest tenants, then with the fewest bytes, then to the first", () => {
  for (const [loads, expected] of [
    [[{ shard: 1, tenants: 0, bytes: 9 }], 1],
    [
      [
        { shard: 1, tenants: 2, bytes: 0 },
        { shard: 4, tenants: 1, bytes: 9 },
      ],
      4,
    ],
    [
      [
        { shard: 1, tenants: 1, bytes: 8 },
        { shard: 4, tenants: 1, bytes: 7 },
        { shard: 7, tenants: 1, bytes: 7 },
      ],
      4,
    ],
    [[], undefined],
  ] as const)
    assert.equal(shardForTenant(loads)?.shard, expected);
});
