/** Shards of a node with two threads for each area move to another node, and one comes back; clients notice nothing. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openStream } from "../harness/event-reader.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { secrets, TestCluster } from "../program/cluster/cluster-program.ts";
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

const skip = missingProgram("postgres");
const ADDRESS = ["--cluster-address", "127.0.0.1:0", "--takeover-wait", "30s", "--owner-header", "on"];
/** The database `one` is on shard 4, in the thread without the port. */
const NAMES = ["one", "two", "three"];

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function checkContents(nodes: readonly RunningProgram[], rounds: readonly string[]): Promise<void> {
  for (const node of nodes) {
    const { seen, owners } = await contents(node, NAMES);
    assert.deepEqual(seen, written(NAMES, rounds));
    assert.deepEqual(await nodesOf(cluster, owners), ["a", "b"]);
  }
}

test("shards of the second thread have snapshots, move away and come back, and no command is lost or carried out twice", {
  skip,
}, async () => {
  assert.equal((await cluster.larder(["cluster", "init", "--shards", "2"])).code, 0);
  const config = configOf(cluster, NAMES);
  const a = await cluster.startNode("a", [...ADDRESS, ...config, "--engine-threads", "2"]);
  await untilServed(a, [1, 2, 3, 4, 5, 6]);
  await write(a, NAMES, "first");
  const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
  assert.equal((await fetch(`${a.adminUrl}/v1/snapshot`, { method: "POST", headers: admin })).status, 202);
  for (const area of ["store", "messaging", "vector"])
    await a.untilPrinted(new RegExp(`(?:"snapshot written","area":"${area}"[^]*){2}`));
  const stream = await openStream(`${a.storeUrl}/subscribe/news`, { token: storeToken("one") });
  assert.equal(await stream.next(), "subscribe,news,1");
  const b = await cluster.startNode("b", [...ADDRESS, ...config, ...oneThread]);
  for (const shard of [1, 2, 3, 4, 5, 6])
    assert.equal((await cluster.larder(["cluster", "pin", String(shard), shard > 3 ? "b" : "a"])).code, 0);

  let count = 0;
  const increment = async (): Promise<void> => {
    count += 1;
    const { status, body } = await ask(`${a.storeUrl}/incr/n`, storeToken("one"));
    assert.deepEqual([status, body], [200, { result: count }]);
  };
  let isOver = false;
  const moved = untilServed(b, [4, 5, 6]).then(() => {
    isOver = true;
  });
  while (!isOver) await increment();
  await moved;
  assert.equal(await stream.next(), undefined);
  await write(a, NAMES, "second");
  await checkContents([a, b], ["first", "second"]);

  isOver = false;
  const back = cluster.larder(["cluster", "move", "4", "a"]).finally(() => {
    isOver = true;
  });
  while (!isOver) await increment();
  const { code, stdout, stderr } = await back;
  assert.equal(code, 0, stdout + stderr);
  await checkContents([a, b], ["first", "second"]);
  for (const node of [a, b]) {
    const { body, owner } = await ask(`${node.storeUrl}/get/n`, storeToken("one"));
    assert.deepEqual(body, { result: String(count) });
    assert.deepEqual(await nodesOf(cluster, [owner]), ["a"]);
  }
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
});
