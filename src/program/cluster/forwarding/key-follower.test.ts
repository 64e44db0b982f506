/** How a node follows a rotation of keys, poll by poll. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView } from "../../../../test/harness/cluster/cluster-views.ts";
import type { NodeView } from "../../../cluster/log-store/log-store.ts";
import { nextTurn } from "../../../kernel/turn.ts";
import type { ClusterFacts, StoredKeys } from "../cluster-facts.ts";
import { KeyFollower } from "./key-follower.ts";

const seeded = (shard: number, seed: string) => [{ shard, hashSeed: Buffer.from(seed), areTenantsKnown: true }];
const facts: ClusterFacts = {
  ...{ id: "0-0", branch: "1-1", version: 4, keys: { number: 0, newest: undefined, former: undefined } },
  shards: { store: seeded(1, "one-seed"), messaging: seeded(2, "two-seed"), vector: seeded(3, "sea-seed") },
};
const OWN = "life of a";

function node(name: string, keyNumber: number): NodeView {
  return nodeView(name, { keyNumber });
}

function bench(keys: StoredKeys = facts.keys) {
  const events: string[] = [];
  const world = { stored: keys, failures: 0 };
  const follower = new KeyFollower({
    facts: { ...facts, keys },
    async read() {
      events.push("read");
      if (world.failures > 0) {
        world.failures -= 1;
        throw new Error("no answer");
      }
      return world.stored;
    },
    async replace({ offered, accepted }) {
      events.push(`offer ${offered.name}, accept ${accepted.map(({ name }) => name).join(" ")}`);
    },
    async note(life, keyNumber) {
      events.push(`${life} notes ${keyNumber}`);
    },
    log: { info() {}, warn: (event) => void events.push(event) },
  });
  /** What a poll that sees these nodes causes. */
  const poll = async (keyNumber: number, ...nodes: readonly NodeView[]): Promise<readonly string[]> => {
    follower.saw({ keyNumber, nodes }, OWN);
    await nextTurn();
    return events.splice(0);
  };
  return { world, poll };
}

const first: StoredKeys = { number: 1, newest: Buffer.alloc(32, 1), former: undefined };

test("without a rotation there is nothing to do", async () => {
  const { poll } = bench();
  assert.deepEqual(await poll(0, node("a", 0), node("b", 0)), []);
});

test("a node accepts a new key before the table says so, and offers it when all others accept it", async () => {
  const { world, poll } = bench();
  world.stored = first;
  assert.deepEqual(await poll(1, node("a", 0), node("b", 0)), [
    "read",
    "offer larder-0, accept larder-1 larder-0",
    "life of a notes 1",
  ]);
  assert.deepEqual(await poll(1, node("a", 1), node("b", 0)), []);
  assert.deepEqual(await poll(1, node("a", 1), node("b", 1)), ["offer larder-1, accept larder-1 larder-0"]);
  assert.deepEqual(await poll(1, node("a", 1), node("b", 1)), []);
});

test("a node that starts after a rotation notes the key, and offers the one before until all others accept it", async () => {
  const { poll } = bench(first);
  assert.deepEqual(await poll(1, node("a", 0), node("b", 0)), ["life of a notes 1"]);
  assert.deepEqual(await poll(1, node("a", 1), node("b", 1)), ["offer larder-1, accept larder-1 larder-0"]);
});

test("a node that starts later does not make others go back to the key before", async () => {
  const { poll } = bench(first);
  await poll(1, node("a", 1), node("b", 1));
  assert.deepEqual(await poll(1, node("a", 1), node("b", 1), node("c", 0)), []);
});

test("keys that could not be read are read again at the next poll", async () => {
  const { world, poll } = bench();
  world.stored = first;
  world.failures = 1;
  assert.deepEqual(await poll(1, node("a", 0)), ["read", "the keys of the cluster are not followed"]);
  assert.deepEqual(await poll(1, node("a", 0)), [
    "read",
    "offer larder-1, accept larder-1 larder-0",
    "life of a notes 1",
  ]);
});
