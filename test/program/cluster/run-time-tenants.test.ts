/** Databases, indexes and users of messaging that are made, changed and removed while the nodes of a cluster run. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { oneThread, type RunningProgram } from "../program-process.ts";
import { NodeClient, secrets, TestCluster } from "./cluster-program.ts";
import { type Answer, ask, configOf, sql, untilServed } from "./shard-clients.ts";

const skip = missingProgram("postgres");
const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
const KEY = { LARDER_CLUSTER_KEY: "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=" };
const OTHER_KEY = { LARDER_CLUSTER_KEY: "Zt9wHdN6bUeJ3aGiT5oXyCkLEq7mR0c1lS8Yx2FvKp4=" };

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

interface Tokens {
  readonly token: string;
  readonly readOnlyToken: string;
}

/** A call of the admin port of a node. */
async function admin(node: RunningProgram, line: string, body?: object): Promise<Answer> {
  const [method = "", path = ""] = line.split(" ");
  const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return ask(`${node.adminUrl}${path}`, secrets["LARDER_ADMIN_TOKEN"] ?? "", init);
}

/** A change that all nodes have when it is answered; returns its tokens. */
async function changed(node: RunningProgram, line: string, body?: object): Promise<Tokens> {
  const { status, body: answer } = await admin(node, line, body);
  const { reachedAllNodes, missingNodes, ...rest } = answer as Tokens & Record<string, unknown>;
  assert.ok(status === 200 || status === 201, JSON.stringify(answer));
  assert.deepEqual([reachedAllNodes, missingNodes], [true, undefined]);
  return rest;
}

async function store(node: RunningProgram, token: string, ...command: readonly string[]): Promise<unknown> {
  const { status, body } = await ask(node.storeUrl, token, { body: JSON.stringify(command) });
  return status === 200 ? (body as { result: unknown }).result : status;
}

async function statusOf(node: RunningProgram, area: "vector" | "messaging", token: string): Promise<number> {
  const { environment } = node;
  if (area === "vector") return (await ask(`${environment["UPSTASH_VECTOR_REST_URL"]}/info`, token)).status;
  return (await ask(`${environment["QSTASH_URL"]}/v2/schedules`, token, { method: "GET" })).status;
}

async function namesOf(node: RunningProgram, kind: string): Promise<readonly string[]> {
  const { body } = await admin(node, `GET /v1/${kind}`);
  const listed = (body as Record<string, readonly { name: string; source: string }[]>)[kind] ?? [];
  return listed.map(({ name, source }) => `${name} (${source})`);
}

/** One of them starts four nodes, so npm test has one, and a proof has both. */
const counts = drawnPart([1, 2], { oneIn: 2, random: seededRandom(seedFrom("LARDER_RUN_TIME_SHARDS_SEED")) });

for (const shards of counts)
  test(`tenants are made through a node that owns nothing, and live as long as they are wanted (${shards} shards)`, {
    skip,
  }, async () => {
    await sql(cluster, "DROP SCHEMA IF EXISTS larder CASCADE");
    assert.equal((await cluster.here(["cluster", "init", "--shards", String(shards)])).code, 0);
    const [first, second] = [`a${shards}`, `b${shards}`];
    const one = shards === 1 ? oneThread : ["--engine-threads", "2"];
    const a = await cluster.startNode(first, [...ADDRESS, ...one], KEY);
    await untilServed(a, shards === 1 ? [] : [1, 2, 3, 4, 5, 6]);
    await new NodeClient(a).untilServing();
    const b = await cluster.startNode(second, [...ADDRESS, ...oneThread], KEY);
    const nodes = [a, b];

    // They may be used through each node at once.
    const shop = await changed(b, "POST /v1/databases", { name: "shop" });
    assert.equal(await store(b, shop.token, "SET", "key", "value"), "OK");
    for (const node of nodes) assert.equal(await store(node, shop.readOnlyToken, "GET", "key"), "value");
    const docs = await changed(b, "POST /v1/indexes", { name: "docs", type: "DENSE", dimension: 3 });
    for (const node of nodes) assert.equal(await statusOf(node, "vector", docs.token), 200);
    const ann = await changed(b, "POST /v1/users", { name: "ann" });
    for (const node of nodes) assert.equal(await statusOf(node, "messaging", ann.token), 200);
    for (const node of nodes) {
      assert.deepEqual(await namesOf(node, "databases"), ["main (environment)", "shop (cluster)"]);
      assert.deepEqual(await namesOf(node, "users"), ["main (environment)", "ann (cluster)"]);
    }

    // Names are those of the whole cluster.
    for (const node of nodes)
      for (const name of ["main", "shop"])
        assert.deepEqual(await admin(node, "POST /v1/databases", { name }), {
          status: 409,
          body: { error: `The database ${name} already exists` },
          owner: null,
        });
    assert.deepEqual((await admin(b, "POST /v1/indexes", { name: "no", dimension: 0 })).status, 400);

    // A token that was replaced is refused everywhere when the change is answered.
    const streams = await Promise.all(
      nodes.map((node) =>
        fetch(`${node.storeUrl}/subscribe/news`, { headers: { authorization: `Bearer ${shop.token}` } }),
      ),
    );
    const shop2 = await changed(b, "POST /v1/databases/shop/reset-password");
    for (const node of nodes) {
      assert.equal(await store(node, shop.token, "GET", "key"), 401);
      assert.equal(await store(node, shop.readOnlyToken, "GET", "key"), 401);
      assert.equal(await store(node, shop2.token, "GET", "key"), "value");
    }
    for (const stream of streams) await stream.text();

    // Nothing in PostgreSQL has a token in clear.
    type Row = { name: string; shard: number; definition: unknown; sealed: Buffer };
    const rows = await sql<Row>(
      cluster,
      "SELECT name, shard, definition, sealed FROM larder.tenant WHERE sealed IS NOT NULL ORDER BY name",
    );
    assert.deepEqual(
      rows.map(({ name, definition }) => [name, definition]),
      [
        ["ann", null],
        ["docs", { type: "DENSE", dimension: 3, similarity: "COSINE" }],
        ["shop", null],
      ],
    );
    const [dump] = await sql<{ text: string }>(
      cluster,
      "SELECT string_agg(t::text, '') || string_agg(encode(sealed, 'escape'), '') AS text FROM larder.tenant t",
    );
    for (const { token, readOnlyToken } of [shop2, docs, ann])
      for (const secret of [token, readOnlyToken]) assert.equal(dump?.text.includes(secret), false);

    // The node that served them is gone: the next one has their tokens from PostgreSQL.
    await a.kill();
    await new NodeClient(b).untilServing();
    await untilServed(b, shards === 1 ? [] : [1, 2, 3, 4, 5, 6]);
    assert.equal(await store(b, shop2.token, "GET", "key"), "value");
    assert.equal(await store(b, shop.token, "GET", "key"), 401);
    assert.equal(await statusOf(b, "messaging", ann.token), 200);
    assert.deepEqual((await changed(b, "POST /v1/users/ann/reset-password")).token.length > 0, true);

    // All of them are started again.
    assert.deepEqual(await b.stop(), { code: 0, signal: null });
    const again = await cluster.startNode(first, [...ADDRESS, ...oneThread], KEY);
    await new NodeClient(again).untilServing();
    await untilServed(again, shards === 1 ? [] : [1, 2, 3, 4, 5, 6]);
    assert.equal(await store(again, shop2.token, "GET", "key"), "value");
    assert.equal(await statusOf(again, "messaging", ann.token), 401);
    assert.equal(await statusOf(again, "vector", docs.readOnlyToken), 200);

    // A removed tenant has no data, and its name can be used again.
    const other = await cluster.startNode(second, [...ADDRESS, ...oneThread], KEY);
    for (const line of ["databases/shop", "indexes/docs", "users/ann"]) await changed(other, `DELETE /v1/${line}`);
    for (const node of [again, other]) {
      assert.equal(await store(node, shop2.token, "GET", "key"), 401);
      assert.equal(await statusOf(node, "vector", docs.token), 401);
      assert.deepEqual(await namesOf(node, "databases"), ["main (environment)"]);
    }
    assert.deepEqual(await sql(cluster, "SELECT name FROM larder.tenant WHERE name <> 'main'"), []);
    const shop3 = await changed(other, "POST /v1/databases", { name: "shop" });
    assert.equal(await store(again, shop3.token, "GET", "key"), null);
    for (const node of [other, again]) assert.deepEqual(await node.stop(), { code: 0, signal: null });
  });

test("a node with another key, or without one, does not start, and check says why", { skip }, async () => {
  const words = (name: string): readonly string[] => [
    "--data-dir",
    cluster.dataDirectory(name),
    "--cluster-node",
    name,
  ];
  const refused = async (env: Readonly<Record<string, string>>): Promise<readonly [code: number, text: string]> => {
    const ports = ["--port", "0", "--admin-port", "0", "--log-level", "error"];
    const { code, stderr } = await cluster.larder(["serve", ...words("c"), ...ports], { ...secrets, ...env });
    return [code, stderr];
  };
  const other = "LARDER_CLUSTER_KEY is not the key of the cluster: set it to the key of the other nodes";
  const none =
    "LARDER_CLUSTER_KEY is not set, and the cluster has 1 databases, indexes or users that were made at run time: set it to the key of the other nodes";
  assert.deepEqual(await refused(OTHER_KEY), [1, `larder: ${other}\n`]);
  assert.deepEqual(await refused({}), [1, `larder: ${none}\n`]);
  for (const [env, problem] of [
    [OTHER_KEY, [`problem: ${other}`]],
    [{}, [`problem: ${none}`]],
    [KEY, []],
  ] as const) {
    const { stdout } = await cluster.here(["check", ...words("c")], { ...secrets, ...env });
    assert.deepEqual(
      stdout.split("\n").filter((line) => line.startsWith("problem: ")),
      problem,
    );
  }
  for (const [key, text] of [
    ["short", "is not 32 bytes in base64: make one with openssl rand -base64 32"],
    [Buffer.alloc(32).toString("base64"), "is not random: make one with openssl rand -base64 32"],
  ] as const)
    assert.deepEqual(await refused({ LARDER_CLUSTER_KEY: key }), [2, `larder: LARDER_CLUSTER_KEY: the key ${text}\n`]);
});

test("an answer names the nodes that have not made a change, and they refuse its tokens", { skip }, async () => {
  await sql(cluster, "DROP SCHEMA IF EXISTS larder CASCADE");
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  const a = await cluster.startNode("old", [...ADDRESS, ...oneThread], KEY);
  await new NodeClient(a).untilServing();
  assert.equal((await cluster.here(["cluster", "add-shards", "store", "1"])).code, 0);
  const b = await cluster.startNode("new", [...ADDRESS, ...oneThread], KEY);
  await untilServed(b, [4]);
  const { status, body } = await admin(b, "POST /v1/databases", { name: "shop" });
  const { token, readOnlyToken: _, ...rest } = body as Tokens & Record<string, unknown>;
  assert.deepEqual([status, rest], [201, { name: "shop", reachedAllNodes: false, missingNodes: ["old"] }]);
  assert.equal(await store(b, token, "SET", "key", "value"), "OK");
  assert.equal(await store(a, token, "GET", "key"), 401);
  assert.match(a.log, /a tenant is on a shard that was added later: start this node again/);
  const { stdout } = await cluster.here(["cluster", "status"]);
  assert.match(stdout, /^node old: alive, .*, has not seen the last change of tenants$/m);

  assert.deepEqual(await a.stop(), { code: 0, signal: null });
  const again = await cluster.startNode("old", [...ADDRESS, ...oneThread], KEY);
  await new NodeClient(b).untilServing();
  assert.equal(await store(again, token, "GET", "key"), "value");
  await changed(again, "DELETE /v1/databases/shop");
  for (const node of [again, b]) assert.deepEqual(await node.stop(), { code: 0, signal: null });
});

test("without a key on every node nothing is made at run time, and the answer and the status say so", {
  skip,
}, async () => {
  await sql(cluster, "DROP SCHEMA IF EXISTS larder CASCADE");
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  const a = await cluster.startNode("keyless", [...ADDRESS, ...oneThread]);
  await new NodeClient(a).untilServing();
  assert.deepEqual(await admin(a, "POST /v1/databases", { name: "shop" }), {
    status: 409,
    body: {
      error:
        "Databases, indexes and users of a cluster are made and changed at run time with a key: set LARDER_CLUSTER_KEY on every node, or list this one in the configuration of every node",
    },
    owner: null,
  });
  const b = await cluster.startNode("keyed", [...ADDRESS, ...oneThread, ...configOf(cluster, ["listed"])], KEY);
  assert.deepEqual(await admin(b, "POST /v1/databases", { name: "shop" }), {
    status: 409,
    body: { error: "A node of the cluster has no key (keyless): start it again with LARDER_CLUSTER_KEY" },
    owner: null,
  });
  const { stdout } = await cluster.here(["cluster", "status"]);
  assert.match(
    stdout,
    /^node keyless: .*, without LARDER_CLUSTER_KEY: start it again with the key of the other nodes$/m,
  );
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
  await new NodeClient(b).untilServing();

  // A name of the configuration of any node is taken.
  const c = await cluster.startNode("also-keyed", [...ADDRESS, ...oneThread], KEY);
  assert.deepEqual(await admin(c, "POST /v1/databases", { name: "listed" }), {
    status: 409,
    body: {
      error: "The name listed belongs to a database of the configuration, or of an earlier one: choose another name",
    },
    owner: null,
  });
  const shop = await changed(c, "POST /v1/databases", { name: "shop" });
  assert.equal(await store(c, shop.token, "SET", "key", "value"), "OK");
  const words = [
    "--data-dir",
    cluster.dataDirectory("same"),
    "--cluster-node",
    "same",
    "--port",
    "0",
    "--admin-port",
    "0",
  ];
  const env = { ...secrets, ...KEY, LARDER_STORE_TOKEN: shop.token };
  const same = await cluster.larder(["serve", ...words, "--log-level", "error"], env);
  assert.deepEqual(
    [same.code, same.stderr],
    [
      2,
      "larder: The configuration gives another tenant a token of shop, which was made at run time in the area store: give each its own\n",
    ],
  );

  // The commands call the node of their machine.
  const at = ["--data-dir", cluster.dataDirectory("also-keyed")];
  const commands = { ...secrets, ...KEY };
  assert.match((await cluster.larder(["db", "create", "toys", ...at], commands)).stdout, /^reachedAllNodes +true$/m);
  // With its memory, if this node serves it.
  assert.match((await cluster.here(["db", "list", ...at], commands)).stdout, /^toys +cluster +(?:-|\d+)$/m);
  const reset = await cluster.here(["token", "reset", "toys", ...at], commands);
  assert.match(reset.stdout, /^# new tokens of the database toys; the old tokens are no longer valid$/m);
  const removed = await cluster.here(["db", "remove", "toys", ...at], commands);
  assert.deepEqual([removed.stdout, removed.stderr], ["removed the database toys\n", ""]);

  // A configuration that lists the name of such a tenant wins on its node, with a warning.
  const d = await cluster.startNode(
    "listing",
    [...ADDRESS, ...oneThread, ...configOf(cluster, ["listed", "shop"])],
    KEY,
  );
  await d.untilPrinted(/a tenant that was made at run time is also in the configuration, which wins here/);
  assert.match(JSON.stringify(await admin(d, "DELETE /v1/databases/shop")), /is set by store.databases\[2\]/);
  assert.deepEqual((await admin(c, "DELETE /v1/databases/nobody")).body, { error: "There is no database nobody" });
  assert.deepEqual((await admin(c, "DELETE /v1/databases/listed")).body, {
    error: "Another node serves the data of the database listed: send the request to the admin port of that node",
  });
  for (const node of [c, d, b]) assert.deepEqual(await node.stop(), { code: 0, signal: null });
});

test("a revocation waits for a paused node until that is declared dead, and the node opens nothing afterwards", {
  skip,
}, async () => {
  await sql(cluster, "DROP SCHEMA IF EXISTS larder CASCADE");
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  const a = await cluster.startNode("paused", [...ADDRESS, ...oneThread], KEY);
  await new NodeClient(a).untilServing();
  const b = await cluster.startNode("other", [...ADDRESS, ...oneThread], KEY);
  const shop = await changed(b, "POST /v1/databases", { name: "shop" });
  assert.equal(await store(a, shop.token, "SET", "key", "value"), "OK");

  process.kill(a.pid, "SIGSTOP");
  const shop2 = await changed(b, "POST /v1/databases/shop/reset-password");
  const late = store(a, shop.token, "GET", "key").catch(() => "no answer");
  process.kill(a.pid, "SIGCONT");
  assert.deepEqual(await a.ended, { code: 3, signal: null });
  assert.notEqual(await late, "value");
  await new NodeClient(b).untilServing();
  assert.equal(await store(b, shop.token, "GET", "key"), 401);
  assert.equal(await store(b, shop2.token, "GET", "key"), "value");
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
});
