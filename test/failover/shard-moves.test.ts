/** Shards spread over the nodes of a cluster: each pinned one moves to its node, with the data of its tenants. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { during } from "../harness/pause.ts";
import { RawPeer } from "../harness/raw-peer.ts";
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
const NAMES = ["one", "two", "three"];

/** The token of a user of the database `one`. */
async function userToken({ storeUrl }: RunningProgram): Promise<string> {
  const command = (...words: readonly string[]) => ask(storeUrl, storeToken("one"), { body: JSON.stringify(words) });
  assert.equal((await command("ACL", "SETUSER", "reader", "on", ">pass-word", "~*", "+@read")).status, 200);
  const { body } = await command("ACL", "RESTTOKEN", "reader", "pass-word");
  return (body as { result: string }).result;
}

test("shards move to the nodes that should have them, and clients notice nothing", { skip: cluster.skip }, async () => {
  const config = configOf(cluster.all, NAMES);
  const respPort = await freePort();
  const a = await cluster.startNode("a", [...FORWARDING, ...config, "--resp-port", String(respPort)]);
  await untilServed(a, [1, 2, 3, 4, 5, 6]);
  await write(a, NAMES, "first");
  const token = await userToken(a);
  // The database `one` is on shard 4, the others of the store are on shards 1 and 4.
  const unknown = await cluster.larder(["pin", "4", "b"]);
  assert.deepEqual([unknown.code, unknown.stderr], [2, 'larder: The cluster has no node "b": its nodes are a\n']);
  const b = await cluster.startNode("b", [...FORWARDING, ...config, ...oneThread]);
  await cluster.pinHalves("a", "b");

  // A connection of the database `one` on the node that its shard leaves.
  using blocked = await RawPeer.open(respPort);
  assert.equal(await blocked.ask(`AUTH ${storeToken("one")}\r\nBLPOP none 0\r\n`, 5), "+OK\r\n");

  let count = 0;
  await during(untilServed(b, [4, 5, 6]), async () => {
    count += 1;
    const answer = await ask(`${b.storeUrl}/incr/n`, storeToken("one"));
    assert.deepEqual([answer.status, answer.body], [200, { result: count }]);
  });
  assert.match(await blocked.hearAll(), /^-UNBLOCKED force unblock from blocking operation, .*\r\n$/);
  using again = await RawPeer.open(respPort);
  assert.equal(await again.ask(`AUTH ${storeToken("one")}\r\nSET resp 1\r\n`, 10), "+OK\r\n+OK\r\n");
  const { owner: ofResp } = await ask(`${b.storeUrl}/get/resp`, storeToken("one"));
  assert.deepEqual(await nodesOf(cluster.all, [ofResp]), ["b"]);
  await write(b, NAMES, "second");
  for (const node of [a, b]) {
    const { seen, owners } = await contents(node, NAMES);
    assert.deepEqual(seen, written(NAMES, ["first", "second"]));
    assert.deepEqual(await nodesOf(cluster.all, owners), ["a", "b"]);
    // Only the owner of the shard knows the tokens of users of its databases.
    const read = await ask(`${node.storeUrl}/get/n`, token);
    assert.deepEqual([read.status, read.body], [200, { result: String(count) }]);
    assert.deepEqual(await nodesOf(cluster.all, [read.owner]), ["b"]);
    assert.equal((await ask(`${node.storeUrl}/get/n`, "a-token-of-nobody")).status, 401);
  }
  const status = await cluster.larder(["status"]);
  assert.match(status.stdout, /^shard 1 \(store\): owned by a, .*$/m);
  assert.match(status.stdout, /^shard 4 \(store\): owned by b, .*$/m);

  await a.kill();
  await untilServed(b, [1, 2, 3]);
  const { seen, owners } = await contents(b, NAMES);
  assert.deepEqual(seen, written(NAMES, ["first", "second"]));
  assert.deepEqual(await nodesOf(cluster.all, owners), ["b"]);

  // Back on the node that has served them before, which has its files.
  const returned = await cluster.startNode("a", [...FORWARDING, ...config]);
  await untilServed(returned, [1, 2, 3]);
  assert.deepEqual((await contents(b, NAMES)).seen, seen);

  // A drained node gives up even what is pinned to it.
  const drained = await cluster.larder(["drain", "b"]);
  assert.deepEqual([drained.code, drained.stderr], [0, ""]);
  const [first, ...lines] = drained.stdout.trimEnd().split("\n");
  assert.equal(first, "node b: gets no shards until larder cluster undrain b");
  assert.deepEqual(lines.toSorted(), ["node b: serves no shard", ...[4, 5, 6].map((id) => `shard ${id}: served by a`)]);
  assert.match((await cluster.larder(["status"])).stdout, /^node b: alive, drained, /m);
  const drainedContents = await contents(b, NAMES);
  assert.deepEqual(drainedContents.seen, seen);
  assert.deepEqual(await nodesOf(cluster.all, drainedContents.owners), ["a"]);
  const refused = await cluster.larder(["move", "4", "b"]);
  const drainedText = "larder: Node b is drained: larder cluster undrain b lets it serve shards again\n";
  assert.deepEqual([refused.code, refused.stderr], [1, drainedText]);
  assert.equal((await cluster.larder(["undrain", "b"])).code, 0);
  const back = await cluster.larder(["move", "4", "b"]);
  assert.deepEqual([back.code, back.stdout, back.stderr], [0, "shard 4: served by b\n", ""]);

  await untilServed(b, [4, 5, 6]);
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
  await untilServed(returned, [4, 5, 6]);
  assert.deepEqual((await contents(returned, NAMES)).seen, seen);
  assert.deepEqual(await returned.stop(), { code: 0, signal: null });
});
