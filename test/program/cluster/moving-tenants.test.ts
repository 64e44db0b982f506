/** Databases and indexes that move to a shard of their own while the nodes of their cluster run. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { CuttingProxy } from "../../harness/cutting-proxy.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { pauseBetweenRequests } from "../../harness/pause.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { oneThread, type RunningProgram } from "../program-process.ts";
import { secrets, TestCluster } from "./cluster-program.ts";
import { ask, configOf, sql, storeToken, untilServed } from "./shard-clients.ts";

const skip = missingProgram("postgres");
const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
const KEY = { LARDER_CLUSTER_KEY: "q7mR0c1lS8Yx2FvKp4Zt9wHdN6bUeJ3aGiT5oXyCkLE=" };
const MOVING = "TRYAGAIN Writes are refused: the data is moving to another shard; try again";
/** Each cut takes some seconds. */
const drawn = { oneIn: 3, random: seededRandom(seedFrom("LARDER_CUT_MOVES_SEED")) };

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function make(node: RunningProgram, kind: "databases" | "indexes", body: object): Promise<string> {
  const answer = await ask(`${node.adminUrl}/v1/${kind}`, secrets["LARDER_ADMIN_TOKEN"] ?? "", {
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return (answer.body as { token: string }).token;
}

async function store(node: RunningProgram, token: string, ...command: readonly (string | number)[]): Promise<unknown> {
  const { status, body } = await ask(node.storeUrl, token, { body: JSON.stringify(command) });
  assert.equal(status, 200, JSON.stringify(body));
  return (body as { result: unknown }).result;
}

/** The results of commands, none of which fails. */
async function pipeline(
  { storeUrl }: RunningProgram,
  token: string,
  commands: readonly (readonly (string | number)[])[],
): Promise<readonly unknown[]> {
  const { status, body } = await ask(`${storeUrl}/pipeline`, token, { body: JSON.stringify(commands) });
  assert.equal(status, 200, JSON.stringify(body));
  return (body as readonly { result?: unknown; error?: string }[]).map(({ result, error }) => {
    assert.equal(error, undefined);
    return result;
  });
}

/** Values of each kind, also such as were changed and removed. */
async function fill(node: RunningProgram, token: string): Promise<void> {
  const members = Array.from({ length: 300 }, (_, index) => `member ${index}`);
  const commands: readonly (readonly (string | number)[])[] = [
    ["SET", "text", "value"],
    ["SET", "fleeting", "value", "EX", 100_000],
    ["RPUSH", "list", "a", "b", "c"],
    ["SADD", "set", ...members],
    ["SREM", "set", ...members.slice(0, 250)],
    ["HSET", "hash", ...members.flatMap((field) => [field, field])],
    ["HDEL", "hash", ...members.slice(20, 200)],
    ["ZADD", "sorted", ...members.flatMap((member, index) => [index, member])],
    ["ZREM", "sorted", ...members.slice(10, 290)],
    ["XADD", "stream", "1-1", "field", "value"],
    ["XGROUP", "CREATE", "stream", "group", "0"],
    ["JSON.SET", "document", "$", '{"a":[1,{"b":null}]}'],
    ["SETBIT", "bits", 7, 1],
    ["PFADD", "log", ...members],
    ["FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('one', function() return 1 end)"],
  ];
  await pipeline(node, token, [
    ...commands,
    ...members.slice(0, 100).map((member) => ["SET", `key ${member}`, member]),
    ...members.slice(0, 50).map((member) => ["DEL", `key ${member}`]),
  ]);
}

async function contentsOf(node: RunningProgram, token: string): Promise<unknown> {
  const keys = ((await store(node, token, "KEYS", "*")) as string[]).filter((key) => key !== "counter").toSorted();
  const values = await pipeline(
    node,
    token,
    keys.map((key) => [key === "document" ? "JSON.GET" : "DUMP", key]),
  );
  return {
    values: keys.map((key, index) => [key, values[index]]),
    functions: await store(node, token, "FUNCTION", "LIST", "WITHCODE"),
    users: await store(node, token, "ACL", "LIST"),
  };
}

/** Adds to a counter through both nodes until it is told to stop. */
function count(nodes: readonly RunningProgram[], token: string) {
  let isStopped = false;
  const refused = new Set<string>();
  let acknowledged = 0;
  let reads = 0;
  const run = async (node: RunningProgram): Promise<void> => {
    while (!isStopped) {
      const answer = await fetch(node.storeUrl, {
        method: "POST",
        body: '["INCR","counter"]',
        headers: { authorization: `Bearer ${token}` },
      });
      const text = await answer.text();
      if (answer.status === 200) acknowledged += 1;
      else refused.add(`${answer.status} ${answer.headers.get("retry-after")} ${text}`);
      // What was acknowledged by then is read, whatever answers.
      const atLeast = acknowledged;
      assert.ok(Number(await store(node, token, "GET", "counter")) >= atLeast);
      reads += 1;
      await pauseBetweenRequests();
    }
  };
  const ended = Promise.all(nodes.map(run));
  return {
    async stop(): Promise<{
      readonly acknowledged: number;
      readonly refused: readonly string[];
      readonly reads: number;
    }> {
      isStopped = true;
      await ended;
      return { acknowledged, refused: [...refused], reads };
    },
  };
}

interface Row {
  readonly area: string;
  readonly name: string;
  readonly shard: number;
  readonly moving_to: number | null;
  readonly left_on: number | null;
}

const rowOf = async (area: string, name: string): Promise<Row | undefined> =>
  (
    await sql<Row>(
      cluster,
      `SELECT area, name, shard, moving_to, left_on FROM larder.tenant WHERE area = '${area}' AND name = '${name}'`,
    )
  )[0];

let nodes: readonly RunningProgram[] = [];
let shop = "";

test("a database moves to an empty shard: no write is lost, and reads go on", { skip }, async () => {
  assert.equal((await cluster.here(["cluster", "init", "--shards", "2"])).code, 0);
  assert.equal((await cluster.here(["cluster", "add-shards", "store", "1"])).code, 0);
  assert.equal((await cluster.here(["cluster", "add-shards", "vector", "1"])).code, 0);
  const config = configOf(cluster, ["one"]);
  const a = await cluster.startNode("a", [...ADDRESS, ...oneThread, ...config], KEY);
  await untilServed(a, [1, 2, 3, 4, 5, 6, 7, 8]);
  const b = await cluster.startNode("b", [...ADDRESS, ...config, "--engine-threads", "2"], KEY);
  nodes = [a, b];
  // The shard of a new database can be chosen.
  shop = await make(b, "databases", { name: "shop", shard: 1 });
  assert.equal((await rowOf("store", "shop"))?.shard, 1);
  const wrong = await ask(`${a.adminUrl}/v1/databases`, secrets["LARDER_ADMIN_TOKEN"] ?? "", {
    body: '{"name":"far","shard":2}',
  });
  assert.deepEqual(
    [wrong.status, wrong.body],
    [400, { error: "shard 2 is not one of the store that this node knows: name one of 1, 4, 7" }],
  );
  await fill(a, shop);
  await store(a, shop, "ACL", "SETUSER", "ann", "on", "allkeys", "allcommands", ">ann-password-of-shop-1");
  const seen = await contentsOf(a, shop);

  const counting = count(nodes, shop);
  const moved = await cluster.larder(["cluster", "move-tenant", "store/shop", "7"]);
  const { acknowledged, refused, reads } = await counting.stop();
  assert.deepEqual([moved.code, moved.stderr], [0, ""]);
  assert.match(
    moved.stdout,
    /^database shop: moved from shard 1 to shard 7\n\d+ keys, \d+ bytes, the same checksum on both shards: sha256 [0-9a-f]{64}\nshard 7: served by \w\nwrites were refused for at most [\d.]+ s\n(its data on the former shard is removed\n)?$/,
  );
  assert.ok(reads > 0 && acknowledged > 0);
  assert.deepEqual(refused, [`503 1 ${JSON.stringify({ error: MOVING })}`]);
  for (const node of nodes) {
    assert.equal(await store(node, shop, "GET", "counter"), String(acknowledged));
    assert.ok(Number(await store(node, shop, "PTTL", "fleeting")) > 0);
    assert.deepEqual(await contentsOf(node, shop), seen);
  }
  assert.deepEqual(await rowOf("store", "shop"), {
    ...{ area: "store", name: "shop", shard: 7 },
    ...{ moving_to: null, left_on: null },
  });
  const again = await cluster.here(["cluster", "move-tenant", "store/shop", "7"]);
  assert.deepEqual([again.code, again.stdout], [0, "database shop: lives on shard 7 already; nothing was changed\n"]);
});

/** The records of an index, as its clients see them. */
async function recordsOf(node: RunningProgram, token: string): Promise<unknown> {
  const url = node.environment["UPSTASH_VECTOR_REST_URL"] ?? "";
  const asked = { cursor: "0", limit: 1_000, includeVectors: true, includeMetadata: true, includeData: true };
  const range = await ask(`${url}/range`, token, { body: JSON.stringify(asked) });
  const other = await ask(`${url}/range/other`, token, { body: JSON.stringify(asked) });
  const query = { vector: [1, 2, 3], topK: 5, filter: "size > 10" };
  const found = await ask(`${url}/query`, token, { body: JSON.stringify(query) });
  assert.deepEqual([range.status, other.status, found.status], [200, 200, 200]);
  return [range.body, other.body, found.body];
}

test("an index moves with its namespaces, vectors, metadata and data", { skip }, async () => {
  const [a, b] = nodes as [RunningProgram, RunningProgram];
  const docs = await make(a, "indexes", { name: "docs", type: "DENSE", dimension: 3, shard: 3 });
  const url = a.environment["UPSTASH_VECTOR_REST_URL"] ?? "";
  const records = Array.from({ length: 60 }, (_, index) => ({
    ...{ id: `record ${index}`, vector: [index, index % 7, 1], metadata: { size: index }, data: `text ${index}` },
  }));
  for (const path of ["upsert", "upsert/other"])
    assert.equal((await ask(`${url}/${path}`, docs, { body: JSON.stringify(records) })).status, 200);
  const ids = records.slice(0, 20).map(({ id }) => id);
  assert.equal((await ask(`${url}/delete`, docs, { body: JSON.stringify(ids) })).status, 200);
  const seen = await recordsOf(a, docs);
  const moved = await cluster.here(["cluster", "move-tenant", "vector/docs", "8"]);
  assert.deepEqual([moved.code, moved.stderr], [0, ""]);
  assert.match(moved.stdout, /^index docs: moved from shard 3 to shard 8\n100 records, /);
  for (const node of [a, b]) assert.deepEqual(await recordsOf(node, docs), seen);
  assert.equal((await ask(`${url}/upsert`, docs, { body: JSON.stringify(records.slice(0, 1)) })).status, 200);
});

test("a database of the configuration moves too, and its nodes find it there after they start again", {
  skip,
}, async () => {
  const [a, b] = nodes as [RunningProgram, RunningProgram];
  assert.equal((await rowOf("store", "one"))?.shard, 4);
  for (const node of nodes) await store(node, storeToken("one"), "RPUSH", "list", "before");
  // Shard 1 has the database main, and its own is empty when shop has left it.
  const taken = await cluster.here(["cluster", "move-tenant", "store/one", "1"]);
  assert.deepEqual(
    [taken.code, taken.stderr],
    [
      1,
      "larder: Shard 1 is not free, but that of main: name a shard without others, which larder cluster add-shards store 1 makes\n",
    ],
  );
  assert.equal((await cluster.here(["cluster", "add-shards", "store", "1"])).code, 0);
  // A node that does not know the shard would go on accepting writes where the tenant was.
  const unknown = await cluster.here(["cluster", "move-tenant", "store/one", "9"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^larder: The nodes a, b of the cluster may still accept writes: see its log/);
  for (const node of nodes) await store(node, storeToken("one"), "RPUSH", "list", "between");
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
  const config = configOf(cluster, ["one"]);
  const again = await cluster.startNode("a", [...ADDRESS, ...oneThread, ...config], KEY);
  await untilServed(again, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const moved = await cluster.here(["cluster", "move-tenant", "store/one", "9"]);
  assert.deepEqual([moved.code, moved.stderr], [0, ""]);
  await store(again, storeToken("one"), "RPUSH", "list", "after");
  assert.deepEqual(await again.stop(), { code: 0, signal: null });
  const last = await cluster.startNode("a", [...ADDRESS, ...oneThread, ...config], KEY);
  await untilServed(last, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  nodes = [last];
  assert.deepEqual(await store(last, storeToken("one"), "LRANGE", "list", 0, -1), [
    ...["before", "before", "between", "between", "after"],
  ]);
  assert.equal(await store(last, shop, "GET", "text"), "value");
  const names = await sql<{ name: string }>(cluster, "SELECT name FROM larder.tenant WHERE shard = 4");
  assert.deepEqual(names, []);
});

test("what cannot be moved is refused by name, and nothing is changed", { skip }, async () => {
  const before = await sql(cluster, "SELECT area, name, shard, moved FROM larder.tenant ORDER BY 1, 2");
  for (const [tenant, shard, code, text] of [
    [
      "messaging/main",
      "5",
      2,
      "A user of messaging cannot be moved, because calls of its destinations are under way: make it on its shard, with larder user create --shard",
    ],
    ["shop", "4", 2, '"shop" is not a database or an index: name one as store/<database> or vector/<index>'],
    ["store/", "4", 2, '"store/" is not a database or an index: name one as store/<database> or vector/<index>'],
    ["store/nobody", "4", 2, 'The cluster has no database "nobody"'],
    ["store/shop", "x", 2, '"x" is not the number of a shard: larder cluster status lists them'],
    [
      "store/shop",
      "6",
      2,
      "Shard 6 is not one of the area store: name one of 1, 4, 7, 9, or make one with larder cluster add-shards store 1",
    ],
  ] as const) {
    const end = await cluster.here(["cluster", "move-tenant", tenant, shard]);
    assert.deepEqual([end.code, end.stderr], [code, `larder: ${text}\n`]);
  }
  assert.deepEqual(await sql(cluster, "SELECT area, name, shard, moved FROM larder.tenant ORDER BY 1, 2"), before);
});

test("a move that is cut off at any point leaves the database whole on one shard, and is completed or undone", {
  skip,
}, async () => {
  const [node] = nodes as [RunningProgram];
  const port = Number(new URL(cluster.url.replace("postgres:", "http:")).port);
  const seen = await contentsOf(node, shop);
  const throughProxy = (proxy: CuttingProxy) => ({
    LARDER_CLUSTER_URL: cluster.url.replace(`:${port}/`, `:${proxy.port}/`),
  });
  const cuts: readonly (readonly [texts: readonly string[], passes: boolean, end: string])[] = [
    [["SET moving_to = $3::int", "COMMIT"], false, "from shard, free"],
    [["SET moving_to = $3::int", "COMMIT"], true, "from shard, frozen"],
    [["SET is_held = true", "COMMIT"], true, "from shard, frozen"],
    [["INSERT INTO larder.snapshot_part"], true, "from shard, frozen"],
    [["UPDATE larder.tenant SET shard", "COMMIT"], false, "from shard, frozen"],
    [["UPDATE larder.tenant SET shard", "COMMIT"], true, "to shard, frozen"],
    [["moving_to = NULL", "COMMIT"], false, "to shard, frozen"],
    [["moving_to = NULL", "COMMIT"], true, "to shard, free"],
  ];
  let [from, to] = [7, 4];
  for (const [index, [texts, passes, expected]] of drawnPart([...cuts.entries()], drawn)) {
    const proxy = await CuttingProxy.start(port);
    proxy.cutAt(texts, { passes });
    const end = await cluster.larder(["cluster", "move-tenant", "store/shop", String(to)], throughProxy(proxy));
    assert.equal(end.code, 1, end.stdout);
    proxy.close();
    const place = `${texts.join(" ")} ${passes}`;
    const row = (await rowOf("store", "shop")) as Row;
    const where = row.shard === from ? "from" : "to";
    assert.equal(`${where} shard, ${row.moving_to === null ? "free" : "frozen"}`, expected, place);
    assert.deepEqual(await contentsOf(node, shop), seen, place);
    // Every second one that can be undone is.
    const next = where === "from" && index % 2 === 1 ? from : to;
    const again = await cluster.here(["cluster", "move-tenant", "store/shop", String(next)]);
    assert.deepEqual([again.code, again.stderr], [0, ""], place);
    assert.deepEqual(await contentsOf(node, shop), seen, place);
    await store(node, shop, "SET", "text", "value");
    assert.deepEqual(await rowOf("store", "shop"), { ...row, shard: next, moving_to: null, left_on: null }, place);
    if (next === to) [from, to] = [to, from];
  }
  assert.deepEqual(await sql(cluster, "SELECT count(*)::int AS held FROM larder.shard WHERE is_held"), [{ held: 0 }]);
  assert.deepEqual(await node.stop(), { code: 0, signal: null });
});
