/** What `larder cluster move`, `drain` and `undrain` refuse, and what they write. The nodes are rows without processes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import { missingProgram } from "../../harness/required-programs.ts";
import { TestCluster } from "./cluster-program.ts";
import { sql } from "./shard-clients.ts";

const skip = missingProgram("postgres");
const TABLES_2 = new URL("../../fixtures/cluster-tables-2.sql", import.meta.url);

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

/** Two shards of the store, and one of the other areas. */
beforeEach(async () => {
  if (skip !== false) return;
  await sql(cluster, "DROP SCHEMA IF EXISTS larder CASCADE");
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  assert.equal((await cluster.here(["cluster", "add-shards", "store", "1"])).code, 0);
});

interface NodeRow {
  readonly forwards?: boolean;
  readonly isDead?: boolean;
  readonly isDrained?: boolean;
  readonly isFront?: boolean;
  /** Of the tables that it knows. */
  readonly version?: number;
}

/** A node that was seen alive. */
async function addNode(
  name: string,
  { forwards = true, isDead = false, isDrained = false, isFront = false, version }: NodeRow = {},
) {
  const address = `http://127.0.0.1:8079${forwards ? " 10.0.0.1:7400,7401,7402" : ""}`;
  const known = version ?? "(SELECT schema_version FROM larder.cluster)";
  await sql(
    cluster,
    `INSERT INTO larder.node (name, life, address, format, clock_ms, is_dead, is_drained, schema_version)
     VALUES ('${name}', gen_random_uuid(), '${address}', ${isFront ? 0 : 1}, 0, ${isDead}, ${isDrained}, ${known})`,
  );
}

/** Gives all shards to a node. */
async function giveShards(name: string): Promise<void> {
  await sql(
    cluster,
    `UPDATE larder.shard SET owner_name = '${name}', epoch = 1,
       owner = (SELECT life FROM larder.node WHERE name = '${name}')`,
  );
}

const drained = async (): Promise<readonly string[]> =>
  (await sql<{ name: string }>(cluster, "SELECT name FROM larder.node WHERE is_drained ORDER BY name")).map(
    ({ name }) => name,
  );

const pinned = (): Promise<readonly unknown[]> =>
  sql(cluster, "SELECT id, pin FROM larder.shard WHERE pin IS NOT NULL");

async function run(...words: readonly string[]): Promise<readonly [code: number, stdout: string, stderr: string]> {
  const { code, stdout, stderr } = await cluster.here(["cluster", ...words]);
  return [code, stdout, stderr];
}

test("move refuses the only shard of an area, and pins nothing", { skip }, async () => {
  await addNode("a");
  await addNode("b");
  await giveShards("a");
  assert.deepEqual(await run("move", "2", "b"), [
    1,
    "",
    "larder: Shard 2 does not move: it is the only shard of messaging: another node takes it over when its node stops\n",
  ]);
  assert.deepEqual(await pinned(), []);
});

test("move refuses while a living node cannot forward requests", { skip }, async () => {
  await addNode("a");
  await addNode("b", { forwards: false });
  // A dead node need not forward.
  await addNode("c", { forwards: false, isDead: true });
  await giveShards("a");
  assert.deepEqual(await run("move", "4", "b"), [
    1,
    "",
    "larder: Shard 4 does not move: node b cannot forward requests: set --cluster-address\n",
  ]);
  assert.deepEqual(await pinned(), []);
});

test("move refuses nodes that are dead, drained, fronts or unknown, and unknown shards", { skip }, async () => {
  await addNode("a");
  await addNode("b", { isDead: true });
  await addNode("c", { isDrained: true });
  await addNode("f", { isFront: true });
  await giveShards("a");
  for (const [shard, node, code, text] of [
    ["4", "b", 1, "Node b does not run: start it, and run this command again"],
    ["4", "c", 1, "Node c is drained: larder cluster undrain c lets it serve shards again"],
    ["4", "f", 1, "Node f is a front, which serves no shard: start it without --front on"],
    ["4", "d", 2, 'The cluster has no node "d": its nodes are a, b, c, f'],
    ["5", "a", 2, 'The cluster has no shard "5": its shards are 1, 2, 3, 4'],
  ] as const)
    assert.deepEqual(await run("move", shard, node), [code, "", `larder: ${text}\n`]);
  assert.deepEqual(await pinned(), []);
});

test("drain refuses while a living node is of a version that knows no drained nodes", { skip }, async () => {
  await addNode("a", { version: 2 });
  await addNode("b");
  await addNode("c", { version: 1, isDead: true });
  await giveShards("a");
  assert.deepEqual(await run("drain", "b"), [
    1,
    "",
    "larder: The node a of the cluster runs an earlier version: start it again with this one\n",
  ]);
  assert.deepEqual(await drained(), []);
});

test("drain changes tables of version 2 before it looks at the nodes", { skip }, async () => {
  await sql(cluster, "DROP SCHEMA larder CASCADE");
  await sql(cluster, readFileSync(TABLES_2, "utf8"));
  await sql(
    cluster,
    "INSERT INTO larder.cluster (id, branch, schema_version) VALUES (gen_random_uuid(), gen_random_uuid(), 2)",
  );
  await sql(
    cluster,
    `INSERT INTO larder.node (name, life, address, format, clock_ms, is_dead, schema_version)
     VALUES ('a', gen_random_uuid(), '', 1, 0, false, 2), ('b', gen_random_uuid(), '', 1, 0, true, 2)`,
  );
  const older = "larder: The node a of the cluster runs an earlier version: start it again with this one\n";
  assert.deepEqual(await run("drain", "b"), [1, "", older]);
  await sql(cluster, "UPDATE larder.node SET is_dead = true");
  assert.deepEqual(await run("drain", "b"), [0, "node b: gets no shards until larder cluster undrain b\n", ""]);
  assert.deepEqual(await drained(), ["b"]);
});

test("drain refuses when no other node lives that may serve shards", { skip }, async () => {
  await addNode("a", { isDead: true });
  await addNode("b");
  await addNode("c", { isDrained: true });
  await addNode("f", { isFront: true });
  await giveShards("b");
  assert.deepEqual(await run("drain", "b"), [
    1,
    "",
    "larder: No other node runs that could serve the shards of node b: start one first\n",
  ]);
  assert.deepEqual(await run("drain", "d"), [2, "", 'larder: The cluster has no node "d": its nodes are a, b, c, f\n']);
  assert.deepEqual(await drained(), ["c"]);
});

test("drain says which shards stay and why, and exits with 1", { skip }, async () => {
  await addNode("a");
  await addNode("b");
  await giveShards("b");
  // Only the shards that cannot move are left.
  await sql(cluster, "UPDATE larder.shard SET owner = NULL WHERE area = 'store'");
  assert.deepEqual(await run("drain", "b"), [
    1,
    "node b: gets no shards until larder cluster undrain b\n" +
      "shard 2: stays, because it is the only shard of messaging: another node takes it over when its node stops\n" +
      "shard 3: stays, because it is the only shard of vector: another node takes it over when its node stops\n",
    "",
  ]);
  assert.deepEqual(await drained(), ["b"]);
});

test("undrain lets a node have shards again, whether it runs or not", { skip }, async () => {
  await addNode("a", { isDrained: true, isDead: true });
  await addNode("b", { isDrained: true });
  for (const name of ["a", "b"])
    assert.deepEqual(await run("undrain", name), [
      0,
      `node ${name}: gets its shards when it has been up for 30 s\n`,
      "",
    ]);
  assert.deepEqual(await drained(), []);
  assert.equal((await run("undrain", "c"))[0], 2);
});
