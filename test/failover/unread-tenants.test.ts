/**
 * Nodes that renew their leases but cannot read a change of tenants, because a transaction has locked that table: they
 * stop answering, say so, and answer again when the table can be read.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { oneThread } from "../program/program-process.ts";

const skip = missingProgram("postgres");
const KEY = { LARDER_CLUSTER_KEY: "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=" };
const UNREAD = "store is suspended: PostgreSQL does not return the changed databases, indexes and users";

let cluster: TestCluster;

before(async () => {
  if (skip !== false) return;
  cluster = await TestCluster.start();
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
});

after(async () => {
  if (skip === false) await cluster.stop();
});

test("a node that cannot read a change of tenants is suspended until it can", { skip }, async () => {
  const node = await cluster.startNode("alone", oneThread, KEY);
  await new NodeClient(node).untilServing();
  const made = await fetch(`${node.adminUrl}/v1/databases`, {
    method: "POST",
    headers: { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` },
    body: JSON.stringify({ name: "shop" }),
  });
  const { token } = (await made.json()) as { token: string };
  const read = async (signal: AbortSignal): Promise<number> =>
    (await fetch(`${node.storeUrl}/get/key`, { headers: { authorization: `Bearer ${token}` }, signal })).status;
  const never = new AbortController();
  assert.equal(await read(never.signal), 200);

  const locking = new Client({ connectionString: cluster.url });
  await locking.connect();
  try {
    await locking.query("BEGIN");
    await locking.query("LOCK TABLE larder.tenant IN ACCESS EXCLUSIVE MODE");
    const other = new Client({ connectionString: cluster.url });
    await other.connect();
    await other.query("UPDATE larder.cluster SET tenants = tenants + 1");
    await other.end();
    // The read is given up after 10 s, which is longer than the lease for replies.
    await node.untilPrinted(/"tenants not read"/);
    let isAnswered = false;
    const late = read(never.signal).finally(() => {
      isAnswered = true;
    });
    const health = await (await fetch(`${node.adminUrl}/health/ready`)).text();
    assert.ok(health.includes(UNREAD) && !isAnswered, health);
    await locking.query("ROLLBACK");
    assert.equal(await late, 200);
  } finally {
    await locking.end();
  }
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
});
