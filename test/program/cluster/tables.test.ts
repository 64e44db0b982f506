/** The tables of a cluster: those of an earlier version, and the shard of each tenant. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { NodeClient, secrets, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");

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

/** A cluster as an earlier version has made it, instead of the one that was there. */
async function makeTables(version: 1 | 2 | 5): Promise<void> {
  await sql("DROP SCHEMA IF EXISTS larder CASCADE");
  await sql(readFileSync(new URL(`../../fixtures/cluster-tables-${version}.sql`, import.meta.url), "utf8"));
  await sql(`INSERT INTO larder.cluster (id, branch, schema_version)
    VALUES ('6f1d6c0e-0000-4000-8000-000000000001', '6f1d6c0e-0000-4000-8000-000000000002', ${version})`);
  for (const [index, area] of ["store", "messaging", "vector"].entries())
    await sql(`INSERT INTO larder.shard (id, area, hash_seed) VALUES (${index + 1}, '${area}', '\\x0102030405060708')`);
}

const versionOf = async (): Promise<number | undefined> =>
  (await sql<{ version: number }>("SELECT schema_version AS version FROM larder.cluster"))[0]?.version;

test("a node opens a cluster of version 1, and gives its tenants the shards with their data", { skip }, async () => {
  await makeTables(1);
  // A database that the configuration no longer lists has data too.
  const check = await cluster.here(["check", "--data-dir", cluster.dataDirectory("a")], secrets);
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
  assert.equal(await versionOf(), 7);
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
  await makeTables(1);
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

  const changed = await cluster.here(["cluster", "init"]);
  assert.deepEqual([changed.code, changed.stderr], [0, ""]);
  assert.match(changed.stdout, /its tables were changed from version 1 to version 7\n/);
  assert.equal(await versionOf(), 7);
  assert.match((await cluster.here(["cluster", "init"])).stdout, /exists .* nothing was changed/);
});

interface Column {
  readonly name: string;
  readonly type: string;
  readonly default: string | null;
  readonly nullable: string;
}

const columns = (): Promise<readonly Column[]> =>
  sql(`SELECT table_name || '.' || column_name AS name, data_type AS type, column_default AS default,
      is_nullable AS nullable
    FROM information_schema.columns WHERE table_schema = 'larder' ORDER BY 1`);

/** The definitions of the indexes, triggers and functions, without the order in which they were made. */
const definitions = async (): Promise<readonly string[]> =>
  (
    await sql<{ text: string }>(`SELECT indexdef AS text FROM pg_indexes WHERE schemaname = 'larder'
      UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
      UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'larder'::regnamespace`)
  )
    .map(({ text }) => text)
    .toSorted();

test("tables of each earlier version become those of a new cluster, with their contents", { skip }, async () => {
  await sql("DROP SCHEMA IF EXISTS larder CASCADE");
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  const made = await columns();
  const wholly = await definitions();
  assert.equal(wholly.filter((text) => text.includes("TRIGGER")).length, 4);
  assert.deepEqual(
    made.filter(({ name }) => name === "node.is_drained" || name === "tenant.shard").map(({ type }) => type),
    ["boolean", "integer"],
  );
  for (const version of [1, 2, 5] as const) {
    await makeTables(version);
    await sql(`INSERT INTO larder.node (name, life, address, format, clock_ms)
      VALUES ('a', '6f1d6c0e-0000-4000-8000-00000000000a', 'http://127.0.0.1:8079', 1, 7)`);
    if (version > 1) await sql("INSERT INTO larder.tenant (area, name, shard) VALUES ('store', 'main', 1)");
    await sql("INSERT INTO larder.log (shard, segment, start, stop, epoch, bytes) VALUES (1, 1, 0, 1, 1, '\\x00')");
    const changed = await cluster.here(["cluster", "init"]);
    assert.deepEqual([changed.code, changed.stderr], [0, ""]);
    assert.match(changed.stdout, new RegExp(`its tables were changed from version ${version} to version`));
    assert.deepEqual(await columns(), made);
    assert.deepEqual(await definitions(), wholly);
    // The process may be one that knows neither shards of an area nor drained nodes.
    assert.deepEqual(await sql("SELECT name, schema_version AS version, is_drained AS drained FROM larder.node"), [
      { name: "a", version: 1, drained: false },
    ]);
    // A shard with data may have tenants that no row names.
    assert.deepEqual(await sql("SELECT id, are_tenants_known AS known FROM larder.shard ORDER BY id"), [
      { id: 1, known: false },
      { id: 2, known: true },
      { id: 3, known: true },
    ]);
    assert.deepEqual(
      await sql("SELECT name, shard FROM larder.tenant"),
      version === 1 ? [] : [{ name: "main", shard: 1 }],
    );
  }
});

test("larder cluster status reads tables of earlier versions, and changes nothing", { skip }, async () => {
  for (const version of [1, 2] as const) {
    await makeTables(version);
    await sql(`INSERT INTO larder.node (name, life, address, format, clock_ms, is_dead)
      VALUES ('a', '6f1d6c0e-0000-4000-8000-00000000000a', 'http://127.0.0.1:8079', 1, 7, true)`);
    await sql("UPDATE larder.shard SET owner_name = 'a', epoch = 4 WHERE id = 2");
    const before = await columns();
    const status = await cluster.here(["cluster", "status"]);
    assert.deepEqual(
      [status.code, status.stderr, status.stdout.split("\n")],
      [
        1,
        "",
        [
          "cluster 6f1d6c0e-0000-4000-8000-000000000001",
          "node a: dead, http://127.0.0.1:8079, owner name 4334d7dbd558b471",
          "shard 1 (store): free, epoch 0",
          "shard 2 (messaging): free, last by a, epoch 4",
          "shard 3 (vector): free, epoch 0",
          "",
        ],
      ],
    );
    assert.deepEqual(await columns(), before);
    assert.equal(await versionOf(), version);
  }
});

test("larder cluster init makes as many shards of each area as it is told", { skip }, async () => {
  await sql("DROP SCHEMA larder CASCADE");
  for (const count of ["0", "65", "x"]) {
    const refused = await cluster.here(["cluster", "init", "--shards", count]);
    assert.deepEqual(
      [refused.code, refused.stderr],
      [2, `larder: --shards must be a number from 1 to 64: ${JSON.stringify(count)}\n`],
    );
  }
  const made = await cluster.here(["cluster", "init", "--shards", "2"]);
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
