import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView as node, shardView } from "../../../test/harness/cluster/cluster-views.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { NodeView, ShardView } from "../log-store/log-store.ts";
import {
  Candidates,
  claimOrder,
  FRONT_FORMAT,
  heirOf as heirWith,
  isFree,
  rendezvousOrder,
  standbyOf,
  Weights,
} from "./placement.ts";

function shard(facts: Partial<ShardView> = {}): ShardView {
  return shardView({ epoch: 5, ...facts });
}

const nodes = [node("a"), node("b"), node("c")];

function heirOf(row: ShardView, owner: NodeView, settled: readonly NodeView[]): string {
  return heirWith(row, owner, { settled, weights: new Weights() });
}

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
  // It leaves, and gives up what is pinned to it.
  assert.deepEqual(claimOrder(shard({ pin: "c", heir: "a", ownerName: "c" }), nodes), ["a", "b", "c"]);
});

test("a node that released a shard is no candidate before the others", () => {
  assert.deepEqual(claimOrder(shard({ ownerName: "c" }), nodes), ["b", "a", "c"]);
});

test("dead nodes, unknown names and nodes of an older format are no candidates", () => {
  assert.deepEqual(claimOrder(shard({ pin: "x", heir: "y" }), [node("a", { isDead: true }), node("b")]), ["b"]);
  assert.deepEqual(claimOrder(shard({ writerFormat: 2 }), [node("a"), node("b", { format: 2 })]), ["b"]);
});

test("a front is no candidate, no heir and no standby, also if it is the pin or the former owner, or the only node", () => {
  const front = node("b", { format: FRONT_FORMAT });
  const former = shard({ pin: "b", owner: "former life of b", ownerName: "b" });
  assert.deepEqual(claimOrder(former, [node("a"), front]), ["a"]);
  assert.deepEqual(claimOrder(former, [front]), []);
  const owned = shard({ pin: "b", heir: "b", owner: "life of a", ownerName: "a" });
  assert.equal(heirOf(owned, node("a"), [front]), "a");
  assert.equal(heirOf(owned, node("a", { isDrained: true }), [front]), "a");
  assert.equal(standbyOf(owned, { nodes: [node("a"), front], weights: new Weights() }), undefined);
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

test("a weight is hashed once, and never changes", () => {
  const weights = new Weights();
  assert.equal(weights.weight(1, "a"), 43_112_084_945_895);
  assert.equal(weights.weight(1, "a"), 43_112_084_945_895);
  assert.equal(weights.hashes, 1);
  assert.equal(weights.weight(5_000, "a"), weights.weight(5_000, "a"));
  assert.equal(weights.hashes, 2);
  assert.deepEqual([weights.first(1, ["a", "b", "c"]), weights.first(1, [])], ["b", undefined]);
  assert.equal(weights.hashes, 4);
  assert.equal(weights.weight(2_000_000_000, "a"), weights.weight(2_000_000_000, "a"));
  assert.equal(weights.hashes, 6);
});

test("the rank of a node is its place in the order of candidates, whatever the nodes and the shard are", () => {
  const random = seededRandom(7);
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  const names = ["a", "b", "c", "d", "e"];
  const weights = new Weights();
  for (let round = 0; round < 2_000; round += 1) {
    const some = names
      .filter(() => random.below(4) > 0)
      .map((name) =>
        node(name, { isDead: random.below(4) === 0, isDrained: random.below(3) === 0, format: 1 + random.below(2) }),
      );
    const name = (): string | undefined => pick([undefined, ...names, "x"]);
    const owner = pick([undefined, "a former life"]);
    const row = shard({
      ...{ shard: random.below(50), pin: name(), heir: name(), owner, ownerName: name() },
      writerFormat: 1 + random.below(2),
    });
    const order = claimOrder(row, some);
    for (const each of names) {
      const index = order.indexOf(each);
      const expected = index === -1 ? undefined : { index, candidates: order.length };
      const rank = new Candidates(some, row.writerFormat, weights).rankOf(row, each);
      assert.deepEqual(rank, expected, `round ${round}: ${each}`);
    }
  }
});

const standby = (row: ShardView, some: readonly NodeView[]): string | undefined =>
  standbyOf(row, { nodes: some, weights: new Weights() });

test("the standby of a shard is the node that would claim it if its owner were gone", () => {
  const owned = (name: string, facts: Partial<ShardView> = {}): ShardView =>
    shard({ owner: `life of ${name}`, ownerName: name, ...facts });
  // The order is b, a, c.
  assert.equal(standby(owned("b"), nodes), "a");
  assert.equal(standby(owned("a"), nodes), "b");
  assert.equal(standby(owned("b", { pin: "c" }), nodes), "c");
  assert.equal(standby(owned("b", { pin: "b" }), nodes), "a");
  assert.equal(standby(owned("b"), [node("a", { isDrained: true }), node("b"), node("c")]), "c");
  assert.equal(standby(owned("b"), [node("a", { isDead: true }), node("b"), node("c")]), "c");
  assert.equal(standby(owned("b", { writerFormat: 2 }), [node("a"), node("b"), node("c", { format: 2 })]), "c");
});

test("the standby of a shard is the first candidate of the others, whatever the nodes and the shard are", () => {
  const random = seededRandom(11);
  const names = ["a", "b", "c", "d"];
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  for (let round = 0; round < 2_000; round += 1) {
    const some = names.map((name) =>
      node(name, { isDead: random.below(4) === 0, isDrained: random.below(4) === 0, format: 1 + random.below(2) }),
    );
    const name = (): string | undefined => pick([undefined, ...names]);
    const ownerName = pick(names);
    const row = shard({
      ...{ shard: random.below(50), pin: name(), heir: name(), owner: `life of ${ownerName}`, ownerName },
      writerFormat: 1 + random.below(2),
    });
    const others = some.filter((each) => each.name !== ownerName);
    const isOwned = !some.some((each) => each.name === ownerName && each.isDead);
    assert.equal(standby(row, some), isOwned ? claimOrder(row, others)[0] : undefined, `round ${round}`);
  }
});

test("a shard has no standby without another node, or while no living node owns it", () => {
  assert.equal(standby(shard({ owner: "life of b", ownerName: "b" }), [node("b")]), undefined);
  assert.equal(standby(shard(), nodes), undefined);
  assert.equal(standby(shard({ owner: "life of b" }), [node("a"), node("b", { isDead: true })]), undefined);
});
