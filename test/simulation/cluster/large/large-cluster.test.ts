/**
 * 100 nodes with 10,000 shards: what they send to the store and read from it, and
 * what they work out, at rest, when a node is gone, and when one joins.
 *
 * The bounds are those of `src/cluster/README.md`, "The load on PostgreSQL". They are
 * written for a node, a shard or a pair of nodes, because `npm test` has a third of
 * the nodes and of the shards.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawsLess } from "../../../budget.ts";
import { LargeCluster } from "./large-cluster.ts";

const NODES = drawsLess() ? 33 : 100;
const SHARDS = 100 * NODES;
const REST_MS = 30_000;

test(`${NODES} nodes with ${SHARDS} shards read only beats, their own shards and what changed`, async (context) => {
  const cluster = await LargeCluster.create(SHARDS);
  const { traffic } = cluster;
  const names = Array.from({ length: NODES }, (_, i) => `node-${i + 1}`);
  await Promise.all(names.map((name) => cluster.start(name)));

  await context.test("the first nodes claim each shard once, and work out each place once", async () => {
    await cluster.advance(5_000);
    const owners = await cluster.owners();
    assert.deepEqual([owners.size, owners.get("nobody")], [NODES, undefined]);
    assert.ok(Math.min(...owners.values()) > 60 && Math.max(...owners.values()) < 150, `${[...owners.values()]}`);
    assert.equal(traffic.of("claim").statements, SHARDS);
    assert.equal(cluster.takeWork().hashes, NODES * SHARDS);
    await cluster.advance(40_000); // All are settled.
    cluster.takeWork();
  });

  await context.test("at rest no row of a shard is read by a poll, and nothing is worked out", async () => {
    traffic.clear();
    traffic.doesWeigh = true;
    await cluster.advance(REST_MS);
    traffic.doesWeigh = false;
    const perSecond = (count: number): number => count / (REST_MS / 1_000);
    const [polls, renewals] = [traffic.of("watchChanges"), traffic.of("renew")];
    context.diagnostic(`at rest: polls ${JSON.stringify(polls)}, renewals ${JSON.stringify(renewals)} in 30 s`);
    assert.equal(traffic.statements, polls.statements + renewals.statements);
    assert.ok(perSecond(traffic.statements) <= 1.7 * NODES, `${perSecond(traffic.statements)} statements a second`);
    // Each node reads the beat of each node once a second, and each shard is read by its owner each 1.5 s.
    assert.equal(traffic.shardRows, 0);
    assert.ok(perSecond(polls.rows) <= NODES * NODES, `${perSecond(polls.rows)} rows a second in polls`);
    assert.ok(perSecond(polls.bytes) <= 15 * NODES * NODES, `${perSecond(polls.bytes)} bytes a second in polls`);
    assert.ok(perSecond(renewals.rows) <= 0.7 * SHARDS, `${perSecond(renewals.rows)} rows a second in renewals`);
    assert.ok(perSecond(renewals.bytes) <= 10 * SHARDS, `${perSecond(renewals.bytes)} bytes a second in renewals`);
    assert.deepEqual(cluster.takeWork(), { looks: 0, placings: 0, hashes: 0 });
  });

  await context.test(
    "when a node is gone, each of its shards is claimed once, within a lease and two polls",
    async () => {
      const lost = cluster.nodes[0];
      assert.ok(lost !== undefined);
      const before = (await cluster.owners()).get(lost.name) ?? 0;
      traffic.clear();
      lost.node.stop();
      await cluster.advance(9_000);
      const owners = await cluster.owners();
      assert.deepEqual([owners.size, owners.get("nobody")], [NODES - 1, undefined]);
      assert.equal(traffic.of("claim").statements, before);
      assert.equal(traffic.of("recovered").statements, before);
      assert.ok(traffic.of("declareDead").statements < NODES, `${traffic.of("declareDead").statements} declarations`);
      // Each node reads a shard when it is claimed and when it is recovered.
      assert.ok(traffic.shardRows <= 2 * before * NODES, `${traffic.shardRows} rows of ${before} shards`);
      const work = cluster.takeWork();
      context.diagnostic(`${before} shards were taken over: ${traffic.shardRows} rows, ${JSON.stringify(work)}`);
      assert.equal(work.hashes, 0);
      // Each node looks at the shard when its owner dies, and when its row changes.
      assert.ok(work.looks <= 3 * before * NODES, `${work.looks} looks`);
      // Each node works out its place for each free shard, and who should have its own shards.
      assert.ok(work.placings <= 2 * before * NODES + 3 * SHARDS, `${work.placings} places`);
    },
  );

  await context.test("a node that joins gets its shards one after the other, and each moves once", async () => {
    traffic.clear();
    const joined = await cluster.start("joined");
    await cluster.advance(50_000);
    const owners = await cluster.owners();
    const moved = owners.get(joined.name) ?? 0;
    context.diagnostic(`${moved} shards moved: ${traffic.shardRows} rows`);
    assert.ok(moved > 3 && moved < 30, `${moved} shards`);
    assert.ok((owners.get("nobody") ?? 0) <= 1);
    const [releases, claims] = [traffic.of("release").statements, traffic.of("claim").statements];
    assert.ok(releases - claims <= 1 && claims - moved <= 1, `${releases} releases and ${claims} claims`);
    // The places of the new node are the only ones that were not known.
    assert.ok(cluster.takeWork().hashes <= SHARDS);
    // All shards once for the new node, and each that moves when that is announced and when it is released, claimed and recovered.
    assert.ok(traffic.shardRows <= SHARDS + 4 * releases * NODES, `${traffic.shardRows} rows of shards`);
  });

  assert.deepEqual(
    cluster.nodes.flatMap(({ host }) => host.lostFor),
    [],
  );
  for (const { node } of cluster.nodes) node.stop();
});
