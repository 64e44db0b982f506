/** The data of a single server moves into a cluster whose areas have several shards: each tenant goes to one of them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { oneThread, type RunningProgram, startProgram } from "../program-process.ts";
import { NodeClient, secrets, TestCluster } from "./cluster-program.ts";
import { ask, configOf, contents, sql, storeToken, untilServed, userToken, write, written } from "./shard-clients.ts";

const skip = missingProgram("postgres");
const NAMES = ["one", "two", "three", "four", "five"];
const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
const LONG = "body ".repeat(20_000);

let cluster: TestCluster;
const singles: RunningProgram[] = [];

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  // Those of a test that failed.
  for (const single of singles) await single.kill();
  await cluster?.stop();
});

async function startSingle(name: string, config: readonly string[]): Promise<RunningProgram> {
  const args = ["--data-dir", cluster.dataDirectory(name), "--log-format", "json", ...oneThread, ...config];
  const single = await startProgram("serve", { args, env: secrets });
  singles.push(single);
  return single;
}

const messagingUrl = ({ environment }: RunningProgram): string => environment["QSTASH_URL"] ?? "";

/** Publishes a message that waits, and returns its id. */
async function publish(server: RunningProgram, name: string, text: string): Promise<string> {
  const url = `${messagingUrl(server)}/v2/publish/https://example.com/hook`;
  const headers = { "upstash-delay": "1h" };
  const { status, body } = await ask(url, userToken(name), { body: text, headers });
  assert.equal(status, 200, JSON.stringify(body));
  return (body as { messageId: string }).messageId;
}

/** The bodies of messages by the name of their user. */
async function bodies(server: RunningProgram, ids: ReadonlyMap<string, readonly string[]>): Promise<unknown> {
  const found: Record<string, readonly unknown[]> = {};
  for (const [name, own] of ids)
    found[name] = await Promise.all(
      own.map(async (id) => {
        const { body } = await ask(`${messagingUrl(server)}/v2/messages/${id}`, userToken(name), { method: "GET" });
        return (body as { body?: unknown }).body;
      }),
    );
  return found;
}

test("the tenants of a single server are divided between the shards of a cluster, with all of their data", {
  skip,
}, async () => {
  const directory = cluster.dataDirectory("single");
  const config = configOf(cluster, NAMES);
  const single = await startSingle("single", config);
  const ids = new Map<string, readonly string[]>();
  await write(single, NAMES, "first");
  // The largest database and user have a shard for themselves.
  const large = JSON.stringify(["SET", "large", LONG]);
  assert.equal((await ask(single.storeUrl, storeToken("four"), { body: large })).status, 200);
  for (const name of NAMES) ids.set(name, [await publish(single, name, name === "two" ? LONG : `first of ${name}`)]);
  const snapshot = await fetch(`${single.adminUrl}/v1/snapshot`, { method: "POST", headers: admin });
  assert.equal(snapshot.status, 202);
  for (const area of ["store", "messaging", "vector"])
    await single.untilPrinted(new RegExp(`"snapshot written","area":"${area}"`));
  await write(single, NAMES, "second");
  // Dropped tenants are in the journal, and do not come into the cluster.
  for (const kind of ["databases", "indexes"]) {
    const url = `${single.adminUrl}/v1/${kind}`;
    const headers = { ...admin, "content-type": "application/json" };
    const body = JSON.stringify({ name: "gone", ...(kind === "indexes" && { dimension: 3 }) });
    const made = await fetch(url, { method: "POST", headers, body });
    assert.equal(made.status, 201, await made.text());
    assert.equal((await fetch(`${url}/gone`, { method: "DELETE", headers })).status, 200);
  }
  for (const [name, own] of ids) ids.set(name, [...own, await publish(single, name, `second of ${name}`)]);
  const seenBefore = (await contents(single, NAMES)).seen;
  const bodiesBefore = await bodies(single, ids);
  assert.deepEqual((bodiesBefore as Record<string, unknown>)["two"], [LONG, "second of two"]);
  assert.deepEqual(await single.stop(), { code: 0, signal: null });

  assert.equal((await cluster.here(["cluster", "init", "--shards", "3"])).code, 0);
  await sql(cluster, "UPDATE larder.shard SET are_tenants_known = false");
  // A row that a node has written before is believed.
  await sql(cluster, "INSERT INTO larder.tenant (area, name, shard) VALUES ('store', 'one', 7)");
  const imported = await cluster.here(["cluster", "import", directory], secrets);
  assert.deepEqual([imported.code, imported.stderr], [0, ""]);
  assert.match(imported.stdout, /^store: of 6 tenants \d on shard 1, \d on shard 4, \d on shard 7$/m);
  assert.match(imported.stdout, /^messaging: the log of messages begins again$/m);
  const tenants = await sql<{ area: string; name: string; shard: number }>(
    cluster,
    "SELECT area, name, shard FROM larder.tenant ORDER BY shard, name",
  );
  assert.equal(tenants.length, 18);
  const namesOn = (shard: number): readonly string[] =>
    tenants.filter((tenant) => tenant.shard === shard).map(({ name }) => name);
  const shardOf = (area: string, name: string): number =>
    tenants.find((tenant) => tenant.area === area && tenant.name === name)?.shard ?? 0;
  assert.deepEqual(namesOn(shardOf("store", "four")), ["four"]);
  assert.deepEqual(namesOn(shardOf("messaging", "two")), ["two"]);
  assert.equal(shardOf("store", "one"), 7);
  for (let shard = 1; shard <= 9; shard += 1) assert.ok(namesOn(shard).length > 0, `shard ${shard} has tenants`);
  assert.deepEqual(await sql(cluster, "SELECT count(*)::int AS known FROM larder.shard WHERE are_tenants_known"), [
    { known: 9 },
  ]);
  const rows = "SELECT shard, segment, start, md5(bytes) AS hash FROM larder.log ORDER BY 1, 2, 3";
  const rowsBefore = await sql(cluster, rows);
  const again = await cluster.here(["cluster", "import", directory], secrets);
  assert.deepEqual([again.code, again.stderr], [0, ""]);
  assert.match(again.stdout, /^the cluster .* already has the data of .*; nothing was changed$/m);
  assert.deepEqual(await sql(cluster, rows), rowsBefore);

  const shards = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const node = await cluster.startNode("a", [...ADDRESS, ...config, ...oneThread]);
  await untilServed(node, shards);
  assert.deepEqual((await contents(node, NAMES)).seen, seenBefore);
  assert.deepEqual(await bodies(node, ids), bodiesBefore);
  await write(node, NAMES, "third");
  const used = await cluster.here(["cluster", "import", directory], secrets);
  assert.equal(used.code, 1);
  assert.match(used.stderr, /^larder: The cluster .* has data already \(store, messaging, vector\): import into/);
  assert.deepEqual(await node.stop(), { code: 0, signal: null });

  // Each shard goes back alone, with its tenants only. An export reads it as a start would.
  const copy = cluster.dataDirectory("one-of-each");
  const ofOne = ["store", "messaging", "vector"].map((area) => shardOf(area, "one"));
  for (const shard of shards) {
    const target = ofOne.includes(shard) ? copy : cluster.dataDirectory(`copy-${shard}`);
    const exported = await cluster.here(["cluster", "export-shard", String(shard), target]);
    assert.deepEqual([exported.code, exported.stderr], [0, ""]);
  }
  const verified = await cluster.here(["verify", copy], { LARDER_CLUSTER_URL: "" });
  assert.deepEqual([verified.code, verified.stderr], [0, ""]);
  // A server that knows no others than these tenants of three shards.
  const restored = await startSingle("one-of-each", configOf(cluster, ["one"]));
  assert.deepEqual((await contents(restored, ["one"])).seen, written(["one"], ["first", "second", "third"]));
  assert.deepEqual(await bodies(restored, new Map([["one", ids.get("one") ?? []]])), {
    one: ["first of one", "second of one"],
  });
  // It has data of the other tenants of these shards, and of no others.
  for (const [area, kind] of [
    ["store", "databases"],
    ["messaging", "users"],
    ["vector", "indexes"],
  ] as const) {
    const unlisted = Array.from(
      restored.log.matchAll(/"the data of a tenant remains[^"]*","kind":"(\w+)","name":"(\w+)"/g),
      ([, ofKind, name = ""]) => (ofKind === kind ? name : ""),
    ).filter((name) => name !== "");
    const others = namesOn(shardOf(area, "one")).filter((name) => !["main", "one"].includes(name));
    assert.deepEqual(unlisted.toSorted(), others, kind);
  }
  assert.deepEqual(await restored.stop(), { code: 0, signal: null });
});

test("an import into several shards that is interrupted or refused changes nothing", { skip }, async () => {
  const directory = cluster.dataDirectory("single");
  await sql(cluster, "DROP SCHEMA larder CASCADE");
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  for (const [area, count] of [
    ["store", "1"],
    ["messaging", "1"],
  ] as const)
    assert.equal((await cluster.here(["cluster", "add-shards", area, count])).code, 0);
  // The last shard of messaging cannot be written.
  await sql(cluster, "ALTER TABLE larder.log ADD CONSTRAINT planted CHECK (shard <> 5)");
  const failed = await cluster.larder(["cluster", "import", directory], secrets);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /planted/);
  const count =
    "SELECT (SELECT count(*) FROM larder.log)::int AS rows, (SELECT count(*) FROM larder.tenant)::int AS tenants";
  assert.deepEqual(await sql(cluster, count), [{ rows: 0, tenants: 0 }]);
  await sql(cluster, "ALTER TABLE larder.log DROP CONSTRAINT planted");

  // The index has one shard, which takes its files as they are. The rights of a node are enough.
  await sql(cluster, "CREATE ROLE node LOGIN");
  await sql(cluster, (await cluster.here(["cluster", "grants", "node"])).stdout);
  const LARDER_CLUSTER_URL = cluster.url.replace("//larder:", "//node:");
  const imported = await cluster.here(["cluster", "import", directory], { ...secrets, LARDER_CLUSTER_URL });
  assert.deepEqual([imported.code, imported.stderr], [0, ""]);
  assert.deepEqual(await sql(cluster, "SELECT id, are_tenants_known AS known FROM larder.shard ORDER BY id"), [
    { id: 1, known: true },
    { id: 2, known: true },
    { id: 3, known: false },
    { id: 4, known: true },
    { id: 5, known: true },
  ]);
  // A claim since then means that the shard may have more.
  await sql(cluster, "UPDATE larder.shard SET epoch = epoch + 1 WHERE id = 4");
  const claimed = await cluster.here(["cluster", "import", directory], secrets);
  assert.equal(claimed.code, 1);
  assert.match(claimed.stderr, /has data already/);
});

const KEY = { LARDER_CLUSTER_KEY: "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=" };
const SEALED =
  "sealed the tokens of tenants that were made at run time: store/shop, store/empty, vector/docs, messaging/ann\n";

async function make(server: RunningProgram, kind: string, body: object): Promise<string> {
  const url = `${server.adminUrl}/v1/${kind}`;
  const made = await fetch(url, { method: "POST", headers: admin, body: JSON.stringify(body) });
  assert.equal(made.status, 201);
  return ((await made.json()) as { token: string }).token;
}

/** Each starts two programs, so npm test has one of them, and a proof has both. */
const counts = drawnPart(["1", "2"], { oneIn: 2, random: seededRandom(seedFrom("LARDER_IMPORT_SHARDS_SEED")) });

test("what was made at run time comes into a cluster with its tokens and signing keys, sealed", { skip }, async () => {
  const directory = cluster.dataDirectory("made");
  const single = await startSingle("made", []);
  const [shop, empty] = [
    await make(single, "databases", { name: "shop" }),
    await make(single, "databases", { name: "empty" }),
  ];
  const docs = await make(single, "indexes", { name: "docs", type: "DENSE", dimension: 3 });
  const ann = await make(single, "users", { name: "ann" });
  const vectorUrl = (server: RunningProgram): string => server.environment["UPSTASH_VECTOR_REST_URL"] ?? "";
  const keysOf = async (server: RunningProgram): Promise<unknown> =>
    (await ask(`${messagingUrl(server)}/v2/keys`, ann, { method: "GET" })).body;
  assert.equal((await ask(`${single.storeUrl}/set/key/value`, shop)).status, 200);
  const record = JSON.stringify({ id: "a", vector: [1, 2, 3] });
  assert.equal((await ask(`${vectorUrl(single)}/upsert`, docs, { body: record })).status, 200);
  const signing = await keysOf(single);
  assert.deepEqual(await single.stop(), { code: 0, signal: null });

  for (const shards of counts) {
    await sql(cluster, "DROP SCHEMA IF EXISTS larder CASCADE");
    assert.equal((await cluster.here(["cluster", "init", "--shards", shards])).code, 0);
    const words = ["cluster", "import", directory];
    if (shards === "1") {
      // Of a cluster that was used before, although its areas are empty.
      await sql(cluster, "INSERT INTO larder.tenant (area, name, shard, sealed) VALUES ('store', 'shop', 1, '')");
      const taken = await cluster.here(words, { ...secrets, ...KEY });
      assert.deepEqual(
        [taken.code, taken.stderr],
        [
          1,
          "larder: The cluster has the database shop already, which was made at run time: import into a new cluster\n",
        ],
      );
      assert.deepEqual(await sql(cluster, "SELECT count(*)::int AS rows FROM larder.log"), [{ rows: 0 }]);
      await sql(cluster, "DELETE FROM larder.tenant");
    } else {
      const keyless = await cluster.here(words, secrets);
      assert.equal(keyless.code, 0, keyless.stderr);
      assert.match(
        keyless.stdout,
        /^to seal the tokens of those that were made at run time, run this command again with LARDER_CLUSTER_KEY, before a node starts$/m,
      );
      for (const one of ["database shop", "database empty", "index docs", "messaging user ann"])
        assert.match(keyless.stdout, new RegExp(`^The ${one} was made at run time: list it in`, "m"));
    }
    const imported = await cluster.here(words, { ...secrets, ...KEY });
    assert.deepEqual([imported.code, imported.stderr], [0, ""]);
    assert.ok(imported.stdout.includes(SEALED), imported.stdout);
    assert.doesNotMatch(imported.stdout, /was made at run time: list it|has secrets that a cluster does not store/);
    const again = await cluster.here(words, { ...secrets, ...KEY });
    assert.match(again.stdout, /already has the data of .*; nothing was changed$/m);
    const [dump] = await sql<{ text: string }>(cluster, "SELECT string_agg(t::text, '') AS text FROM larder.tenant t");
    for (const token of [shop, empty, docs, ann]) assert.equal(dump?.text.includes(token), false);

    const node = await cluster.startNode(`made-${shards}`, [...ADDRESS, ...oneThread], KEY);
    await new NodeClient(node).untilServing();
    if (shards === "2") await untilServed(node, [1, 2, 3, 4, 5, 6]);
    assert.deepEqual((await ask(`${node.storeUrl}/get/key`, shop)).body, { result: "value" });
    assert.deepEqual((await ask(`${node.storeUrl}/get/key`, empty)).body, { result: null });
    const fetched = await ask(`${vectorUrl(node)}/fetch`, docs, { body: JSON.stringify({ ids: ["a"] }) });
    assert.deepEqual(fetched.body, { result: [{ id: "a" }] });
    assert.deepEqual(await keysOf(node), signing);
    const listed = await ask(`${node.adminUrl}/v1/databases`, secrets["LARDER_ADMIN_TOKEN"] ?? "", { method: "GET" });
    const { databases } = listed.body as { databases: readonly { name: string; source: string }[] };
    assert.deepEqual(databases.map(({ name, source }) => `${name} ${source}`).toSorted(), [
      ...["empty cluster", "main environment", "shop cluster"],
    ]);
    assert.deepEqual(await node.stop(), { code: 0, signal: null });
  }
});
