/** The rights of a node in PostgreSQL, and what `larder check` says of the PostgreSQL of a cluster. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { NodeClient, PASSWORD, secrets, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");
const NO_PERMISSION = "42501";

let cluster: TestCluster;
/** The URL with another user. */
let ownerUrl: string;
let nodeUrl: string;

before(async () => {
  if (skip !== false) return;
  cluster = await TestCluster.start();
  ownerUrl = cluster.url.replace("//larder:", "//owner:");
  nodeUrl = cluster.url.replace("//larder:", '//no"de:');
  await sql(cluster.url, "CREATE ROLE owner LOGIN");
  await sql(cluster.url, 'CREATE ROLE "no""de" LOGIN');
  await sql(cluster.url, "GRANT CREATE ON DATABASE postgres TO owner");
  await sql(cluster.url, "CREATE SCHEMA other");
  await sql(cluster.url, "CREATE TABLE other.secret (text text)");
  const made = await cluster.here(["cluster", "init"], { LARDER_CLUSTER_URL: ownerUrl });
  assert.deepEqual([made.code, made.stderr], [0, ""]);
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function sql(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url.replaceAll('"', "%22") });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

async function check(
  env: Readonly<Record<string, string>> = {},
  { name, directory } = { name: "checked", directory: "checked" },
): Promise<readonly [code: number, lines: readonly string[]]> {
  const { code, stdout, stderr } = await cluster.here(
    ["check", "--data-dir", cluster.dataDirectory(directory), "--cluster-node", name],
    { ...secrets, LARDER_CLUSTER_URL: nodeUrl, ...env },
  );
  assert.equal(stderr, "");
  assert.ok(!stdout.includes(PASSWORD), stdout);
  const lines = stdout.trimEnd().split("\n");
  return [code, lines.filter((line) => line.startsWith("problem: ") || line.startsWith("cluster "))];
}

const NO_STANDBY =
  "warning: PostgreSQL has no synchronous standby: a failover may lose acknowledged writes: set synchronous_standby_names, unless the storage of PostgreSQL is replicated";

test("a role without the rights is named with what it lacks, and with them it serves and can do no more", {
  skip,
}, async () => {
  const text =
    "Run larder cluster init as the same user, or the statements of larder cluster grants as the owner of the tables";
  assert.deepEqual(await check(), [
    1,
    [
      `problem: The user of LARDER_CLUSTER_URL may not use the schema larder: permission denied for schema larder. ${text}`,
    ],
  ]);
  const { stdout } = await cluster.here(["cluster", "grants", 'no"de']);
  assert.match(stdout, /^GRANT USAGE ON SCHEMA larder TO "no""de";$/m);
  await sql(ownerUrl, stdout);
  assert.match((await check())[1][0] ?? "", /^cluster [\da-f-]{36}: ok$/);

  await sql(ownerUrl, 'REVOKE DELETE ON larder.log FROM "no""de"; REVOKE UPDATE ON larder.shard FROM "no""de"');
  const lacks =
    "The user of LARDER_CLUSTER_URL lacks the rights UPDATE on larder.shard, DELETE on larder.log: run the statements of larder cluster grants as the owner of the tables";
  assert.deepEqual(await check(), [1, [`problem: ${lacks}`]]);
  const args = ["serve", "--data-dir", cluster.dataDirectory("refused"), "--log-level", "error", "--port", "0"];
  const refused = await cluster.larder([...args, "--admin-port", "0"], { ...secrets, LARDER_CLUSTER_URL: nodeUrl });
  assert.deepEqual([refused.code, refused.stderr], [1, `larder: ${lacks}\n`]);
  await sql(ownerUrl, stdout);

  const full = cluster.url;
  Object.assign(cluster, { url: nodeUrl });
  const node = await cluster.startNode("served", oneThread, {
    LARDER_CLUSTER_KEY: "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=",
  });
  Object.assign(cluster, { url: full });
  const client = new NodeClient(node);
  await client.untilServing();
  assert.equal((await client.store("SET", "key", "value")).status, 200);
  // A snapshot is uploaded, and the segments that it covers are removed.
  const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
  await fetch(`${node.adminUrl}/v1/snapshot`, { method: "POST", headers: admin });
  await node.untilPrinted(/"snapshot written","area":"vector"/);
  // Tenants are made, changed and removed.
  for (const [method, path, body] of [
    ["POST", "databases", '{"name":"shop"}'],
    ["POST", "databases/shop/reset-password", ""],
    ["DELETE", "databases/shop", ""],
  ] as const) {
    const answer = await fetch(`${node.adminUrl}/v1/${path}`, { method, headers: admin, ...(body !== "" && { body }) });
    assert.match(await answer.text(), /"reachedAllNodes":true/);
  }

  const named = await check({}, { name: "served", directory: "elsewhere" });
  const inUse =
    "problem: A node with the name served lives in the cluster: end that process, or set --cluster-node to another name";
  assert.deepEqual(named, [1, [inUse]]);
  // In the directory of the node itself it is this node.
  assert.equal((await check({}, { name: "served", directory: "served" }))[0], 0);
  assert.deepEqual(await node.stop(), { code: 0, signal: null });

  for (const statement of [
    "DROP TABLE larder.log",
    "TRUNCATE larder.log",
    "UPDATE larder.log SET epoch = 0",
    "UPDATE larder.cluster SET branch = id",
    "UPDATE larder.cluster SET schema_version = 9",
    "UPDATE larder.tenant SET shard = 9",
    "DELETE FROM larder.cluster",
    "INSERT INTO larder.shard (id, area, hash_seed) VALUES (9, 'store', '')",
    "DELETE FROM larder.shard",
    "DELETE FROM larder.node",
    "ALTER TABLE larder.node ADD COLUMN x int",
    "CREATE TABLE larder.mine (id int)",
    "CREATE SCHEMA mine",
    "DROP SCHEMA larder CASCADE",
    "SELECT * FROM other.secret",
    "CREATE ROLE mine",
  ])
    await assert.rejects(sql(nodeUrl, statement), { code: NO_PERMISSION }, statement);
});

test("check names what is wrong with PostgreSQL in the words of a start, and changes nothing", { skip }, async () => {
  const whole = await cluster.larder(["check", "--data-dir", cluster.dataDirectory("checked"), "--cluster-node", "c"], {
    ...secrets,
    LARDER_CLUSTER_URL: nodeUrl,
  });
  assert.equal(whole.code, 0, whole.stdout);
  assert.ok(whole.stdout.split("\n").includes(NO_STANDBY), whole.stdout);
  assert.deepEqual(await check({ LARDER_CLUSTER_URL: cluster.url.replace(/:\d+\/.*$/, ":1/none") }), [
    1,
    [
      "problem: PostgreSQL cannot be used: 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1: start it, or correct LARDER_CLUSTER_URL",
    ],
  ]);
  const at = new URL(cluster.url).host;
  for (const [wrong, right, problem] of [
    [
      "UPDATE larder.cluster SET schema_version = 8",
      "UPDATE larder.cluster SET schema_version = 7",
      "The tables of the cluster have version 8, and this larder knows version 7: use a newer larder",
    ],
    [
      'ALTER ROLE "no""de" SET synchronous_commit = off',
      'ALTER ROLE "no""de" RESET synchronous_commit',
      `PostgreSQL at ${at} acknowledges commits before they are on its disk, because its synchronous_commit is off: set synchronous_commit to on for this user`,
    ],
    [
      'ALTER ROLE "no""de" SET default_transaction_read_only = on',
      'ALTER ROLE "no""de" RESET default_transaction_read_only',
      `PostgreSQL at ${at} accepts no writes: name its primary in LARDER_CLUSTER_URL, or promote a standby`,
    ],
  ] as const) {
    await sql(cluster.url, wrong);
    assert.deepEqual(await check(), [1, [`problem: ${problem}`]]);
    await sql(cluster.url, right);
  }
});
