import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeView, ShardView } from "../log-store/log-store.ts";
import { WatchedShards } from "./watched-shards.ts";

function nodes(...lives: readonly string[]): readonly NodeView[] {
  const facts = { beat: 1, isDead: false, isDrained: false, keyNumber: 0, address: "", format: 1 };
  return lives.map((life) => ({ name: `node of ${life}`, life, ...facts }));
}

function shard(number: number, owner: string | undefined, facts: Partial<ShardView> = {}): ShardView {
  const rest = { ownerName: undefined, heir: undefined, pin: undefined, writerFormat: 1, tries: 0, ...facts };
  return { shard: number, epoch: 1, area: "store", owner, ...rest };
}

/** The shards of the node with the life `a`, after polls 1 s apart. */
class Polls {
  readonly shards = new WatchedShards("a");
  #nowMs = 0;

  saw(shards: readonly ShardView[], lives?: readonly string[]): this {
    const view = { nodes: nodes(...(lives ?? [])), shards: [], keyNumber: 0, tenants: 0 };
    this.shards.apply({ view, shards, haveNodesChanged: lives !== undefined }, this.#nowMs);
    this.#nowMs += 1_000;
    return this;
  }

  get own(): readonly number[] {
    return this.shards.own.map((row) => row.shard);
  }

  get free(): readonly (readonly [number, number])[] {
    return this.shards.free.map(({ row, sinceMs }) => [row.shard, sinceMs]);
  }
}

const start = [shard(3, "a"), shard(1, "a"), shard(2, "b"), shard(4, undefined), shard(5, "gone")];

test("shards are those of the node, those of others, and free ones", () => {
  const polls = new Polls().saw(start, ["a", "b"]);
  assert.deepEqual(polls.own, [1, 3]);
  assert.deepEqual(polls.free, [
    [4, 0],
    [5, 0],
  ]);
});

test("the shards of a node that dies are free from then on, and those of one that begins are not", () => {
  const polls = new Polls().saw(start, ["a", "b"]).saw([], ["a", "gone"]);
  assert.deepEqual(polls.free, [
    [2, 1_000],
    [4, 0],
  ]);
});

test("a shard that is claimed is not free, and counts from the beginning when it is again", () => {
  const polls = new Polls().saw(start, ["a", "b"]).saw([shard(4, "a"), shard(3, "b")]);
  assert.deepEqual([polls.own, polls.free], [[1, 4], [[5, 0]]]);
  polls.saw([shard(4, undefined)]);
  assert.deepEqual(polls.free, [
    [4, 2_000],
    [5, 0],
  ]);
  polls.saw([shard(4, undefined, { epoch: 2 })]);
  assert.deepEqual(polls.free[0], [4, 2_000]);
});

test("the shards are calm when each has a living owner that has recovered it", () => {
  const polls = new Polls().saw([shard(1, "a"), shard(2, "b", { tries: 1 })], ["a", "b"]);
  const none = (): boolean => false;
  assert.equal(polls.shards.isCalm(none), false);
  assert.equal(polls.saw([shard(2, "b")]).shards.isCalm(none), true);
  polls.saw([], ["a"]);
  assert.equal(polls.shards.isCalm(none), false);
  assert.equal(
    polls.shards.isCalm((row) => row.shard === 2),
    true,
  );
});

test("a poll looks at the shards that changed, and at those of nodes that begin or end", () => {
  const polls = new Polls().saw(start, ["a", "b"]);
  assert.equal(polls.shards.looks, 5);
  for (let poll = 0; poll < 100; poll += 1) polls.saw([]);
  assert.equal(polls.shards.looks, 5);
  polls.saw([shard(4, "b")]);
  assert.equal(polls.shards.looks, 6);
  polls.saw([], ["a"]);
  assert.equal(polls.shards.looks, 8);
});
