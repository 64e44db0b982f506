/** The data of a single server moves into a cluster and back, and survives interruptions of both. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { CuttingProxy } from "../../harness/cutting-proxy.ts";
import { until } from "../../harness/pause.ts";
import { type RecordingDestination, startDestination } from "../../harness/recording-destination.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread, type RunningProgram, startProgram } from "../program-process.ts";
import { type CommandEnd, NodeClient, secrets, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");
const AREAS = ["store", "messaging", "vector"] as const;
const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };

let cluster: TestCluster;
let destination: RecordingDestination;
const singles: RunningProgram[] = [];

before(async () => {
  if (skip !== false) return;
  cluster = await TestCluster.start();
  destination = await startDestination();
  destination.answer = () => ({ status: 500 });
});

after(async () => {
  // Those of a test that failed.
  for (const single of singles) await single.kill();
  await cluster?.stop();
  await destination?.[Symbol.asyncDispose]();
});

const mapped = (): readonly string[] => ["--outbound-map", `*.test=127.0.0.1:${destination.port}`];

async function startSingle(name: string): Promise<RunningProgram> {
  const args = ["--data-dir", cluster.dataDirectory(name), "--log-format", "json", ...oneThread, ...mapped()];
  const single = await startProgram("serve", { args, env: secrets });
  singles.push(single);
  return single;
}

async function sql<Row>(text: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

async function resultOf(answer: Promise<{ status: number; body: unknown }>): Promise<unknown> {
  const { status, body } = await answer;
  assert.ok(status >= 200 && status < 300, JSON.stringify(body));
  return body;
}

/** What a client sees of the three areas. */
async function contents(server: RunningProgram, userToken: string): Promise<unknown> {
  const client = new NodeClient(server);
  const asUser = await fetch(`${server.storeUrl}/get/plain`, { headers: { authorization: `Bearer ${userToken}` } });
  const get = { method: "GET" };
  const dead = (await resultOf(client.messaging("/v2/dlq", get))) as { messages: readonly Record<string, unknown>[] };
  const schedules = (await resultOf(client.messaging("/v2/schedules", get))) as readonly Record<string, unknown>[];
  return {
    plain: await resultOf(client.store("GET", "plain")),
    json: await resultOf(client.store("JSON.GET", "document", "$")),
    stream: await resultOf(client.store("XRANGE", "stream", "-", "+")),
    functions: await resultOf(client.store("FUNCTION", "LIST", "WITHCODE")),
    users: await resultOf(client.store("ACL", "LIST")),
    asUser: [asUser.status, await asUser.json()],
    vectors: await resultOf(
      client.vector("/fetch", { ids: ["v", "w"], includeVectors: true, includeMetadata: true, includeData: true }),
    ),
    dead: dead.messages.map(({ body, url, messageId }) => ({ body, url, messageId })),
    schedules: schedules.map(({ scheduleId, cron, body, destination: url }) => ({ scheduleId, cron, body, url })),
    keys: await resultOf(client.messaging("/v2/keys", get)),
    delayed: await resultOf(client.messaging(`/v2/messages/${delayedId}`, get)),
  };
}

let delayedId = "";

/** Writes something of each kind, and resolves with the token of a user when the message to a broken destination is a dead letter. */
async function fill(server: RunningProgram): Promise<string> {
  const client = new NodeClient(server);
  await resultOf(client.store("SET", "plain", "value"));
  await resultOf(client.store("JSON.SET", "document", "$", '{"a":[1,{"b":null}]}'));
  await resultOf(client.store("XADD", "stream", "1-1", "field", "entry"));
  const library = "#!lua name=mine\nredis.register_function('own', function() return 1 end)";
  await resultOf(client.store("FUNCTION", "LOAD", library));
  await resultOf(client.store("ACL", "SETUSER", "reader", "on", ">pass-word", "~*", "+@read"));
  const made = (await resultOf(client.store("ACL", "RESTTOKEN", "reader", "pass-word"))) as { result: string };
  const vectors = [{ id: "v", vector: [1, 2, 3], metadata: { kind: "first" }, data: "text" }];
  await resultOf(client.vector("/upsert", vectors));
  await publishDead(client, "letter-one", 1);
  // Most of its segment, so that no cleaning moves it: it stays in one that the snapshot covers.
  const later = { body: "delayed-body".repeat(10_000), headers: { "upstash-delay": "1h" } };
  const delayed = (await resultOf(client.messaging("/v2/publish/https://later.test/hook", later))) as {
    messageId: string;
  };
  delayedId = delayed.messageId;
  const cron = { body: "scheduled-body", headers: { "upstash-cron": "0 0 1 1 *", "upstash-schedule-id": "yearly" } };
  await resultOf(client.messaging("/v2/schedules/https://later.test/hook", cron));
  return made.result;
}

async function publishDead(client: NodeClient, body: string, count: number): Promise<void> {
  await resultOf(client.messaging("/v2/publish/https://failed.test/", { body, headers: { "upstash-retries": "0" } }));
  await until(async () => {
    const { messages } = (await resultOf(client.messaging("/v2/dlq", { method: "GET" }))) as { messages: unknown[] };
    return messages.length === count;
  });
}

/** The areas that have rows. */
async function filledAreas(): Promise<readonly string[]> {
  const rows = await sql<{ area: string }>(
    "SELECT area FROM larder.shard s WHERE EXISTS (SELECT 1 FROM larder.log WHERE shard = s.id) ORDER BY id",
  );
  return rows.map(({ area }) => area);
}

test("a single server moves into a cluster and back, with everything that it has acknowledged", {
  skip,
}, async (context) => {
  const directory = cluster.dataDirectory("single");
  const single = await startSingle("single");
  const userToken = await fill(single);
  const snapshot = await fetch(`${single.adminUrl}/v1/snapshot`, { method: "POST", headers: admin });
  assert.equal(snapshot.status, 202);
  for (const area of AREAS) await single.untilPrinted(new RegExp(`"snapshot written","area":"${area}"`));
  const client = new NodeClient(single);
  await resultOf(client.store("SET", "plain", "after the snapshot"));
  await resultOf(client.vector("/upsert", { id: "w", vector: [3, 2, 1] }));
  const before = await contents(single, userToken);
  const text = JSON.stringify(before);
  for (const each of [
    '"result":"after the snapshot"',
    "letter-one",
    "scheduled-body",
    "delayed-body",
    "register_function",
    '"kind":"first"',
  ])
    assert.ok(text.includes(each), `${each} in ${text}`);

  const cases: readonly (readonly [readonly string[], string])[] = [
    [
      ["cluster", "import", directory],
      `larder: A larder uses ${directory}: stop it with larder stop, and import then\n`,
    ],
    [
      ["cluster", "import", cluster.dataDirectory("none")],
      `larder: ${cluster.dataDirectory("none")} does not exist: name a data directory\n`,
    ],
    [
      ["cluster", "import", cluster.directory],
      `larder: ${cluster.directory} is not a data directory: it has no format file\n`,
    ],
  ];
  for (const [words, text] of cases) {
    const end = await cluster.here(words);
    assert.deepEqual([end.code, end.stderr], [1, text]);
  }
  await single.stop();
  const early = await cluster.here(["cluster", "import", directory], secrets);
  assert.deepEqual(
    [early.code, early.stderr],
    [1, "larder: The database has no cluster: run larder cluster init with the same settings\n"],
  );
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);

  // Cut at any byte, the cluster has nothing or everything. It has everything after a cut in the goodbye of a connection.
  const proxy = await CuttingProxy.start(Number(new URL(cluster.url).port));
  context.after(() => proxy.close());
  const through = { LARDER_CLUSTER_URL: cluster.url.replace(/:\d+\//, `:${proxy.port}/`), ...secrets };
  let imported: CommandEnd;
  let isCut = true;
  let cuts = 0;
  for (let bytes = 700; ; bytes = 2 * bytes) {
    proxy.cutAfter("to the server", bytes);
    imported = await cluster.here(["cluster", "import", directory], through);
    isCut = proxy.disarm();
    if (imported.code !== 0) assert.match(imported.stderr, /^larder: .*connection.*\n$/i, `cut after ${bytes} bytes`);
    const filled = await filledAreas();
    if (filled.length > 0) break;
    assert.ok(isCut, `an import that was not cut has written nothing: ${imported.stdout}${imported.stderr}`);
    cuts += 1;
  }
  assert.ok(cuts >= 3, `${cuts} imports were cut`);
  assert.deepEqual(await filledAreas(), AREAS);
  if (!isCut) assert.deepEqual([imported.code, imported.stderr], [0, ""]);
  if (imported.code === 0) {
    assert.match(imported.stdout, /^messaging: .* 1 older segments of \d+ bytes that are not replayed$/m);
    assert.match(imported.stdout, /^imported .*\nstore: .*\nmessaging: .*\nvector: .*\ndo not start a single server/);
  }
  const repeated = await cluster.larder(["cluster", "import", directory], secrets);
  assert.deepEqual([repeated.code, repeated.stderr], [0, ""]);
  assert.match(repeated.stdout, /^the cluster .* already has the data of .*; nothing was changed$/m);

  const node = await cluster.startNode("a", mapped());
  const a = new NodeClient(node);
  await a.untilServing();
  assert.deepEqual(await contents(node, userToken), before);
  const used = await cluster.here(["cluster", "import", directory], secrets);
  assert.equal(used.code, 1);
  assert.match(
    used.stderr,
    /^larder: The cluster .* has data already \(store, messaging, vector\): import into a new cluster/,
  );
  await resultOf(a.store("SET", "plain", "of the node"));
  await publishDead(a, "letter-two", 2);

  // While it is served, the copy ends at what was committed.
  const served = await cluster.larder(["cluster", "export-shard", "store", cluster.dataDirectory("served")]);
  assert.deepEqual([served.code, served.stderr], [0, ""]);
  assert.match(served.stdout, /^node a serves store, so this is what was committed when the export began/m);
  const last = await contents(node, userToken);
  await node.stop();

  const back = cluster.dataDirectory("back");
  for (const area of AREAS) {
    const end = await cluster.here(["cluster", "export-shard", area, back]);
    assert.deepEqual([end.code, end.stderr], [0, ""]);
    assert.match(end.stdout, /^no node serves/m);
  }
  const again = await cluster.here(["cluster", "export-shard", "vector", back]);
  assert.deepEqual(
    [again.code, again.stderr],
    [1, `larder: ${back} has data of the area vector already: name another directory, such as a new one\n`],
  );
  const verified = await cluster.here(["verify", back], { LARDER_CLUSTER_URL: "" });
  assert.deepEqual([verified.code, verified.stderr], [0, ""]);
  const restored = await startSingle("back");
  assert.deepEqual(await contents(restored, userToken), last);
  await restored.stop();
  const copy = await startSingle("served");
  assert.deepEqual(await resultOf(new NodeClient(copy).store("GET", "plain")), { result: "of the node" });
  await copy.stop();
});

test("operands of an export that cannot be used are refused by name", { skip }, async () => {
  const foreign = cluster.dataDirectory("foreign");
  mkdirSync(foreign);
  writeFileSync(join(foreign, "letter.txt"), "");
  const area = await cluster.here(["cluster", "export-shard", "storage", cluster.dataDirectory("new")]);
  assert.deepEqual(
    [area.code, area.stderr],
    [2, 'larder: "storage" is not an area: name one of store, messaging, vector, or the number of a shard\n'],
  );
  const other = await cluster.here(["cluster", "export-shard", "store", foreign]);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /letter\.txt/);
  assert.deepEqual(readdirSync(foreign), ["letter.txt"]);
});

test("a new branch is refused while a node lives; after it nodes own nothing, and serve what the database has", {
  skip,
}, async () => {
  const node = await cluster.startNode("a", oneThread);
  await new NodeClient(node).untilServing();
  const refused = await cluster.here(["cluster", "new-branch"]);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [1, "larder: The node a of the cluster must not run meanwhile: stop what runs, and run this command again\n"],
  );
  await node.stop();
  const [before] = await sql<{ branch: string }>("SELECT branch FROM larder.cluster");
  const made = await cluster.larder(["cluster", "new-branch"]);
  assert.deepEqual([made.code, made.stderr], [0, ""]);
  const [after] = await sql<{ branch: string; epochs: string; owned: string }>(
    "SELECT branch, (SELECT min(epoch) FROM larder.shard) AS epochs, (SELECT count(owner) FROM larder.shard) AS owned FROM larder.cluster",
  );
  assert.notEqual(after?.branch, before?.branch);
  assert.ok(Number(after?.epochs) > 1_000_000);
  assert.equal(after?.owned, "0");
  const again = await cluster.startNode("a", oneThread);
  const client = new NodeClient(again);
  await client.untilServing();
  assert.deepEqual(await resultOf(client.store("GET", "plain")), { result: "of the node" });
  await again.stop();
});
