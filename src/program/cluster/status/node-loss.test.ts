/** Whether the shards of a lost node fit on the others, by what the nodes have reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView as node, shardView } from "../../../../test/harness/cluster/cluster-views.ts";
import type { ClusterView, ShardView } from "../../../cluster/log-store/log-store.ts";
import type { FamilySnapshot } from "../../../kernel/metrics.ts";
import { lossesOf, printLoss } from "./node-loss.ts";
import { memoryOf, type NodeMemory } from "./node-memory.ts";

function shard(id: number, area: string, owner: string, pin?: string): ShardView {
  return shardView({ shard: id, area, pin }, owner);
}

/** A node with 100 MB for each area. */
function memory(usedMb: number, shards: NodeMemory["shards"] = {}): NodeMemory {
  return {
    pools: (["store", "messaging", "vector"] as const).map((area) => ({
      areas: [area],
      limitBytes: 100_000_000,
      usedBytes: usedMb * 1_000_000,
    })),
    shards,
  };
}

function printed(view: ClusterView, reports: Readonly<Record<string, NodeMemory>>): readonly string[] {
  const byLife = new Map(Object.entries(reports).map(([name, report]) => [`life of ${name}`, report]));
  return lossesOf(view, byLife).map(printLoss);
}

test("the loss of a node fits while the takers of its shards stay below 70 % of their limits", () => {
  const view: ClusterView = {
    keyNumber: 0,
    tenants: 0,
    nodes: [node("a"), node("b"), node("c")],
    // Each goes to the node that it is pinned to when its owner is gone.
    shards: [shard(1, "store", "a", "b"), shard(4, "store", "a", "c"), shard(3, "vector", "b", "a")],
  };
  const own = { 1: 30_000_000, 4: 30_000_000 };
  assert.deepEqual(printed(view, { a: memory(60, own), b: memory(40, { 3: 10_000_000 }), c: memory(40) }), [
    "loss of node a: fits",
    "loss of node b: fits",
  ]);
  assert.deepEqual(printed(view, { a: memory(61, own), b: memory(41, { 3: 10_000_000 }), c: memory(45) }), [
    "loss of node a: does not fit, because node b would use 71 MB of 100 MB for store; node c would use 75 MB of 100 MB for store",
    "loss of node b: does not fit, because node a would use 71 MB of 100 MB for vector",
  ]);
});

test("shards that one node takes over count together, and areas on one thread share their memory", () => {
  const view: ClusterView = {
    keyNumber: 0,
    tenants: 0,
    nodes: [node("a"), node("b")],
    shards: [shard(1, "store", "a"), shard(2, "messaging", "a")],
  };
  const own = memory(60, { 1: 35_000_000, 2: 35_000_000 });
  const pool = { areas: ["store", "messaging", "vector"] as const, limitBytes: 100_000_000, usedBytes: 5_000_000 };
  assert.deepEqual(printed(view, { a: own, b: memory(5) }), ["loss of node a: fits"]);
  assert.deepEqual(printed(view, { a: own, b: { pools: [pool], shards: {} } }), [
    "loss of node a: does not fit, because node b would use 75 MB of 100 MB for store, messaging, vector",
  ]);
});

test("dead and drained nodes take nothing while another node lives", () => {
  const shards = [shard(1, "store", "a", "b")];
  const reports = { a: memory(10, { 1: 10_000_000 }), b: memory(1), c: memory(65) };
  const text = "loss of node a: does not fit, because node c would use 75 MB of 100 MB for store";
  assert.deepEqual(
    printed(
      { keyNumber: 0, tenants: 0, nodes: [node("a"), node("b", { isDrained: true }), node("c")], shards },
      reports,
    ),
    [text],
  );
  assert.deepEqual(
    printed({ keyNumber: 0, tenants: 0, nodes: [node("a"), node("b", { isDead: true }), node("c")], shards }, reports),
    [text],
  );
  assert.deepEqual(
    printed({ keyNumber: 0, tenants: 0, nodes: [node("a"), node("b", { isDead: true })], shards }, reports),
    ["loss of node a: does not fit, because no other node lives that could serve shard 1"],
  );
});

test("without a report nothing is claimed", () => {
  const view: ClusterView = {
    keyNumber: 0,
    tenants: 0,
    nodes: [node("a"), node("b")],
    shards: [shard(1, "store", "a")],
  };
  assert.deepEqual(printed(view, { b: memory(1) }), [
    "loss of node a: unknown, because node a has not reported its memory",
  ]);
  assert.deepEqual(printed(view, { a: memory(1, { 1: 1 }) }), [
    "loss of node a: unknown, because node b has not reported its memory",
  ]);
  // It was claimed since the last report.
  assert.deepEqual(printed(view, { a: memory(1), b: memory(1) }), [
    "loss of node a: unknown, because node a has not reported shard 1",
  ]);
});

function family(name: string, labelNames: readonly string[], series: FamilySnapshot["series"]): FamilySnapshot {
  return { name, help: "", kind: "gauge", labelNames, buckets: [], series };
}

test("the memory of a node comes from the figures of its areas, by shard where an area has several", () => {
  const limits = [
    family("larder_memory_limit_bytes", [], [{ labelValues: [], values: [1_000] }]),
    family("larder_memory_used_bytes", [], [{ labelValues: [], values: [300] }]),
  ];
  const sharded = family(
    "larder_tenant_memory_bytes",
    ["shard", "tenant"],
    [
      { labelValues: ["1", "main"], values: [5] },
      { labelValues: ["4", "one"], values: [7] },
      { labelValues: ["4", "other"], values: [70] },
    ],
  );
  const only = family(
    "larder_tenant_memory_bytes",
    ["tenant"],
    [
      { labelValues: ["main"], values: [2] },
      { labelValues: ["one"], values: [9] },
    ],
  );
  const areas = [
    { area: "store", families: [...limits, sharded], served: [1, 4, 7] },
    { area: "messaging", families: [...limits, only], served: [2] },
    { area: "vector", families: limits, served: [] },
  ] as const;
  const pool = { limitBytes: 1_000, usedBytes: 300 };
  const shards = { 1: 5, 2: 11, 4: 77, 7: 0 };
  assert.deepEqual(memoryOf(areas, false), {
    pools: [
      { areas: ["store"], ...pool },
      { areas: ["messaging"], ...pool },
      { areas: ["vector"], ...pool },
    ],
    shards,
  });
  assert.deepEqual(memoryOf(areas, true), { pools: [{ areas: ["store", "messaging", "vector"], ...pool }], shards });
  assert.equal(memoryOf([{ area: "store", families: [], served: [1] }], false), undefined);
});
