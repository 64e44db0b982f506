/** What a person reads of a cluster: its status, the secrets that a node lacks, and a log without repetitions. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { nodeView, shardView } from "../../../test/harness/cluster/cluster-views.ts";
import type { ClusterView, NodeView, ShardView } from "../../cluster/log-store/log-store.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { readSettings } from "../settings/read-settings.ts";
import { resolveTenants } from "../tenants/tokens.ts";
import { ungivenSecrets } from "./given-secrets.ts";
import { assertNoNode, openNodeFile } from "./node-file.ts";
import { sparseLog } from "./sparse-log.ts";
import type { MadeTenants } from "./status/made-tenants.ts";
import type { NodeMemory } from "./status/node-memory.ts";
import { isWhole, printStatus, statusOf } from "./status/status.ts";

const memory: ReadonlyMap<string, NodeMemory> = new Map();

const seeded = (shard: number, seed: string) => [{ shard, hashSeed: Buffer.from(seed), areTenantsKnown: true }];
const facts = {
  id: "0-0-0",
  shards: { store: seeded(1, "one-seed"), messaging: seeded(2, "two-seed"), vector: seeded(3, "sea-seed") },
};

function node(name: string, beat: number, isDead = false): NodeView {
  return nodeView(name, { beat, isDead, address: `http://${name}:8079` });
}

function shard(id: number, area: string, owner: string | undefined, tries = 0): ShardView {
  return shardView({ shard: id, area, epoch: id + 1, tries }, owner);
}

/** No tenants were made at run time, and no node has a key. */
const NONE: MadeTenants = { count: 0, seen: new Map() };

test("the status says which nodes live, and what happens to each shard", () => {
  const shards = [shard(1, "store", "a"), shard(2, "messaging", "b"), shard(3, "vector", "c", 3)];
  const first: ClusterView = {
    keyNumber: 0,
    nodes: [node("a", 1), node("b", 7), node("c", 3, true)],
    shards,
    tenants: 0,
  };
  const last: ClusterView = {
    keyNumber: 0,
    nodes: [node("a", 3), node("b", 7), node("c", 3, true)],
    shards,
    tenants: 0,
  };
  const status = statusOf(facts, { first, last, memory, made: NONE });
  assert.deepEqual(printStatus(status), [
    "cluster 0-0-0",
    "node a: alive, http://a:8079, owner name 6812cf7f0ef62b8f",
    "node b: silent, http://b:8079, owner name 7c6818e993a00cb8",
    "node c: dead, http://c:8079, owner name 3e5887af981363b7",
    "shard 1 (store): owned by a, epoch 2",
    "shard 2 (messaging): owned by b, epoch 3",
    "shard 3 (vector): broken, last by c, epoch 4, 3 claims without a recovery; see the log of c, then run larder cluster retry 3",
    "loss of node a: unknown, because node a has not reported its memory",
  ]);
  assert.equal(isWhole(status), false);
  const whole = { keyNumber: 0, nodes: [node("a", 1)], shards: [shard(1, "store", "a")], tenants: 0 };
  assert.equal(
    isWhole(statusOf(facts, { first: whole, last: { ...whole, nodes: [node("a", 2)] }, memory, made: NONE })),
    true,
  );
});

test("the status says which node follows a shard, and what a takeover by it would read", () => {
  const view = (beat: number): ClusterView => ({
    keyNumber: 0,
    nodes: [node("a", beat), node("b", beat), node("c", 1)],
    shards: [shard(1, "store", "a"), shard(2, "messaging", "a")],
    tenants: 0,
  });
  const reportOf = (bytes: number, seconds: number, history: number | null) => ({ bytes, seconds, history });
  const followed = { 1: reportOf(131_072, 35, null), 2: reportOf(0, 0, 4) };
  const reports = new Map([
    ["life of b", { pools: [], shards: {}, standbys: followed }],
    // A silent node takes over nothing.
    ["life of c", { pools: [], shards: {}, standbys: followed }],
  ]);
  const status = statusOf(facts, { first: view(1), last: view(2), memory: reports, made: NONE });
  assert.deepEqual(status.shards[0]?.standbys, [{ node: "b", missingBytes: 131_072, missingSeconds: 35 }]);
  const lines = printStatus(status).filter((line) => line.startsWith("shard"));
  assert.deepEqual(lines, [
    "shard 1 (store): owned by a, epoch 2, standby b lacks 0.1 MB of the last 35 s",
    "shard 2 (messaging): owned by a, epoch 3, standby b has all of it",
  ]);
});

test("the status says which nodes are drained", () => {
  const view: ClusterView = { keyNumber: 0, nodes: [{ ...node("a", 1), isDrained: true }], shards: [], tenants: 0 };
  assert.deepEqual(printStatus(statusOf(facts, { first: view, last: view, memory, made: NONE })), [
    "cluster 0-0-0",
    "node a: silent, drained, http://a:8079, owner name 6812cf7f0ef62b8f",
  ]);
});

test("the status names fronts, which have no format, and a shard without another node is free", () => {
  const front = { ...node("f", 1), format: 0 };
  const view = (beat: number, isDead: boolean): ClusterView => ({
    keyNumber: 0,
    nodes: [node("a", beat, isDead), { ...front, beat }],
    shards: [shard(1, "store", "a")],
    tenants: 0,
  });
  const lines = (isDead: boolean): readonly string[] =>
    printStatus(statusOf(facts, { first: view(1, isDead), last: view(2, isDead), memory, made: NONE })).slice(2, 4);
  assert.deepEqual(lines(false), [
    "node f: alive, front, http://f:8079, owner name 49d2b87d7076e0ad",
    "shard 1 (store): owned by a, epoch 2",
  ]);
  assert.equal(lines(true)[1], "shard 1 (store): free, last by a, epoch 2");
});

test("the status says which nodes and shards have another format, and that no living node reads a shard", () => {
  const at = (format: number, each: NodeView): NodeView => ({ ...each, format });
  const written = (format: number, each: ShardView): ShardView => ({ ...each, writerFormat: format });
  const shards = [
    written(2, shard(1, "store", "b")),
    written(1, shard(2, "messaging", "a")),
    written(2, shard(3, "vector", undefined)),
  ];
  const view = (beat: number, isDead: boolean): ClusterView => ({
    keyNumber: 0,
    nodes: [at(1, node("a", beat)), at(2, node("b", beat, isDead))],
    shards,
    tenants: 0,
  });
  const mixed = statusOf(facts, { first: view(1, false), last: view(2, false), memory, made: NONE });
  assert.deepEqual(printStatus(mixed).slice(1, 6), [
    "node a: alive, http://a:8079, owner name 6812cf7f0ef62b8f, format 1",
    "node b: alive, http://b:8079, owner name 7c6818e993a00cb8, format 2",
    "shard 1 (store): owned by b, epoch 2, format 2",
    "shard 2 (messaging): owned by a, epoch 3, format 1",
    "shard 3 (vector): free, epoch 4, format 2",
  ]);
  const left = statusOf(facts, { first: view(1, true), last: view(2, true), memory, made: NONE });
  assert.deepEqual(printStatus(left).slice(3, 6), [
    "shard 1 (store): unreadable, last by b, epoch 2, format 2; no living node reads that format: start a node of the newer version",
    "shard 2 (messaging): owned by a, epoch 3, format 1",
    "shard 3 (vector): unreadable, epoch 4, format 2; no living node reads that format: start a node of the newer version",
  ]);
  assert.equal(isWhole(left), false);
});

test("the status of a cluster without nodes says so", () => {
  const empty: ClusterView = { keyNumber: 0, nodes: [], shards: [shard(1, "store", undefined)], tenants: 0 };
  assert.deepEqual(printStatus(statusOf(facts, { first: empty, last: empty, memory, made: NONE })), [
    "cluster 0-0-0",
    "no node has started yet",
    "shard 1 (store): free, epoch 2",
  ]);
});

test("the status says which nodes lack the key of the cluster, or the last change of tenants", () => {
  const view = (beat: number): ClusterView => ({
    keyNumber: 0,
    nodes: [node("a", beat), node("b", beat), node("c", beat), node("d", 1, true)],
    shards: [],
    tenants: 9,
  });
  const seen = new Map([
    ["life of a", 9],
    ["life of b", 8],
  ]);
  assert.deepEqual(printStatus(statusOf(facts, { first: view(1), last: view(2), memory, made: { count: 2, seen } })), [
    "cluster 0-0-0",
    "databases, indexes and users made at run time: 2",
    "node a: alive, http://a:8079, owner name 6812cf7f0ef62b8f",
    "node b: alive, http://b:8079, owner name 7c6818e993a00cb8, has not seen the last change of tenants",
    "node c: alive, http://c:8079, owner name 3e5887af981363b7, without LARDER_CLUSTER_KEY: start it again with the key of the other nodes",
    "node d: dead, http://d:8079, owner name 49a4e7dd2ee26269",
  ]);
});

test("secrets that were generated are named with the variables that give them", () => {
  const environment = { LARDER_VECTOR_TOKEN: "vector-token-6a5e4f308f2d1c7b" };
  const reading = readSettings({ arguments: ["serve"], environment, readFile: () => "" });
  assert.ok(reading.kind === "run");
  assert.deepEqual(ungivenSecrets(resolveTenants(reading.run, {}).tenants), [
    "The database main has secrets that only this node would know: set LARDER_STORE_TOKEN and LARDER_STORE_READ_ONLY_TOKEN on every node, or list it with its secrets in the configuration file",
    "The index main has secrets that only this node would know: set LARDER_VECTOR_READ_ONLY_TOKEN on every node, or list it with its secrets in the configuration file",
    "The messaging user main has secrets that only this node would know: set LARDER_MESSAGING_TOKEN and LARDER_MESSAGING_READ_ONLY_TOKEN and LARDER_CURRENT_SIGNING_KEY and LARDER_NEXT_SIGNING_KEY on every node, or list it with its secrets in the configuration file",
  ]);
});

test("a warning is repeated after ten seconds, with the number of those that were left out", () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = sparseLog(
    createLog({ level: "warn", format: "text", clock, sink: (line) => lines.push(line.slice(25, -1)) }),
    clock,
  );
  for (let count = 0; count < 41; count += 1) {
    log.warn("lease not renewed", { fault: "no" });
    if (count === 0) log.error("node lost");
    clock.advance(250);
  }
  log.warn("other");
  assert.deepEqual(
    lines.map((line) => line.trim().replaceAll(/\s+/g, " ")),
    ["warn lease not renewed fault=no", "error node lost", "warn lease not renewed fault=no leftOut=39", "warn other"],
  );
});

test("a directory belongs to one cluster, and keeps the lives of its node", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-node-"));
  context.after(() => rmSync(directory, { recursive: true }));
  assertNoNode(directory);
  const file = await openNodeFile(directory, "one");
  assert.deepEqual(await file.read(), { former: undefined, next: undefined });
  await file.write({ former: "f", next: "n" });
  assert.deepEqual(await (await openNodeFile(directory, "one")).read(), { former: "f", next: "n" });
  await assert.rejects(openNodeFile(directory, "two"), {
    name: "StartRefusal",
    message: `The data directory ${directory} belongs to a node of the cluster one, and the database has the cluster two: use another directory, or correct the URL`,
  });
  assert.throws(() => assertNoNode(directory), { name: "StartRefusal" });
  for (const text of ["", "{", "[]", '{"cluster":7}']) {
    writeFileSync(join(directory, "cluster-node.json"), text);
    await assert.rejects(openNodeFile(directory, "one"), {
      message: `${join(directory, "cluster-node.json")} is damaged: remove that file. The node then waits until its former life is declared dead`,
    });
  }
});
