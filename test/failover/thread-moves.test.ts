/** Shards of a node with two threads for each area move to another node, and one comes back; clients notice nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStream } from "../harness/event-reader.ts";
import { during } from "../harness/pause.ts";
import { secrets } from "../program/cluster/cluster-program.ts";
import { FileCluster, FORWARDING } from "../program/cluster/file-cluster.ts";
import {
  ask,
  configOf,
  contents,
  nodesOf,
  storeToken,
  untilServed,
  write,
  written,
} from "../program/cluster/shard-clients.ts";
import { oneThread, type RunningProgram } from "../program/program-process.ts";

const cluster = new FileCluster(["--shards", "2"]);
/** The database `one` is on shard 4, in the thread without the port. */
const NAMES = ["one", "two", "three"];

async function checkContents(nodes: readonly RunningProgram[], rounds: readonly string[]): Promise<void> {
  for (const node of nodes) {
    const { seen, owners } = await contents(node, NAMES);
    assert.deepEqual(seen, written(NAMES, rounds));
    assert.deepEqual(await nodesOf(cluster.all, owners), ["a", "b"]);
  }
}

test("shards of the second thread have snapshots, move away and come back, and no command is lost or carried out twice", {
  skip: cluster.skip,
}, async () => {
  const config = configOf(cluster.all, NAMES);
  const a = await cluster.startNode("a", [...FORWARDING, ...config, "--engine-threads", "2"]);
  await untilServed(a, [1, 2, 3, 4, 5, 6]);
  await write(a, NAMES, "first");
  const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
  assert.equal((await fetch(`${a.adminUrl}/v1/snapshot`, { method: "POST", headers: admin })).status, 202);
  for (const area of ["store", "messaging", "vector"])
    await a.untilPrinted(new RegExp(`(?:"snapshot written","area":"${area}"[^]*){2}`));
  const stream = await openStream(`${a.storeUrl}/subscribe/news`, { token: storeToken("one") });
  assert.equal(await stream.next(), "subscribe,news,1");
  const b = await cluster.startNode("b", [...FORWARDING, ...config, ...oneThread]);
  await cluster.pinHalves("a", "b");

  let count = 0;
  const increment = async (): Promise<void> => {
    count += 1;
    const { status, body } = await ask(`${a.storeUrl}/incr/n`, storeToken("one"));
    assert.deepEqual([status, body], [200, { result: count }]);
  };
  await during(untilServed(b, [4, 5, 6]), increment);
  assert.equal(await stream.next(), undefined);
  await write(a, NAMES, "second");
  await checkContents([a, b], ["first", "second"]);

  const { code, stdout, stderr } = await during(cluster.larder(["move", "4", "a"]), increment);
  assert.equal(code, 0, stdout + stderr);
  await checkContents([a, b], ["first", "second"]);
  for (const node of [a, b]) {
    const { body, owner } = await ask(`${node.storeUrl}/get/n`, storeToken("one"));
    assert.deepEqual(body, { result: String(count) });
    assert.deepEqual(await nodesOf(cluster.all, [owner]), ["a"]);
  }
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
});
