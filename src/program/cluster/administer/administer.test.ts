/** What the commands of a cluster decide without PostgreSQL: which nodes live, whose clock is wrong, and whose a file is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeView, shardView } from "../../../../test/harness/cluster/cluster-views.ts";
import type { NodeView, ShardView } from "../../../cluster/log-store/log-store.ts";
import { encodeFileHeader, parseFileHeader } from "../../../persistence/journal/file-format.ts";
import { renameArea } from "./area-header.ts";
import { skewProblem } from "./check-cluster.ts";
import { printGrants } from "./grants.ts";
import { findLivingNodes } from "./living-nodes.ts";
import { waitUntil } from "./place-shards.ts";

function node(name: string, beat: number, isDead = false): NodeView {
  return nodeView(name, { beat, isDead });
}

/** Looks at `views` in turn, the last one again and again, by a clock that only waits move. */
async function watched(views: readonly (readonly NodeView[])[]) {
  let nowMs = 0;
  let looks = 0;
  const dead = new Set<string>();
  const living = await findLivingNodes(
    {
      watch: async () => {
        const nodes = (views[Math.min(looks, views.length - 1)] ?? []).map((each) =>
          dead.has(each.life) ? { ...each, isDead: true } : each,
        );
        looks += 1;
        return { keyNumber: 0, nodes, shards: [], tenants: 0 };
      },
      declareDead: async (life) => {
        dead.add(life);
        return 0;
      },
    },
    {
      monotonicMs: () => nowMs,
      after: (ms, task) => {
        nowMs += ms;
        queueMicrotask(task);
        return () => {};
      },
    },
  );
  return { living, dead: [...dead], waitedMs: nowMs };
}

test("a node that renews lives, and nobody is declared dead before a whole lease", async () => {
  const first = [node("a", 3), node("b", 7)];
  const second = [node("a", 3), node("b", 8)];
  assert.deepEqual(await watched([first, first, second]), { living: ["b"], dead: [], waitedMs: 2_000 });
});

test("nodes that are silent for a lease are declared dead, and those that are dead need no wait", async () => {
  assert.deepEqual(await watched([[node("a", 3), node("b", 7, true)]]), {
    living: [],
    dead: ["life of a"],
    waitedMs: 6_000,
  });
  assert.deepEqual(await watched([[node("b", 7, true)]]), { living: [], dead: [], waitedMs: 0 });
});

test("a clock is wrong by more than five seconds only if the time of the answer cannot explain it", () => {
  assert.equal(skewProblem({ sentMs: 10_000, answeredMs: 10_100, storeMs: 5_000 }), undefined);
  assert.equal(skewProblem({ sentMs: 10_000, answeredMs: 20_000, storeMs: 20_000 }), undefined);
  assert.equal(
    skewProblem({ sentMs: 10_000, answeredMs: 10_100, storeMs: 3_000 }),
    "The clock differs from that of PostgreSQL by 7 s: the node would claim no shard. Synchronize both clocks, for example by NTP",
  );
  assert.equal(
    skewProblem({ sentMs: 10_000, answeredMs: 10_100, storeMs: 16_100 }),
    "The clock differs from that of PostgreSQL by 6 s: the node would claim no shard. Synchronize both clocks, for example by NTP",
  );
});

test("a file gets another area and nothing else, and a file of a third area is refused", () => {
  const header = { number: 7, position: 41, salt: 0xfedc_ba98 };
  const bytes = Buffer.concat([encodeFileHeader("segment", "store", header), Buffer.from("rest")]);
  const change = { kind: "segment", number: 7, path: "7.journal" } as const;
  renameArea(bytes, { ...change, from: "store", to: "store.0001" });
  assert.deepEqual(parseFileHeader(bytes, { ...change, area: "store.0001" }), header);
  assert.equal(bytes.toString("latin1", 64), "rest");
  assert.throws(() => renameArea(bytes, { ...change, from: "store", to: "store.0002" }), {
    name: "WrongFile",
    message: /belongs to area store\.0001, not store/,
  });
});

test("the name of a role is an identifier, whatever it has", () => {
  assert.deepEqual(printGrants('a"; DROP TABLE larder.log; --'), [
    "-- The rights of the nodes of a cluster. Run this as the user who ran larder cluster init.",
    'GRANT USAGE ON SCHEMA larder TO "a""; DROP TABLE larder.log; --";',
    'GRANT SELECT, UPDATE (tenants, key_check) ON larder.cluster TO "a""; DROP TABLE larder.log; --";',
    'GRANT SELECT, INSERT, UPDATE ON larder.node TO "a""; DROP TABLE larder.log; --";',
    'GRANT SELECT, UPDATE ON larder.shard TO "a""; DROP TABLE larder.log; --";',
    'GRANT SELECT, INSERT, DELETE ON larder.log TO "a""; DROP TABLE larder.log; --";',
    'GRANT SELECT, INSERT, DELETE, UPDATE (definition, sealed, version, is_removed, left_on) ON larder.tenant TO "a""; DROP TABLE larder.log; --";',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON larder.snapshot_part TO "a""; DROP TABLE larder.log; --";',
  ]);
});

test("a wait for shards prints each one that is served elsewhere, and ends 90 s after the last one", async () => {
  const shard = (id: number, owner: string | undefined, tries = 0): ShardView =>
    shardView({ shard: id, ownerName: owner ?? "b", tries }, owner);
  const all = [4, 5, 6];
  // Shard 5 is claimed and not recovered at first; shard 6 stays.
  const views = [
    all.map((id) => shard(id, "b")),
    [shard(4, "a"), shard(5, undefined), shard(6, "b")],
    [shard(4, "a"), shard(5, "a", 1), shard(6, "b")],
    [shard(4, "a"), shard(5, "a"), shard(6, "b")],
  ];
  let nowMs = 0;
  let looks = 0;
  const lines: string[] = [];
  const left = await waitUntil(
    {
      watch: async () => {
        looks += 1;
        return { keyNumber: 0, nodes: [], shards: views[Math.min(looks, views.length) - 1] ?? [], tenants: 0 };
      },
    },
    {
      monotonicMs: () => nowMs,
      after: (ms, task) => {
        nowMs += ms;
        queueMicrotask(task);
        return () => {};
      },
    },
    { shards: all, print: (line) => lines.push(`${nowMs} ${line}`), isDone: (owner) => owner !== "b" },
  );
  assert.deepEqual(lines, ["1000 shard 4: served by a", "3000 shard 5: served by a"]);
  assert.deepEqual([left.map((each) => each.shard), nowMs], [[6], 93_000]);
});
