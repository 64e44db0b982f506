/** Changes of tenants on the side of one shard and its engine. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlacedTenant, TenantChanges } from "../../areas/area-tenant.ts";
import { type ShardEngine, TenantsOfShard } from "./tenants-of-shard.ts";

function engine(): {
  readonly engine: ShardEngine;
  readonly calls: string[];
  readonly journal: { end: number; synced: number };
} {
  const calls: string[] = [];
  const journal = { end: 3, synced: 3 };
  const service = {
    setTokens: async ({ name }: { name: string }) => void calls.push(`set ${name}`),
    forgetTokens: (name: string) => void calls.push(`forget ${name}`),
    dropTenant: async (name: string) => void calls.push(`drop ${name}`),
  };
  return { engine: { service, persistence: { journal } }, calls, journal };
}

const CHANGES: TenantChanges = {
  put: [
    { name: "shop", tokens: [], shard: 1 },
    { name: "far", tokens: [], shard: 2 },
  ],
  closed: [
    { name: "lost", shard: 1 },
    { name: "far lost", shard: 2 },
  ],
  removed: [
    { name: "old", shard: 1 },
    { name: "far old", shard: 2 },
  ],
  left: [
    { name: "moved", shard: 1 },
    { name: "far moved", shard: 2 },
  ],
};

const GONE = [
  { name: "old", shard: 1 },
  { name: "moved", shard: 1 },
];

test("a shard that is not served leaves changes to the next claim", async () => {
  const shard = new TenantsOfShard(1);
  assert.deepEqual(await shard.change(CHANGES), []);
});

test("a served shard makes its own changes, and says whose data is gone", async () => {
  const { engine: own, calls } = engine();
  const shard = new TenantsOfShard(1);
  shard.opening();
  await shard.opened(own);
  assert.deepEqual(await shard.change(CHANGES), GONE);
  assert.deepEqual(calls, ["drop old", "drop moved", "forget lost", "set shop"]);
  await shard.closed();
  assert.deepEqual(await shard.change(CHANGES), []);
  assert.equal(calls.length, 4);
});

test("changes that come while a shard is opened are made before it serves", async () => {
  const { engine: own, calls } = engine();
  const shard = new TenantsOfShard(1);
  shard.opening();
  assert.deepEqual(await shard.change(CHANGES), []);
  assert.deepEqual(calls, []);
  await shard.opened(own);
  assert.deepEqual(calls, ["drop old", "drop moved", "forget lost", "set shop"]);
});

test("data is gone when the removal is committed, not before", async () => {
  const { engine: own, journal } = engine();
  const shard = new TenantsOfShard(1);
  shard.opening();
  await shard.opened(own);
  journal.end = 5;
  let gone: readonly PlacedTenant[] | undefined;
  const change = shard.change(CHANGES).then((names) => {
    gone = names;
  });
  for (let turns = 0; turns < 20; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(gone, undefined);
  journal.synced = 5;
  await change;
  assert.deepEqual(gone, GONE);
});

test("a change that freezes a tenant is made when its writes are committed", async () => {
  const { engine: own, journal } = engine();
  const shard = new TenantsOfShard(1);
  shard.opening();
  await shard.opened(own);
  journal.end = 5;
  let isMade = false;
  const put = [{ name: "shop", tokens: [], shard: 1, isMoving: true }] as const;
  const change = shard.change({ put, closed: [], removed: [], left: [] }).then(() => {
    isMade = true;
  });
  for (let turns = 0; turns < 20; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(isMade, false);
  journal.synced = 5;
  await change;
  assert.equal(isMade, true);
});
