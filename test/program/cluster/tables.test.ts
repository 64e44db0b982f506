/** The tables of a cluster: those of an earlier version, and the shard of each tenant. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { NodeClient, secrets, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");
const TABLES_1 = new URL("../../fixtures/cluster-tables-1.sql", import.meta.url);

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function sql<Row>(text: string, url = cluster.url): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** A cluster as version 1 has made it. */
async function makeTables1(): Promise<void> {
  await sql(readFileSync(TABLES_1, "utf8"));
  await sql(`INSERT INTO larder.cluster (id, branch, schema_version)
    VALUES ('6f1d6c0e-0000-4000-8000-000000000001', '6f1d6c0e-0000-4000-8000-000000000002', 1)`);
  for (const [index, area] of ["store", "messaging", "vector"].entries())
    await sql(`INSERT INTO larder.shard (id, area, hash_seed) VALUES (${index + 1}, '${area}', '\\x0102030405060708')`);
}

const versionOf = async (): Promise<number | undefined> =>
  (await sql<{ version: number }>("SELECT schema_version AS version FROM larder.cluster"))[0]?.version;

test("a node opens a cluster of version 1, and gives its tenants the shards with their data", { skip }, async () => {
  await makeTables1();
  // A database that the configuration no longer lists has data too.
  const check = await cluster.larder(["check", "--data-dir", cluster.dataDirectory("a")], secrets);
  assert.match(check.stdout, /the tables of the cluster have version 1: the next start of a node/);
  assert.equal(await versionOf(), 1);
  const config = `${cluster.directory}/two.json`;
  const token = "other-token-6a5e4f308f2d1c7b";
  writeFileSync(
    config,
    JSON.stringify({
      store: { databases: [{ name: "main" }, { name: "other", token, readOnlyToken: `reader-${token}` }] },
    }),
    { mode: 0o600 },
  );
  // The shard has data before its tenants are known, as after a run of version 1.
  const before = await cluster.startNode("a", [...oneThread, "--config", config]);
  await new NodeClient(before).untilServing();
  const written = await fetch(`${before.storeUrl}/set/k/v`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(written.status, 200, await written.text());
  assert.deepEqual(await before.stop(), { code: 0, signal: null });
  assert.equal(await versionOf(), 5);
  await sql("DELETE FROM larder.tenant");
  await sql("UPDATE larder.shard SET are_tenants_known = false");

  const node = await cluster.startNode("a", oneThread);
  await new NodeClient(node).untilServing();
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
  assert.deepEqual(await sql("SELECT area, name, shard FROM larder.tenant ORDER BY shard, name"), [
    { area: "store", name: "main", shard: 1 },
    { area: "store", name: "other", shard: 1 },
    { area: "messaging", name: "main", shard: 2 },
    { area: "vector", name: "main", shard: 3 },
  ]);
  assert.deepEqual(await sql("SELECT count(*)::int AS known FROM larder.shard WHERE are_tenants_known"), [
    { known: 3 },
  ]);
});

test("larder cluster init changes the tables of version 1, and only their owner may", { skip }, async () => {
  await sql("DROP SCHEMA larder CASCADE");
  await makeTables1();
  await sql("CREATE ROLE node LOGIN");
  await sql("GRANT USAGE ON SCHEMA larder TO node");
  await sql(
    "GRANT SELECT, INSERT, UPDATE, DELETE ON larder.node, larder.shard, larder.log, larder.snapshot_part TO node",
  );
  await sql("GRANT SELECT ON larder.cluster TO node");
  const LARDER_CLUSTER_URL = cluster.url.replace("//larder:", "//node:");
  const words = ["serve", "--data-dir", cluster.dataDirectory("b"), "--cluster-node", "b"];
  const refused = await cluster.larder(words, { ...secrets, LARDER_CLUSTER_URL });
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /The tables of the cluster are of an earlier version, and the user of LARDER_CLUSTER_URL does not own them: run larder cluster init and then larder cluster grants as their owner/,
  );
  assert.equal(await versionOf(), 1);

  const changed = await cluster.larder(["cluster", "init"]);
  assert.deepEqual([changed.code, changed.stderr], [0, ""]);
  assert.match(changed.stdout, /its tables were changed from version 1 to version 5\n/);
  assert.equal(await versionOf(), 5);
  assert.match((await cluster.larder(["cluster", "init"])).stdout, /exists .* nothing was changed/);
});

test("larder cluster init makes as many shards of each area as it is told", { skip }, async () => {
  await sql("DROP SCHEMA larder CASCADE");
  for (const count of ["0", "65", "x"]) {
    const refused = await cluster.larder(["cluster", "init", "--shards", count]);
    assert.deepEqual(
      [refused.code, refused.stderr],
      [2, `larder: --shards must be a number from 1 to 64: ${JSON.stringify(count)}\n`],
    );
  }
  const made = await cluster.larder(["cluster", "init", "--shards", "2"]);
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(await sql("SELECT id, area FROM larder.shard ORDER BY id"), [
    { id: 1, area: "store" },
    { id: 2, area: "messaging" },
    { id: 3, area: "vector" },
    { id: 4, area: "store" },
    { id: 5, area: "messaging" },
    { id: 6, area: "vector" },
  ]);
});
