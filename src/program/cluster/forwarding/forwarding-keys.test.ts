import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView } from "../../../../test/harness/cluster/cluster-views.ts";
import type { ClusterFacts, StoredKeys } from "../cluster-facts.ts";
import { acceptedByOthers, acceptedKeys, firstKeys, forwardingKeys, ownerNameOf } from "./forwarding-keys.ts";

const seeded = (shard: number, seed: string) => [{ shard, hashSeed: Buffer.from(seed), areTenantsKnown: true }];
const none: StoredKeys = { number: 0, newest: undefined, former: undefined };
const facts: ClusterFacts = {
  ...{ id: "0-0", branch: "1-1", version: 4, keys: none },
  shards: { store: seeded(1, "one-seed"), messaging: seeded(2, "two-seed"), vector: seeded(3, "sea-seed") },
};
const [A, B, C] = ["aa", "bb", "cc"].map((text) => Buffer.from(text.repeat(16))) as [Buffer, Buffer, Buffer];

/** Name and secret of each key. */
const shown = (given: Parameters<typeof acceptedKeys>[0]): readonly string[] =>
  acceptedKeys(given).map(({ name, secret }) => `${name} ${Buffer.from(secret).toString("hex")}`);
const stored = (number: number, newest: Buffer, former?: Buffer): ClusterFacts => ({
  ...facts,
  keys: { number, newest, former },
});
const namesOf = (given: ClusterFacts, others: number): readonly string[] => {
  const { offered, accepted } = forwardingKeys(given, { acceptedByOthers: others });
  return [offered.name, ...accepted.map(({ name }) => name)];
};

test("the first key is the same on all nodes, and another one in each cluster and branch", () => {
  const [first = ""] = shown(facts);
  assert.match(first, /^larder-0 [0-9a-f]{64}$/);
  assert.deepEqual(shown({ ...facts }), [first]);
  const { shards } = facts;
  for (const other of [
    { ...facts, id: "0-1" },
    { ...facts, branch: "1-2" },
    { ...facts, shards: { ...shards, vector: seeded(3, "sea-sees") } },
    stored(0, A),
  ])
    assert.notEqual(shown(other)[0], first);
  const larger = { ...facts, shards: { ...shards, store: [...shards.store, ...seeded(4, "new-seed")] } };
  assert.deepEqual(shown(larger), [first], "nodes that run keep it when shards are added");
});

test("a node accepts the newest key and the one before", () => {
  const [first] = shown(facts);
  const [second, ofFirst] = shown(stored(1, A));
  assert.equal(ofFirst, first);
  const [third, ofSecond] = shown(stored(2, B, A));
  assert.equal(ofSecond, second);
  const [fourth, ofThird, ...rest] = shown(stored(3, C, B));
  assert.equal(ofThird, third);
  assert.deepEqual(rest, []);
  assert.equal(new Set([first, second, third, fourth].map((key) => key?.split(" ")[1])).size, 4);
});

test("a node offers the newest key that every other node accepts", () => {
  assert.deepEqual(namesOf(facts, 0), ["larder-0", "larder-0"]);
  assert.deepEqual(namesOf(stored(1, A), 0), ["larder-0", "larder-1", "larder-0"]);
  assert.deepEqual(namesOf(stored(1, A), 1), ["larder-1", "larder-1", "larder-0"]);
  // Such a node has just started, and knows both keys although the table does not say so.
  assert.deepEqual(namesOf(stored(2, B, A), 0), ["larder-1", "larder-2", "larder-1"]);
  assert.equal(firstKeys(facts).offered.name, "larder-0");
  assert.equal(firstKeys(stored(2, B, A)).offered.name, "larder-1");
});

test("what others accept is said by the living ones", () => {
  const node = (name: string, keyNumber: number, isDead = false) => nodeView(name, { keyNumber, isDead });
  const own = "life of a";
  assert.equal(acceptedByOthers({ keyNumber: 2, nodes: [] }, own), 2);
  assert.equal(acceptedByOthers({ keyNumber: 2, nodes: [node("a", 1), node("b", 2), node("c", 1, true)] }, own), 2);
  assert.equal(acceptedByOthers({ keyNumber: 2, nodes: [node("a", 2), node("b", 2), node("c", 1)] }, own), 1);
});

test("the name of an owner stays with the name of the node, whatever the keys are", () => {
  const name = ownerNameOf(facts, "a");
  assert.match(name, /^[0-9a-f]{16}$/);
  assert.equal(ownerNameOf(stored(1, A), "a"), name);
  assert.equal(ownerNameOf({ ...facts, branch: "1-2" } as ClusterFacts, "a"), name);
  assert.notEqual(ownerNameOf(facts, "b"), name);
  assert.notEqual(ownerNameOf({ ...facts, id: "0-1" }, "a"), name);
});
