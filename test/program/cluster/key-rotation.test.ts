/** The key by which nodes know each other is rotated while they forward requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { oneThread } from "../program-process.ts";
import { NodeClient } from "./cluster-program.ts";
import { during, FileCluster } from "./file-cluster.ts";

const cluster = new FileCluster();
const { skip } = cluster;
const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
/** A request that the owner of the area does not take is refused. */
const AT_ONCE = ["--takeover-wait", "0s"];

const rotated = (newest: number): string =>
  `the cluster has the key larder-${newest}: each node learns it within seconds, and uses it when all have\n` +
  `connections with the key larder-${newest - 1} are accepted until the next rotation\n`;

test("no request is refused while the key is rotated twice, and a third node has the newest one", {
  skip,
}, async () => {
  const a = await cluster.startNode("a", ADDRESS);
  await new NodeClient(a).untilServing();
  const b = await cluster.startNode("b", [...ADDRESS, ...AT_ONCE, ...oneThread]);
  const client = new NodeClient(b);
  // It learns who serves the store.
  while ((await client.store("GET", "n")).status !== 200);
  let count = 0;
  /** Must succeed, since it does not wait. */
  const increment = async (): Promise<void> => {
    count += 1;
    assert.deepEqual(await client.store("INCR", "n"), { status: 200, body: { result: count } });
  };
  for (const newest of [1, 2]) {
    const { code, stdout, stderr } = await during(cluster.larder(["rotate-key"]), increment);
    assert.deepEqual([code, stdout, stderr], [0, rotated(newest), ""]);
    const uses = new RegExp(`"newest":${newest},"offered":"larder-${newest}"`);
    await during(Promise.all([a.untilPrinted(uses), b.untilPrinted(uses)]), increment);
  }
  assert.deepEqual(await cluster.sql("SELECT key_number, length(key) AS length FROM larder.cluster"), [
    { key_number: 2, length: 32 },
  ]);
  const c = await cluster.startNode("c", [...ADDRESS, ...oneThread]);
  assert.deepEqual(await new NodeClient(c).store("INCR", "n"), { status: 200, body: { result: count + 1 } });
  for (const node of [c, b, a]) assert.deepEqual(await node.stop(), { code: 0, signal: null });
  for (const { log } of [a, b, c]) assert.doesNotMatch(log, /has not shown the key/);
});

test("the key is not rotated again before each living node knows it", { skip }, async () => {
  const a = await cluster.startNode("a", oneThread);
  await new NodeClient(a).untilServing();
  while ((await cluster.sql("SELECT 1 FROM larder.node WHERE name = 'a' AND key_number = 2")).length === 0);
  // As of a node that lives, and has not looked since the last rotation.
  await cluster.sql("UPDATE larder.node SET key_number = 1 WHERE name = 'a'");
  const refused = await cluster.larder(["rotate-key"]);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [
      1,
      "larder: The node a of the cluster has not learned the last key yet: run this command again in some seconds. A node whose machine is gone will have been declared dead by then\n",
    ],
  );
  await cluster.sql("UPDATE larder.node SET key_number = 2, schema_version = 3 WHERE name = 'a'");
  const older = await cluster.larder(["rotate-key"]);
  assert.deepEqual(
    [older.code, older.stderr],
    [1, "larder: The node a of the cluster runs an earlier version: start it again with this one\n"],
  );
  await a.killGroup();
  // Nobody declares it dead but the command itself.
  const alone = await cluster.larder(["rotate-key"]);
  assert.deepEqual([alone.code, alone.stdout, alone.stderr], [0, rotated(3), ""]);
});

test("only the owner of the tables rotates the key", { skip }, async () => {
  await cluster.sql("CREATE ROLE node LOGIN");
  const { stdout } = await cluster.larder(["grants", "node"]);
  await cluster.sql(stdout);
  const LARDER_CLUSTER_URL = cluster.all.url.replace("//larder:", "//node:");
  const refused = await cluster.larder(["rotate-key"], { LARDER_CLUSTER_URL });
  assert.deepEqual(
    [refused.code, refused.stderr],
    [
      1,
      "larder: The user of LARDER_CLUSTER_URL does not own the tables of the cluster: run this command as their owner\n",
    ],
  );
});
