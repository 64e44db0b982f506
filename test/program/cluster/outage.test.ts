/** A node and a short outage of PostgreSQL. What happens when its lease runs out is in `test/failover/`. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../../harness/pause.ts";
import { RestartablePostgres } from "../../harness/postgres-process.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { NodeClient, TestCluster } from "./cluster-program.ts";
import { UnbrokenWrites } from "./unbroken-writes.ts";

const skip = missingProgram("postgres");

let postgres: RestartablePostgres;
let cluster: TestCluster;

before(async () => {
  if (skip !== false) return;
  postgres = await RestartablePostgres.create();
  cluster = TestCluster.on(postgres.connectionString);
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
});

after(async () => {
  await cluster?.stop();
  await postgres?.stop();
});

test("a write that is under way when PostgreSQL goes away is committed when it is back, and others are refused meanwhile", {
  skip,
}, async () => {
  const node = await cluster.startNode("a", oneThread);
  const client = new NodeClient(node);
  await client.untilServing();

  const writes = new UnbrokenWrites(client, "pending");
  await postgres.kill();
  await node.untilPrinted(/"writes are refused","area":"store","reason":"PostgreSQL does not answer"/);
  // The store answers in order, refusals too: this one after the write that is under way.
  const refused = client.store("SETNX", "other", "never");
  const rejected = /^larder_store_commands_total\{.*command="setnx",outcome="rejected"\} 1$/m;
  await until(async () => rejected.test(await (await fetch(`${node.adminUrl}/metrics`)).text()));

  const written = writes.end();
  await postgres.start();
  const last = await written;
  const error = "MISCONF Errors writing to the AOF file: PostgreSQL does not answer";
  assert.deepEqual(await refused, { status: 400, body: { error } });
  await node.untilPrinted(/"accepting writes again","area":"store"/);
  assert.deepEqual(await client.store("MGET", "pending", "other"), {
    status: 200,
    body: { result: [`${last}`, null] },
  });
  assert.doesNotMatch(node.log, /node lost/);
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
});
