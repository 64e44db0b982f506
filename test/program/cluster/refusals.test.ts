/** Why a node does not start: each refusal names the trouble and the remedy, and none has the password. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { freePort } from "../../harness/free-port.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { PASSWORD, secrets, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");

let cluster: TestCluster;

before(async () => {
  if (skip !== false) return;
  cluster = await TestCluster.start();
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function sql(text: string): Promise<void> {
  const client = new Client({ connectionString: cluster.url, options: "-c default_transaction_read_only=off" });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Starts a node that must end, and returns its exit code and what it prints for people. */
async function refused(
  env: Readonly<Record<string, string>> = {},
  words: readonly string[] = [],
): Promise<readonly [code: number, text: string]> {
  const directory = cluster.dataDirectory("refused");
  const args = ["serve", "--data-dir", directory, "--cluster-node", "r", "--log-level", "error", "--port", "0"];
  const { code, stdout, stderr } = await cluster.larder([...args, "--admin-port", "0", ...words], {
    ...secrets,
    ...env,
  });
  assert.ok(!`${stdout}${stderr}`.includes(PASSWORD), stderr);
  return [code, stderr.trimEnd()];
}

test("settings that cannot be used are refused with their names", { skip }, async () => {
  for (const [env, words, expected] of [
    [
      { LARDER_CLUSTER_URL: "" },
      ["--cluster", cluster.url],
      "larder: --cluster: the URL has a password, which others may read here: set the variable LARDER_CLUSTER_URL or LARDER_CLUSTER_URL_FILE instead",
    ],
    [
      {},
      ["--cluster", "postgres://larder@127.0.0.1/larder"],
      "larder: --cluster and LARDER_CLUSTER_URL are both set: keep one of them",
    ],
    [
      {},
      ["--fsync", "no"],
      "larder: --fsync no cannot be set in a cluster, where a write would be lost with its node: use always or everysec",
    ],
    [
      { LARDER_CLUSTER_URL: `mysql://larder:${PASSWORD}@127.0.0.1/larder` },
      [],
      "larder: LARDER_CLUSTER_URL: the URL does not have the form postgres://<user>@<host>:<port>/<database>",
    ],
    [
      { LARDER_CLUSTER_URL: "" },
      ["--reads", "confirm"],
      "larder: --cluster-node has no effect without --cluster: set that as well, or leave it out\nlarder: --reads has no effect without --cluster: set that as well, or leave it out",
    ],
    [
      { LARDER_STORE_TOKEN: "", LARDER_NEXT_SIGNING_KEY: "" },
      [],
      "larder: The database main has secrets that only this node would know: set LARDER_STORE_TOKEN on every node, or list it with its secrets in the configuration file\nlarder: The messaging user main has secrets that only this node would know: set LARDER_NEXT_SIGNING_KEY on every node, or list it with its secrets in the configuration file",
    ],
  ] as const)
    assert.deepEqual(await refused(env, words), [2, expected]);
});

test("a PostgreSQL that cannot be used is refused with the reason", { skip }, async () => {
  const port = await freePort();
  assert.deepEqual(await refused({ LARDER_CLUSTER_URL: `postgres://larder:${PASSWORD}@127.0.0.1:${port}/larder` }), [
    1,
    `larder: PostgreSQL cannot be used: 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}: start it, or correct LARDER_CLUSTER_URL`,
  ]);
  assert.deepEqual(await refused({ LARDER_CLUSTER_URL: `${cluster.url}-none` }), [
    1,
    "larder: PostgreSQL has no database postgres-none: create it, or correct LARDER_CLUSTER_URL",
  ]);
  assert.deepEqual(await refused({ LARDER_CLUSTER_URL: cluster.url.replace(/postgres$/, "template1") }), [
    1,
    "larder: The database has no cluster: run larder cluster init with the same settings",
  ]);
  await sql("CREATE ROLE stranger LOGIN");
  assert.deepEqual(await refused({ LARDER_CLUSTER_URL: cluster.url.replace("//larder:", "//stranger:") }), [
    1,
    "larder: The user of LARDER_CLUSTER_URL may not use the schema larder: permission denied for schema larder. Run larder cluster init as the same user, or the statements of larder cluster grants as the owner of the tables",
  ]);
});

test("commits that do not wait for the disk, and a server without writes, are refused", { skip }, async () => {
  const at = new URL(cluster.url).host;
  for (const [setting, value, expected] of [
    [
      "synchronous_commit",
      "off",
      `larder: PostgreSQL at ${at} acknowledges commits before they are on its disk, because its synchronous_commit is off: set synchronous_commit to on for this user`,
    ],
    [
      "synchronous_commit",
      "local",
      `larder: PostgreSQL at ${at} acknowledges commits before they are on its disk, because its synchronous_commit is local: set synchronous_commit to on for this user`,
    ],
    [
      "default_transaction_read_only",
      "on",
      `larder: PostgreSQL at ${at} accepts no writes: name its primary in LARDER_CLUSTER_URL, or promote a standby`,
    ],
  ] as const) {
    await sql(`ALTER ROLE larder SET ${setting} = ${value}`);
    assert.deepEqual(await refused(), [1, expected]);
    await sql(`ALTER ROLE larder RESET ${setting}`);
  }
});

test("tables of another version are refused", { skip }, async () => {
  for (const [version, remedy] of [
    [8, "use a newer larder"],
    [0, "use the larder that made it"],
  ] as const) {
    await sql(`UPDATE larder.cluster SET schema_version = ${version}`);
    assert.deepEqual(await refused(), [
      1,
      `larder: The tables of the cluster have version ${version}, and this larder knows version 7: ${remedy}`,
    ]);
  }
  await sql("UPDATE larder.cluster SET schema_version = 7");
});

test("a directory with the data of a single server, and the name of a node that lives, are refused", {
  skip,
}, async () => {
  const store = join(cluster.dataDirectory("refused"), "store");
  mkdirSync(store, { recursive: true });
  writeFileSync(join(store, "0000000001.journal"), "");
  const [code, text] = await refused();
  assert.deepEqual(
    [code, text],
    [
      1,
      `larder: ${cluster.dataDirectory("refused")} has the data of a single server (store), which a node does not read: use an empty directory for the node, and move the data with larder cluster import`,
    ],
  );

  const node = await cluster.startNode("living", oneThread);
  const named = ["--data-dir", cluster.dataDirectory("other"), "--cluster-node", "living", "--log-level", "error"];
  const ports = ["--port", "0", "--admin-port", "0"];
  const { code: other, stderr } = await cluster.larder(["serve", ...named, ...ports], secrets);
  assert.deepEqual(
    [other, stderr],
    [
      1,
      "larder: A node with the name living lives in the cluster: end that process, or set --cluster-node to another name\n",
    ],
  );

  // The directory of a node is not one of a single server.
  const alone = ["serve", "--data-dir", cluster.dataDirectory("living"), ...ports];
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
  for (const words of [alone, ["verify", cluster.dataDirectory("living")]]) {
    const end = await cluster.larder(words, { LARDER_CLUSTER_URL: "" });
    assert.deepEqual(
      [end.code, end.stderr],
      [
        1,
        `larder: ${cluster.dataDirectory("living")} is the cache of a node of a cluster, whose data is in PostgreSQL: start the node with --cluster, and back up its database with the tools of PostgreSQL\n`,
      ],
    );
  }
});
