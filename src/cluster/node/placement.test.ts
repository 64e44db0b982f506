import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeView, ShardView } from "../log-store/log-store.ts";
import { claimOrder, heirOf, isFree, rendezvousOrder } from "./placement.ts";

function node(name: string, facts: Partial<NodeView> = {}): NodeView {
  return {
    name,
    life: `life of ${name}`,
    beat: 1,
    isDead: false,
    isDrained: false,
    keyNumber: 0,
    address: "",
    format: 1,
    ...facts,
  };
}

function shard(facts: Partial<ShardView> = {}): ShardView {
  const nobody = { owner: undefined, ownerName: undefined, heir: undefined, pin: undefined };
  return { shard: 1, epoch: 5, area: "store", ...nobody, writerFormat: 1, tries: 0, ...facts };
}

const nodes = [node("a"), node("b"), node("c")];

test("the rendezvous order is the same for every order of the names", () => {
  assert.deepEqual(rendezvousOrder(1, ["a", "b", "c"]), ["b", "a", "c"]);
  assert.deepEqual(rendezvousOrder(1, ["c", "b", "a"]), ["b", "a", "c"]);
});

test("a node that goes moves only its own shards", () => {
  for (let id = 0; id < 100; id += 1) {
    const rest = rendezvousOrder(id, ["a", "b", "c"]).filter((name) => name !== "b");
    assert.deepEqual(rendezvousOrder(id, ["a", "c"]), rest);
  }
});

test("shards spread over the nodes", () => {
  const counts = new Map<string, number>();
  for (let id = 0; id < 300; id += 1) {
    const [first = ""] = rendezvousOrder(id, ["a", "b", "c"]);
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  for (const count of counts.values()) assert.ok(count > 70 && count < 130, `${[...counts.values()]}`);
});

test("a shard is free without an owner, and when its owner is dead or was replaced", () => {
  assert.equal(isFree(shard(), nodes), true);
  assert.equal(isFree(shard({ owner: "life of a" }), nodes), false);
  assert.equal(isFree(shard({ owner: "another life" }), nodes), true);
  assert.equal(isFree(shard({ owner: "life of a" }), [node("a", { isDead: true })]), true);
});

test("candidates are the pin, the heir, a former owner that has started again, and the rendezvous order", () => {
  assert.deepEqual(claimOrder(shard(), nodes), ["b", "a", "c"]);
  assert.deepEqual(claimOrder(shard({ heir: "c" }), nodes), ["c", "b", "a"]);
  assert.deepEqual(claimOrder(shard({ pin: "a", heir: "c" }), nodes), ["a", "c", "b"]);
  assert.deepEqual(claimOrder(shard({ owner: "former life of c", ownerName: "c" }), nodes), ["c", "b", "a"]);
});

test("a node that released a shard is no candidate before the others", () => {
  assert.deepEqual(claimOrder(shard({ ownerName: "c" }), nodes), ["b", "a", "c"]);
});

test("dead nodes, unknown names and nodes of an older format are no candidates", () => {
  assert.deepEqual(claimOrder(shard({ pin: "x", heir: "y" }), [node("a", { isDead: true }), node("b")]), ["b"]);
  assert.deepEqual(claimOrder(shard({ writerFormat: 2 }), [node("a"), node("b", { format: 2 })]), ["b"]);
});

test("the heir is the first settled node, the owner included, unless the shard is pinned", () => {
  assert.equal(heirOf(shard(), node("a"), nodes), "b");
  assert.equal(heirOf(shard(), node("c"), []), "c");
  assert.equal(heirOf(shard(), node("a"), [node("c")]), "a");
  assert.equal(heirOf(shard({ pin: "c" }), node("b"), nodes), "c");
  assert.equal(heirOf(shard({ pin: "c" }), node("c"), nodes), "c");
  assert.equal(heirOf(shard({ pin: "x" }), node("b"), nodes), "b");
  assert.equal(heirOf(shard({ writerFormat: 2 }), node("a"), [node("b")]), "a");
});

test("drained nodes are the last candidates, also for a shard that is pinned to one or was released for it", () => {
  const drained = [node("a"), node("b", { isDrained: true }), node("c")];
  assert.deepEqual(claimOrder(shard({ pin: "b", heir: "b" }), drained), ["a", "c", "b"]);
  assert.deepEqual(claimOrder(shard({ owner: "former life of b", ownerName: "b" }), drained), ["a", "c", "b"]);
  assert.deepEqual(claimOrder(shard(), [node("b", { isDrained: true })]), ["b"]);
});

test("the heir of a drained node is a settled node that is not drained, and without one the shard stays", () => {
  const owner = node("b", { isDrained: true });
  assert.equal(heirOf(shard(), owner, [node("a"), owner, node("c")]), "a");
  assert.equal(heirOf(shard({ pin: "b" }), owner, [node("c")]), "c");
  assert.equal(heirOf(shard(), owner, [owner, node("c", { isDrained: true })]), "b");
  assert.equal(heirOf(shard(), node("a"), [owner]), "a");
});
