import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelDatabase, ModelLogStore } from "../../../test/simulation/cluster/model-log-store.ts";
import type { ClusterChanges, NumberedNode, ShardView } from "../log-store/log-store.ts";
import { WHOLE_MS_MAX, WHOLE_MS_MIN } from "./bounds.ts";
import { type SeenChanges, WatchedCluster } from "./watched-cluster.ts";

function node(number: number, facts: Partial<NumberedNode> = {}): NumberedNode {
  const name = `node ${9 - number}`;
  return {
    ...{ number, name, life: `life of ${name}`, beat: 1, isDead: false, isDrained: false },
    ...{ keyNumber: 0, address: "", format: 1, ...facts },
  };
}

function shard(number: number, facts: Partial<ShardView> = {}): ShardView {
  const nobody = { owner: undefined, ownerName: undefined, heir: undefined, pin: undefined };
  return { shard: number, epoch: 1, area: "store", ...nobody, writerFormat: 1, tries: 0, ...facts };
}

function answer(facts: Partial<ClusterChanges>): ClusterChanges {
  return { position: "s 1:1:", isWhole: false, keyNumber: 0, tenants: 0, beats: [], nodes: [], shards: [], ...facts };
}

const first = answer({
  ...{ isWhole: true, keyNumber: 3, tenants: 7, nodes: [node(2), node(1)] },
  ...{ beats: [[1, 5] as const, [2, 6] as const], shards: [shard(1), shard(2), shard(4)] },
});

function numbers({ shards }: Pick<SeenChanges, "shards">): readonly number[] {
  return shards.map((each) => each.shard);
}

test("a view has the nodes by name with their beats, and the shards by number", () => {
  const watched = new WatchedCluster(0);
  const { view, shards, haveNodesChanged } = watched.apply(first, 0);
  assert.deepEqual(
    view.nodes.map(({ name, beat }) => [name, beat]),
    [
      ["node 7", 6],
      ["node 8", 5],
    ],
  );
  assert.deepEqual([view.keyNumber, view.tenants, haveNodesChanged], [3, 7, true]);
  assert.deepEqual([numbers(view), shards.length], [[1, 2, 4], 3]);
});

test("beats alone change no node, and rows that did not change stay the same objects", () => {
  const watched = new WatchedCluster(0);
  const before = watched.apply(first, 0).view;
  const { view, shards, haveNodesChanged } = watched.apply(
    answer({
      beats: [
        [1, 6],
        [2, 7],
      ],
    }),
    1_000,
  );
  assert.deepEqual([haveNodesChanged, shards.length], [false, 0]);
  assert.equal(view.shards, before.shards);
  assert.deepEqual(
    view.nodes.map(({ beat }) => beat),
    [7, 6],
  );
});

test("a changed row replaces the one before, and a new one gets its place", () => {
  const watched = new WatchedCluster(0);
  const before = watched.apply(first, 0).view;
  const changes = answer({ shards: [shard(2, { epoch: 2 }), shard(3)], nodes: [node(1, { isDead: true, beat: 9 })] });
  const { view, shards, haveNodesChanged } = watched.apply(changes, 1_000);
  assert.deepEqual([numbers(view), numbers({ shards }), haveNodesChanged], [[1, 2, 3, 4], [2, 3], true]);
  assert.deepEqual([view.shards[1]?.epoch, view.shards[3]], [2, before.shards[2]]);
  assert.equal(view.shards[0], before.shards[0]);
  assert.deepEqual(
    view.nodes.map(({ name, isDead, beat }) => [name, isDead, beat]),
    [
      ["node 7", false, 1],
      ["node 8", true, 9],
    ],
  );
});

test("a read of everything that finds nothing new changes nothing", () => {
  const watched = new WatchedCluster(0);
  const before = watched.apply(first, 0).view;
  const again = answer({
    ...first,
    shards: [shard(1), shard(2, { tries: 1 }), shard(4)],
    nodes: [node(2, { beat: 8 }), node(1)],
  });
  const { view, shards, haveNodesChanged } = watched.apply(again, 1_000);
  assert.deepEqual([numbers({ shards }), haveNodesChanged], [[2], false]);
  assert.equal(view.shards[0], before.shards[0]);
});

test("everything is read at first, after a poll that failed, and after 400 to 800 s", () => {
  assert.deepEqual([WHOLE_MS_MIN, WHOLE_MS_MAX], [400_000, 800_000]);
  for (const [share, wholeMs] of [
    [0, 400_000],
    [0.5, 600_000],
  ] as const) {
    const watched = new WatchedCluster(share);
    assert.equal(watched.positionAt(0), undefined);
    watched.apply(first, 1_000);
    assert.equal(watched.positionAt(1_000 + wholeMs - 1), "s 1:1:");
    watched.apply(answer({ position: "s 2:2:" }), 2_000);
    assert.equal(watched.positionAt(1_000 + wholeMs - 1), "s 2:2:");
    assert.equal(watched.positionAt(1_000 + wholeMs), undefined);
    watched.forget();
    assert.equal(watched.positionAt(3_000), undefined);
    const { shards, haveNodesChanged } = watched.apply(first, 3_000);
    assert.deepEqual([shards.length, haveNodesChanged], [3, true]);
  }
});

test("a server that has lost commits and uses their numbers again is read as a whole", async () => {
  const database = new ModelDatabase(() => 0);
  const store = new ModelLogStore({ database, mayCommit: () => Promise.resolve(true) });
  await store.addShards([1, 2].map((number) => ({ shard: number, area: "store", hashSeed: Buffer.alloc(4) })));
  const watched = new WatchedCluster(0);
  await store.pin(1, "a");
  watched.apply(await store.watchChanges(), 0);
  database.failOver(2);
  await store.pin(2, "b");
  const changes = await store.watchChanges(watched.positionAt(1_000));
  assert.equal(changes.isWhole, true);
  const { view } = watched.apply(changes, 1_000);
  assert.deepEqual(
    view.shards.map(({ pin }) => pin),
    [undefined, "b"],
  );
});
