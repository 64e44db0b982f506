import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterView, ShardView } from "../../cluster/log-store/log-store.ts";
import type { ShardState } from "../../cluster/node/owned-shards.ts";
import { reasonOf, type ShardCondition, shardFigures } from "./shard-figures.ts";

const row: ShardView = {
  ...{ shard: 1, area: "store", epoch: 7, owner: "life-b", ownerName: "b", heir: undefined, pin: undefined },
  ...{ writerFormat: 1, tries: 0 },
};

function viewOf(shard: Partial<ShardView>, isDead = false): ClusterView {
  const node = {
    name: "b",
    life: "life-b",
    beat: 1,
    isDead,
    isDrained: false,
    keyNumber: 0,
    address: "127.0.0.1:1",
    format: 1,
  };
  return { keyNumber: 0, nodes: [node], shards: [{ ...row, ...shard }], tenants: 0 };
}

type Row = readonly [
  what: string,
  view: ClusterView | undefined,
  state: ShardState | undefined,
  suspendedFor: string | undefined,
  condition: ShardCondition,
  reason: string | undefined,
];

const rows: readonly Row[] = [
  ["no poll was answered yet", undefined, undefined, undefined, "standby", undefined],
  ["another node owns it", viewOf({}), undefined, undefined, "standby", undefined],
  ["the lease of a node that waits has run out", viewOf({}), undefined, "x", "standby", undefined],
  ["its owner is dead", viewOf({}, true), undefined, undefined, "free", "store has no owner"],
  [
    "its owner is dead after three tries",
    viewOf({ tries: 3 }, true),
    undefined,
    undefined,
    "broken",
    "store could not be recovered 3 times: see the log of b, then run larder cluster retry 1",
  ],
  [
    "its owner is dead and has written a newer format",
    viewOf({ writerFormat: 2 }, true),
    undefined,
    undefined,
    "unreadable",
    "store has no owner, and was written in format 2, which this version does not read: start a node of the newer version",
  ],
  [
    "another node owns it and writes a newer format",
    viewOf({ writerFormat: 2 }),
    undefined,
    undefined,
    "standby",
    undefined,
  ],
  ["this node claims it", viewOf({}, true), "claiming", undefined, "recovering", undefined],
  ["this node recovers it", viewOf({ tries: 1 }), "loading", undefined, "recovering", undefined],
  ["this node serves it", viewOf({}), "serving", undefined, "serving", undefined],
  [
    "PostgreSQL is full",
    viewOf({}),
    "serving",
    "PostgreSQL is full",
    "suspended",
    "store is suspended: PostgreSQL is full",
  ],
  ["this node releases it", viewOf({}), "draining", "x", "draining", undefined],
];

for (const [what, view, state, suspendedFor, condition, reason] of rows) {
  test(`${what}: ${condition}`, () => {
    const figures = shardFigures(1, view, { state, suspendedFor, takeovers: 2, missing: undefined, readFormat: 1 });
    assert.deepEqual(figures, {
      ...{ shard: 1, condition, takeovers: 2, missing: null },
      suspendedFor: condition === "suspended" ? suspendedFor : null,
      objectTrouble: null,
      epoch: view === undefined ? 0 : 7,
      owner: view === undefined ? null : "b",
      tries: view?.shards[0]?.tries ?? 0,
      format: view?.shards[0]?.writerFormat ?? 0,
    });
    assert.equal(reasonOf("store", figures), reason);
  });
}

test("a takeover that waits for the object store says why, and trouble of the next snapshot does not make the node unready", () => {
  const own = { suspendedFor: undefined, takeovers: 1, missing: undefined, readFormat: 1, objectTrouble: "no answer" };
  const waiting = shardFigures(1, viewOf({ tries: 1 }), { ...own, state: "loading" });
  assert.deepEqual([waiting.condition, waiting.objectTrouble], ["recovering", "no answer"]);
  assert.equal(reasonOf("store", waiting), "store waits for its snapshot in the object store: no answer");
  const serving = shardFigures(1, viewOf({}), { ...own, state: "serving" });
  assert.deepEqual([serving.condition, serving.objectTrouble], ["serving", "no answer"]);
  assert.equal(reasonOf("store", serving), undefined);
});
