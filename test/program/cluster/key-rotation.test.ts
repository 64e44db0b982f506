/** Keys of a cluster are replaced while its nodes run: the one by which they know each other, and the one that seals tokens. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { during, until } from "../../harness/pause.ts";
import { oneThread, type RunningProgram } from "../program-process.ts";
import { NodeClient, secrets } from "./cluster-program.ts";
import { FileCluster } from "./file-cluster.ts";

const cluster = new FileCluster();
const { skip } = cluster;
const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
/** A request that the owner of the area does not take is refused. */
const AT_ONCE = ["--takeover-wait", "0s"];

const rotated = (newest: number): string =>
  `the cluster has the key larder-${newest}: each node learns it within seconds, and uses it when all have\n` +
  `connections with the key larder-${newest - 1} are accepted until the next rotation\n`;

test("no request is refused while the key is rotated twice, and a third node has the newest one", {
  skip,
}, async () => {
  const a = await cluster.startNode("a", ADDRESS);
  await new NodeClient(a).untilServing();
  const b = await cluster.startNode("b", [...ADDRESS, ...AT_ONCE, ...oneThread]);
  const client = new NodeClient(b);
  // It learns who serves the store.
  await until(async () => (await client.store("GET", "n")).status === 200);
  let count = 0;
  /** Must succeed, since it does not wait. */
  const increment = async (): Promise<void> => {
    count += 1;
    assert.deepEqual(await client.store("INCR", "n"), { status: 200, body: { result: count } });
  };
  for (const newest of [1, 2]) {
    const { code, stdout, stderr } = await during(cluster.all.larder(["cluster", "rotate-key"]), increment);
    assert.deepEqual([code, stdout, stderr], [0, rotated(newest), ""]);
    const uses = new RegExp(`"newest":${newest},"offered":"larder-${newest}"`);
    await during(Promise.all([a.untilPrinted(uses), b.untilPrinted(uses)]), increment);
  }
  assert.deepEqual(await cluster.sql("SELECT key_number, length(key) AS length FROM larder.cluster"), [
    { key_number: 2, length: 32 },
  ]);
  const c = await cluster.startNode("c", [...ADDRESS, ...oneThread]);
  assert.deepEqual(await new NodeClient(c).store("INCR", "n"), { status: 200, body: { result: count + 1 } });
  for (const node of [c, b, a]) assert.deepEqual(await node.stop(), { code: 0, signal: null });
  for (const { log } of [a, b, c]) assert.doesNotMatch(log, /has not shown the key/);
});

test("the key is not rotated again before each living node knows it", { skip }, async () => {
  const a = await cluster.startNode("a", oneThread);
  await new NodeClient(a).untilServing();
  const learned = "SELECT 1 FROM larder.node WHERE name = 'a' AND key_number = 2";
  await until(async () => (await cluster.sql(learned)).length > 0);
  // As of a node that lives, and has not looked since the last rotation.
  await cluster.sql("UPDATE larder.node SET key_number = 1 WHERE name = 'a'");
  const refused = await cluster.larder(["rotate-key"]);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [
      1,
      "larder: The node a of the cluster has not learned the last key yet: run this command again in some seconds. A node whose machine is gone will have been declared dead by then\n",
    ],
  );
  await cluster.sql("UPDATE larder.node SET key_number = 2, schema_version = 3 WHERE name = 'a'");
  const older = await cluster.larder(["rotate-key"]);
  assert.deepEqual(
    [older.code, older.stderr],
    [1, "larder: The node a of the cluster runs an earlier version: start it again with this one\n"],
  );
  await a.killGroup();
  // Nobody declares it dead but the command itself.
  const alone = await cluster.larder(["rotate-key"]);
  assert.deepEqual([alone.code, alone.stdout, alone.stderr], [0, rotated(3), ""]);
});

test("only the owner of the tables rotates the key", { skip }, async () => {
  await cluster.sql("CREATE ROLE node LOGIN");
  const { stdout } = await cluster.larder(["grants", "node"]);
  await cluster.sql(stdout);
  const LARDER_CLUSTER_URL = cluster.all.url.replace("//larder:", "//node:");
  const refused = await cluster.larder(["rotate-key"], { LARDER_CLUSTER_URL });
  assert.deepEqual(
    [refused.code, refused.stderr],
    [
      1,
      "larder: The user of LARDER_CLUSTER_URL does not own the tables of the cluster: run this command as their owner\n",
    ],
  );
});

const OLD_KEY = "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=";
const NEW_KEY = "Zt9wHdN6bUeJ3aGiT5oXyCkLEq7mR0c1lS8Yx2FvKp4=";
const STRANGE_KEY = "Jt9wHdN6bUeJ3aGiT5oXyCkLEq7mR0c1lS8Yx2FvKp4=";
const OLD = { LARDER_CLUSTER_KEY: OLD_KEY };
const NEW = { LARDER_CLUSTER_KEY: NEW_KEY };
const BOTH = { ...NEW, LARDER_CLUSTER_KEY_OLD: OLD_KEY };

const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };

/** Makes a database and returns its token. */
async function make(node: RunningProgram, name: string): Promise<string> {
  const body = JSON.stringify({ name });
  const answer = await fetch(`${node.adminUrl}/v1/databases`, { method: "POST", headers: admin, body });
  const made = (await answer.json()) as { token: string; reachedAllNodes: boolean };
  assert.deepEqual([answer.status, made.reachedAllNodes], [201, true]);
  return made.token;
}

async function statusOf({ storeUrl }: RunningProgram, token: string): Promise<number> {
  return (await fetch(`${storeUrl}/ping`, { headers: { authorization: `Bearer ${token}` } })).status;
}

async function changeKey(env: Readonly<Record<string, string>>): Promise<readonly [code: number, text: string]> {
  const { code, stdout, stderr } = await cluster.larder(["change-key"], env);
  return [code, stdout + stderr];
}

const sealedRows = () =>
  cluster.sql("SELECT area, name, sealed, version FROM larder.tenant WHERE sealed IS NOT NULL ORDER BY name");

test("tokens are sealed again with another key while nodes serve them, when every node has it", { skip }, async () => {
  await cluster.sql("DROP SCHEMA larder CASCADE");
  assert.equal((await cluster.larder(["init"])).code, 0);
  const a = await cluster.startNode("old", [...ADDRESS, ...oneThread], OLD);
  await new NodeClient(a).untilServing();
  const shop = await make(a, "shop");
  const before = await sealedRows();

  // A node with both keys opens what is sealed with the old one, and one that lacks the new key is named.
  const b = await cluster.startNode("both", [...ADDRESS, ...oneThread], BOTH);
  assert.equal(await statusOf(b, shop), 200);
  assert.deepEqual(await changeKey(BOTH), [
    1,
    "larder: The new key is missing on node old: start each with both keys, the one that the cluster has in LARDER_CLUSTER_KEY_OLD, and run this command then\n",
  ]);
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
  await new NodeClient(b).untilServing();
  const again = await cluster.startNode("old", [...ADDRESS, ...oneThread], BOTH);
  const toys = await make(again, "toys");

  // Nothing is changed by a command with wrong keys.
  const mixed = await sealedRows();
  for (const [env, text] of [
    [
      {},
      "LARDER_CLUSTER_KEY is not set: set it to the new key, and LARDER_CLUSTER_KEY_OLD to the one that the nodes have",
    ],
    [NEW, "LARDER_CLUSTER_KEY_OLD is not set: set it to the key that the nodes have"],
    [
      { ...NEW, LARDER_CLUSTER_KEY_OLD: STRANGE_KEY },
      "LARDER_CLUSTER_KEY_OLD is not the key of the cluster: set it to the key that the nodes have",
    ],
    [
      { ...NEW, LARDER_CLUSTER_KEY_OLD: NEW_KEY },
      "LARDER_CLUSTER_KEY_OLD is the same key as LARDER_CLUSTER_KEY: leave it out, or set it to the key before",
    ],
    [
      { LARDER_CLUSTER_KEY_OLD: OLD_KEY },
      "LARDER_CLUSTER_KEY_OLD has no effect without LARDER_CLUSTER_KEY: set that as well",
    ],
  ] as const)
    assert.match((await changeKey(env))[1], new RegExp(`^larder: ${text}$`, "m"));
  assert.deepEqual(await sealedRows(), mixed);

  // Requests go on meanwhile.
  const [code, text] = await changeKey(BOTH);
  assert.deepEqual(
    [code, text],
    [
      0,
      "the cluster has the new key: the secrets of 2 tenants sealed again\n" +
        "keep the old key for backups of PostgreSQL from before; start each node again without LARDER_CLUSTER_KEY_OLD when it is convenient\n",
    ],
  );
  for (const node of [b, again]) for (const token of [shop, toys]) assert.equal(await statusOf(node, token), 200);
  assert.notDeepEqual((await sealedRows()).slice(0, 1), before);
  const repeated = await sealedRows();
  assert.deepEqual(await changeKey(BOTH), [
    0,
    "the cluster has this key already, and it opens the secrets of 2 tenants; nothing was changed\n",
  ]);
  assert.deepEqual(await sealedRows(), repeated);
  const late = await make(b, "late");

  // From now on the old key is not needed, and not enough.
  const c = await cluster.startNode("new", [...ADDRESS, ...oneThread], NEW);
  for (const token of [shop, toys, late]) assert.equal(await statusOf(c, token), 200);
  const words = ["serve", "--data-dir", cluster.all.dataDirectory("d"), "--cluster-node", "d", "--log-level", "error"];
  const refused = await cluster.all.larder([...words, "--port", "0", "--admin-port", "0"], { ...secrets, ...OLD });
  assert.deepEqual(
    [refused.code, refused.stderr],
    [1, "larder: LARDER_CLUSTER_KEY is not the key of the cluster: set it to the key of the other nodes\n"],
  );

  // A row that does not open is named by the node, which is not ready, and by the command.
  await cluster.sql(`UPDATE larder.tenant SET sealed = (SELECT sealed FROM larder.tenant WHERE name = 'toys'),
    version = (SELECT tenants + 1 FROM larder.cluster) WHERE name = 'shop'`);
  await cluster.sql("UPDATE larder.cluster SET tenants = tenants + 1");
  await c.untilPrinted(/the secrets of a tenant cannot be opened: .*"area":"store","name":"shop"/);
  const ready = await fetch(`${c.adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /the secrets of store shop cannot be opened with the key/);
  // The node that serves it reads the row within a second too.
  await until(async () => (await statusOf(c, shop)) === 401);
  assert.deepEqual(await changeKey({ LARDER_CLUSTER_KEY: OLD_KEY, LARDER_CLUSTER_KEY_OLD: NEW_KEY }), [
    1,
    "larder: The new key is missing on node new: start each with both keys, the one that the cluster has in LARDER_CLUSTER_KEY_OLD, and run this command then\n",
  ]);
  for (const node of [c, b, again]) assert.deepEqual(await node.stop(), { code: 0, signal: null });
  assert.deepEqual(await changeKey({ LARDER_CLUSTER_KEY: OLD_KEY, LARDER_CLUSTER_KEY_OLD: NEW_KEY }), [
    1,
    "larder: LARDER_CLUSTER_KEY_OLD does not open the secrets of store/shop: replace their tokens at the admin port of a node, or delete them, and run this command again\n",
  ]);
});
