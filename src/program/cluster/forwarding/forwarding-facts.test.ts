/** What nodes know of each other for forwarding: addresses, owners, and the settings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView, shardView } from "../../../../test/harness/cluster/cluster-views.ts";
import type { ClusterView, NodeView } from "../../../cluster/log-store/log-store.ts";
import { readSettings } from "../../settings/read-settings.ts";
import type { ClusterFacts } from "../cluster-facts.ts";
import { parseNodeAddress, printNodeAddress } from "../node-address.ts";
import { printStatus, statusOf } from "../status/status.ts";
import { forwardingPlanOf, ownerOf } from "./forwarding-facts.ts";

const facts: ClusterFacts = {
  id: "0-0",
  branch: "1-1",
  version: 4,
  keys: { number: 0, newest: undefined, former: undefined },
  shards: {
    store: [{ shard: 1, hashSeed: Buffer.from("one-seed"), areTenantsKnown: true }],
    messaging: [{ shard: 2, hashSeed: Buffer.from("two-seed"), areTenantsKnown: true }],
    vector: [{ shard: 3, hashSeed: Buffer.from("sea-seed"), areTenantsKnown: true }],
  },
};

function settingsOf(environment: Readonly<Record<string, string>>) {
  const given = { LARDER_CLUSTER: "postgres://larder@127.0.0.1/larder", ...environment };
  return readSettings({ arguments: ["serve"], environment: given, readFile: () => "", hasPackage: () => true });
}

function node(name: string, address: string, isDead = false): NodeView {
  return nodeView(name, { address, isDead });
}

function viewOf(owner: string | undefined, nodes: readonly NodeView[]): ClusterView {
  return { keyNumber: 0, nodes, shards: [shardView({ shard: 2, area: "messaging", epoch: 4 }, owner)], tenants: 0 };
}

test("the address of a node keeps its form, and that of a node without a cluster address is its URL", () => {
  const ports = { store: 7_400, messaging: 7_401, vector: 7_402 };
  for (const [address, text] of [
    [{ url: "http://127.0.0.1:8079", cluster: undefined }, "http://127.0.0.1:8079"],
    [{ url: "http://a:1", cluster: { host: "10.0.0.1", ports } }, "http://a:1 10.0.0.1:7400,7401,7402"],
    [{ url: "http://a:1", cluster: { host: "fd00::1", ports } }, "http://a:1 [fd00::1]:7400,7401,7402"],
    [
      { url: "https://a/store", cluster: { host: "node-a.internal", ports } },
      "https://a/store node-a.internal:7400,7401,7402",
    ],
  ] as const) {
    assert.equal(printNodeAddress(address), text);
    assert.deepEqual(parseNodeAddress(text), address);
  }
  for (const text of ["http://a:1 10.0.0.1:7400", "http://a:1 tls://10.0.0.1:1,2,3", "http://a:1 a/b:1,2,3"])
    assert.deepEqual(parseNodeAddress(text), { url: "http://a:1", cluster: undefined }, text);
});

test("the owner of an area is the living node that has its shard, and can be called", () => {
  const asked = { area: "messaging", shard: 2, own: "life of b" } as const;
  const a = node("a", "http://127.0.0.1:8079 10.0.0.1:7400,7401,7402");
  const at = { node: "a", host: "10.0.0.1", port: 7_401 };
  assert.deepEqual(ownerOf(viewOf("a", [a]), asked), { kind: "node", at });
  assert.deepEqual(ownerOf(viewOf("a", [node("a", "http://127.0.0.1:8079")]), asked), { kind: "unreachable" });
  for (const view of [
    viewOf("a", [{ ...a, isDead: true }]),
    viewOf("a", []),
    viewOf("b", [a, node("b", "http://127.0.0.1:8079")]),
    viewOf(undefined, [a]),
    { keyNumber: 0, nodes: [a], shards: [], tenants: 0 },
  ])
    assert.deepEqual(ownerOf(view, asked), { kind: "nobody" });
});

test("each area has a port of its own after the one of the setting, and any free port after 0", () => {
  for (const [address, expected] of [
    [
      "10.0.0.1:7400",
      [
        ["10.0.0.1", 7_400],
        ["10.0.0.1", 7_401],
        ["10.0.0.1", 7_402],
      ],
    ],
    [
      "[fd00::1]:0",
      [
        ["fd00::1", 0],
        ["fd00::1", 0],
        ["fd00::1", 0],
      ],
    ],
  ] as const) {
    const reading = settingsOf({ LARDER_CLUSTER_ADDRESS: address, LARDER_TAKEOVER_WAIT: "30s" });
    assert.ok(reading.kind === "run");
    const plans = (["store", "messaging", "vector"] as const).map((area) => forwardingPlanOf(area, reading.run, facts));
    assert.deepEqual(
      plans.map((plan) => [plan?.host, plan?.port]),
      expected,
    );
    assert.equal(plans[0]?.waitMs, 30_000);
    assert.equal(plans[0]?.place, "LARDER_CLUSTER_ADDRESS");
  }
  const without = settingsOf({});
  assert.ok(without.kind === "run");
  assert.equal(forwardingPlanOf("store", without.run, facts), undefined);
});

test("an address that other nodes cannot call is refused, and so is a wait that has no effect", () => {
  const form = "is not an address with a port from 0 to 65533, such as 10.0.0.1:7400 or [fd00::1]:7400";
  for (const [environment, problem] of [
    [{ LARDER_CLUSTER_ADDRESS: "7400" }, `LARDER_CLUSTER_ADDRESS: "7400" ${form}`],
    [{ LARDER_CLUSTER_ADDRESS: "a:65534" }, `LARDER_CLUSTER_ADDRESS: "a:65534" ${form}`],
    [{ LARDER_CLUSTER_ADDRESS: "fd00::1:7400" }, `LARDER_CLUSTER_ADDRESS: "fd00::1:7400" ${form}`],
    [{ LARDER_CLUSTER_ADDRESS: "http://a:7400" }, `LARDER_CLUSTER_ADDRESS: "http://a:7400" ${form}`],
    [
      { LARDER_CLUSTER_ADDRESS: "0.0.0.0:7400" },
      "LARDER_CLUSTER_ADDRESS: 0.0.0.0 cannot be called by other nodes: name one address of this machine",
    ],
    [
      { LARDER_TAKEOVER_WAIT: "0s" },
      "LARDER_TAKEOVER_WAIT has no effect without --cluster-address: set that as well, or leave it out",
    ],
    [
      { LARDER_CLUSTER: "", LARDER_CLUSTER_ADDRESS: "a:7400" },
      "LARDER_CLUSTER_ADDRESS has no effect without --cluster: set that as well, or leave it out",
    ],
    [
      { LARDER_CLUSTER: "", LARDER_OWNER_HEADER: "on" },
      "LARDER_OWNER_HEADER has no effect without --cluster: set that as well, or leave it out",
    ],
  ] as const) {
    const reading = settingsOf(environment);
    assert.deepEqual(reading.kind === "refused" && reading.problems, [problem]);
  }
});

test("the status names the cluster address of a node", () => {
  const a = node("a", "http://127.0.0.1:8079 10.0.0.1:7400,7401,7402");
  const status = statusOf(facts, {
    first: { keyNumber: 0, nodes: [a], shards: [], tenants: 0 },
    last: { keyNumber: 0, nodes: [{ ...a, beat: 2 }], shards: [], tenants: 0 },
    memory: new Map(),
    made: { count: 0, seen: new Map() },
  });
  assert.equal(
    printStatus(status)[1],
    "node a: alive, http://127.0.0.1:8079, cluster address 10.0.0.1:7400,7401,7402, owner name 0f9cbb9c8030294b",
  );
  assert.equal(status.nodes[0]?.address, "http://127.0.0.1:8079");
});
