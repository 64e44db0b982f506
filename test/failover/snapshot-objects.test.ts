/** Two nodes on one PostgreSQL whose snapshots are in a directory that both have: a takeover, and one that has to wait. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { until } from "../harness/pause.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { oneThread } from "../program/program-process.ts";

const skip = missingProgram("postgres");

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(() => cluster?.stop());

async function sql<Row>(text: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

async function takeSnapshots(adminUrl: string): Promise<void> {
  const headers = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
  assert.equal((await fetch(`${adminUrl}/v1/snapshot`, { method: "POST", headers })).status, 202);
}

interface Pointer {
  readonly parts: number;
  readonly object: string | null;
}

async function pointerOf(shard: number): Promise<Pointer | undefined> {
  const [row] = await sql<Pointer>(
    `SELECT snapshot_parts AS parts, snapshot_object AS object FROM larder.shard WHERE id = ${shard}`,
  );
  return row;
}

test("a takeover reads the snapshot from the object store, waits while that is away, and says why", {
  skip,
}, async () => {
  const directory = `${cluster.directory}/objects`;
  const address = `file://${directory}`;
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  const missing = await cluster.here(["cluster", "files", address]);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /^larder: .*objects.*: the directory does not exist: create it, or mount its disk/);
  const wrong = await cluster.here(["cluster", "files", "sftp://host/x"]);
  assert.equal(wrong.code, 2);
  mkdirSync(directory);
  await sql(`INSERT INTO larder.node (name, life, address, format, clock_ms, schema_version)
    VALUES ('old', gen_random_uuid(), 'http://127.0.0.1:1', 1, 0, 6)`);
  const beats = setInterval(() => void sql("UPDATE larder.node SET beat = beat + 1 WHERE name = 'old'"), 500);
  const older = await cluster.here(["cluster", "files", address]);
  clearInterval(beats);
  assert.equal(
    older.stderr,
    "larder: The node old of the cluster runs an earlier version: start it again with this one\n",
  );
  await sql("UPDATE larder.node SET is_dead = true");
  const set = await cluster.here(["cluster", "files", address]);
  assert.deepEqual([set.code, set.stderr], [0, ""]);
  assert.match(set.stdout, /^the next snapshot of each shard goes to file:\/\//);

  const a = await cluster.startNode("a", oneThread);
  const first = new NodeClient(a);
  await first.untilServing();
  await first.store("SET", "key", "value");
  await takeSnapshots(a.adminUrl);
  await until(async () => (await pointerOf(1))?.object !== null);
  assert.equal((await pointerOf(1))?.parts, 0);
  assert.deepEqual(await sql("SELECT count(*)::int AS parts FROM larder.snapshot_part"), [{ parts: 0 }]);

  const b = await cluster.startNode("b", [...oneThread, "--standby", "off"]);
  renameSync(directory, `${directory}-away`);
  const refused = await cluster.larder(["serve", "--data-dir", cluster.dataDirectory("c"), "--cluster-node", "c"], {
    ...secrets,
    LARDER_CLUSTER_URL: cluster.url,
  });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /The object store of the cluster cannot be read: .*the directory does not exist/);
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
  const trouble = /^larder_cluster_shard_object_trouble\{area="store",shard="1"\} 1$/m;
  await until(async () => trouble.test(await (await fetch(`${b.adminUrl}/metrics`)).text()));
  const ready = await fetch(`${b.adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /store waits for its snapshot in the object store: .*the directory does not exist/);
  let status = "";
  await until(async () => {
    status = (await cluster.here(["cluster", "status"])).stdout;
    return status.includes("waits for its snapshot");
  });
  assert.match(status, /^snapshots go to file:\/\/.*objects$/m);
  assert.match(status, /^shard 1 \(store\): claimed by b, .*waits for its snapshot: .*the directory does not exist/m);

  renameSync(`${directory}-away`, directory);
  const second = new NodeClient(b);
  await second.untilServing();
  assert.deepEqual((await second.store("GET", "key")).body, { result: "value" });

  const copy = `${cluster.directory}/copy`;
  const exported = await cluster.here(["cluster", "export-shard", "store", copy]);
  assert.deepEqual([exported.code, exported.stderr], [0, ""]);
  assert.ok(readdirSync(`${copy}/store`).some((name) => name.endsWith(".snapshot")));
  assert.equal((await cluster.here(["cluster", "files", "off"])).code, 0);
  await second.store("SET", "key", "later");
  await takeSnapshots(b.adminUrl);
  await until(async () => (await pointerOf(1))?.object === null);
  assert.ok(((await pointerOf(1))?.parts ?? 0) > 0);
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
});
