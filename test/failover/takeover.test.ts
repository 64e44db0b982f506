/** Two nodes on one PostgreSQL: when one is gone, the other serves everything that was acknowledged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeClient, PASSWORD, secrets } from "../program/cluster/cluster-program.ts";
import { Contents } from "../program/cluster/contents.ts";
import { FileCluster } from "../program/cluster/file-cluster.ts";

const cluster = new FileCluster();
const { skip } = cluster;

const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };

test("a node that is killed is replaced by the other, which has all that was acknowledged", { skip }, async () => {
  const first = await cluster.startNode("a");
  const a = new NodeClient(first);
  await a.untilServing();
  const contents = await Contents.write(a);

  // A takeover reads the snapshot, and the journal after it.
  const snapshot = await fetch(`${first.adminUrl}/v1/snapshot`, { method: "POST", headers: admin });
  assert.equal(snapshot.status, 202);
  await first.untilPrinted(/"snapshot written","area":"vector"/);
  assert.deepEqual(await a.store("SET", "after", "snapshot"), { status: 200, body: { result: "OK" } });

  const second = await cluster.startNode("b");
  const b = new NodeClient(second);
  assert.equal((await b.store("GET", "key-0")).status, 421);

  await first.kill();
  await b.untilServing();
  await contents.check(b);
  assert.deepEqual(await b.store("GET", "after"), { status: 200, body: { result: "snapshot" } });
  assert.equal((await b.store("SET", "after", "takeover")).status, 200);

  // A node that starts again waits, and takes over at once when the other one stops.
  const again = await cluster.startNode("a");
  const a2 = new NodeClient(again);
  assert.equal((await a2.store("GET", "after")).status, 421);
  const status = await cluster.larder(["status"]);
  assert.equal(status.code, 0, status.stdout + status.stderr);
  assert.match(status.stdout, /^node a: alive, .*\nnode b: alive, .*\nshard 1 \(store\): owned by b, epoch \d+$/m);
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
  await a2.untilServing();
  assert.deepEqual(await a2.store("GET", "after"), { status: 200, body: { result: "takeover" } });
  assert.deepEqual(await again.stop(), { code: 0, signal: null });

  const left = await cluster.larder(["status", "--json"]);
  assert.equal(left.code, 1);
  const { nodes } = JSON.parse(left.stdout) as { nodes: readonly { name: string; state: string }[] };
  assert.deepEqual(
    nodes.map(({ name, state }) => [name, state]),
    [
      ["a", "dead"],
      ["b", "dead"],
    ],
  );
  for (const { log, output } of [first, second, again]) assert.ok(!`${log}${output}`.includes(PASSWORD));
  for (const { stdout, stderr } of [status, left]) assert.ok(!`${stdout}${stderr}`.includes(PASSWORD));
});
