/** What a node does while PostgreSQL is away for longer than a lease, and when it is back. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { RestartablePostgres } from "../harness/postgres-process.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, TestCluster } from "../program/cluster/cluster-program.ts";
import { UnbrokenWrites } from "../program/cluster/unbroken-writes.ts";
import { oneThread } from "../program/program-process.ts";
import { moment } from "../simulation/kill/endings.ts";

const skip = missingProgram("postgres");
const LOOK_MS = 20;

let postgres: RestartablePostgres;
let cluster: TestCluster;

before(async () => {
  if (skip !== false) return;
  postgres = await RestartablePostgres.create();
  cluster = TestCluster.on(postgres.connectionString);
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
});

after(async () => {
  await cluster?.stop();
  await postgres?.stop();
});

test("a node keeps its shards through an outage of PostgreSQL, and refuses writes without a lease", {
  skip,
}, async () => {
  const node = await cluster.startNode("a", oneThread);
  const client = new NodeClient(node);
  await client.untilServing();
  const writes = new UnbrokenWrites(client, "pending");
  await postgres.kill();
  await node.untilPrinted(/"nodes and shards not read"/);
  // No write of messaging is under way, so the reason is that the lease has run out.
  let reasons = "";
  while (!reasons.includes("messaging cannot write: PostgreSQL does not answer")) {
    await moment(LOOK_MS);
    reasons = await (await fetch(`${node.adminUrl}/health/ready`)).text();
  }
  const refused = await client.messaging("/v2/publish/https://example.com/hook", { body: "never" });
  assert.deepEqual(refused, {
    status: 503,
    body: { error: "Requests cannot be accepted now: PostgreSQL does not answer" },
  });
  // The one that was accepted while the lease was fresh.
  const written = writes.end();
  await postgres.start();
  const last = await written;
  let answer = await client.store("SET", "k", "after");
  while (answer.status !== 200) {
    await moment(LOOK_MS);
    answer = await client.store("SET", "k", "after");
  }
  assert.deepEqual(await client.store("MGET", "pending", "k"), { status: 200, body: { result: [`${last}`, "after"] } });
  assert.doesNotMatch(node.log, /node lost/);
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
});

test("a node that stops while PostgreSQL is away ends in time, with code 1", { skip }, async () => {
  const node = await cluster.startNode("a", [...oneThread, "--shutdown-grace", "1s"]);
  const client = new NodeClient(node);
  await client.untilServing();
  assert.deepEqual(await client.store("GET", "k"), { status: 200, body: { result: "after" } });
  await postgres.kill();
  assert.deepEqual(await node.stop(), { code: 1, signal: null });
  assert.match(node.log, /node could not leave the cluster: PostgreSQL does not answer/);
});
