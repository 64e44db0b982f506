/** The shards of each area of a node in two threads: clients and other nodes see one node. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../../../src/kernel/random.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { openStream } from "../../harness/event-reader.ts";
import { freePort } from "../../harness/free-port.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { anyPorts, oneThread, type RunningProgram } from "../program-process.ts";
import { secrets, TestCluster } from "./cluster-program.ts";
import { ask, configOf, contents, nodesOf, storeToken, untilServed, write, written } from "./shard-clients.ts";

const skip = missingProgram("postgres");
const ADDRESS = ["--cluster-address", "127.0.0.1:0", "--takeover-wait", "30s", "--owner-header", "on"];
const THREADS = ["--engine-threads", "2"];
/** Of the store, `two` is on shard 1 in the thread with the port, and `one` and `three` on shard 4 in the other one. */
const NAMES = ["one", "two", "three"];
const ALL = [1, 2, 3, 4, 5, 6];
const plantedFaults = fileURLToPath(new URL("../planted-faults.cjs", import.meta.url));

/** Each starts one or two nodes with many threads, so npm test has one of them, and a proof has both. */
const drawnTests = drawnPart(["limits", "crash"], {
  ...{ oneIn: 2, random: seededRandom(seedFrom("LARDER_SHARD_THREADS_SEED")) },
});
const skipUndrawn = (name: string): boolean | string =>
  skip === false && !drawnTests.includes(name) ? "another one was drawn" : skip;

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

async function command(node: RunningProgram, name: string, ...words: readonly string[]): Promise<unknown> {
  const { body } = await ask(node.storeUrl, storeToken(name), { body: JSON.stringify(words) });
  return body;
}

async function metricsOf({ adminUrl }: RunningProgram): Promise<string> {
  return (await fetch(`${adminUrl}/metrics`)).text();
}

/** The values of a metric, by its labels. */
function seriesOf(metrics: string, name: string): Readonly<Record<string, number>> {
  const lines = metrics.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, "gm"));
  return Object.fromEntries([...lines].map(([, labels = "", value]) => [labels, Number(value)]));
}

/** The token of a user of a database, which only the engine of its shard knows. */
async function userToken(node: RunningProgram, name: string): Promise<string> {
  await command(node, name, "ACL", "SETUSER", "reader", "on", ">pass-word", "~*", "+@read");
  return ((await command(node, name, "ACL", "RESTTOKEN", "reader", "pass-word")) as { result: string }).result;
}

test("the shards of each area are served by two threads through one port, for clients and for other nodes", {
  skip,
}, async () => {
  assert.equal((await cluster.here(["cluster", "init", "--shards", "2"])).code, 0);
  const config = configOf(cluster, NAMES);
  const a = await cluster.startNode("a", [...ADDRESS, ...THREADS, ...config]);
  await untilServed(a, ALL);
  await write(a, NAMES, "first");
  const first = await contents(a, NAMES);
  assert.deepEqual(first.seen, written(NAMES, ["first"]));
  assert.deepEqual(await nodesOf(cluster, first.owners), ["a"]);

  // Tokens of users, and those of nobody.
  for (const name of ["one", "two"]) {
    const token = await userToken(a, name);
    assert.deepEqual((await ask(`${a.storeUrl}/llen/list`, token)).body, { result: 1 });
  }
  assert.equal((await ask(`${a.storeUrl}/get/k`, "a-token-of-nobody")).status, 401);
  assert.equal((await fetch(`${a.storeUrl}/get/k`)).status, 401);

  // Large bodies in both directions, and errors of the engine.
  const large = "x".repeat(2_000_000);
  for (const name of ["one", "two"]) {
    assert.deepEqual(await command(a, name, "SET", "large", large), { result: "OK" });
    assert.deepEqual(await command(a, name, "GET", "large"), { result: large });
    assert.match(JSON.stringify(await command(a, name, "LLEN", "large")), /WRONGTYPE/);
  }

  const metrics = await metricsOf(a);
  const shardsOf = (name: string): readonly string[] =>
    Object.keys(seriesOf(metrics, name)).flatMap((labels) => /shard="(\d)"/.exec(labels)?.[1] ?? []);
  assert.deepEqual([...new Set(shardsOf("larder_journal_end_position"))].toSorted(), ["1", "2", "3", "4", "5", "6"]);
  for (const name of ["larder_heap_limit_bytes", "larder_memory_limit_bytes", "larder_event_loop_delay_max_seconds"])
    assert.deepEqual(
      Object.keys(seriesOf(metrics, name)).filter((labels) => labels === 'area="store"'),
      ['area="store"'],
    );
  const stats = await fetch(`${a.adminUrl}/v1/stats`, {
    headers: { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` },
  });
  const { areas } = (await stats.json()) as { areas: { store: { state: string; figures: { keys: number } } } };
  // A list of each database, and two large values.
  assert.deepEqual([areas.store.state, areas.store.figures.keys], ["serving", 5]);
  const ready = await fetch(`${a.adminUrl}/health/ready`);
  assert.equal(ready.status, 200);

  // An event stream from the other thread; its end is seen there.
  const stream = await openStream(`${a.storeUrl}/subscribe/news`, { token: storeToken("one") });
  assert.deepEqual(await stream.next(), "subscribe,news,1");
  assert.deepEqual(await command(a, "one", "PUBLISH", "news", "hello"), { result: 1 });
  assert.deepEqual(await stream.next(), "message,news,hello");

  // A node of one thread forwards to it, and takes over when it stops.
  const b = await cluster.startNode("b", [...ADDRESS, ...config, ...oneThread]);
  await write(b, NAMES, "second");
  const forwarded = await contents(b, NAMES);
  assert.deepEqual(forwarded.seen, written(NAMES, ["first", "second"]));
  assert.deepEqual(await nodesOf(cluster, forwarded.owners), ["a"]);
  assert.deepEqual(await a.stop(), { code: 0, signal: null });
  assert.equal(await stream.next(), undefined);
  await untilServed(b, ALL);
  const after = await contents(b, NAMES);
  assert.deepEqual(after.seen, written(NAMES, ["first", "second"]));
  assert.deepEqual(await nodesOf(cluster, after.owners), ["b"]);
  assert.deepEqual(await b.stop(), { code: 0, signal: null });
});

test("without addresses, and with confirmed reads: limits hold in each thread, and streams end with the node", {
  skip: skipUndrawn("limits"),
}, async () => {
  // More threads than shards.
  const args = ["--engine-threads", "3", "--reads", "confirm", "--rate-limit", "5"];
  const node = await cluster.startNode("a", [...args, ...configOf(cluster, NAMES)]);
  await untilServed(node, ALL);
  assert.equal((await fetch(`${node.adminUrl}/health/ready`)).status, 200);
  const streams = await Promise.all(
    ["one", "two"].map((name) => openStream(`${node.storeUrl}/subscribe/news`, { token: storeToken(name) })),
  );
  for (const stream of streams) assert.equal(await stream.next(), "subscribe,news,1");
  for (const name of ["one", "two"]) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => ask(`${node.storeUrl}/llen/list`, storeToken(name))),
    );
    const served = answers.filter(({ status }) => status === 200);
    assert.ok(served.length >= 1 && served.length < answers.length, `${served.length} of ${answers.length} served`);
    assert.deepEqual(served[0]?.body, { result: 2 });
    assert.deepEqual([...new Set(answers.map(({ status }) => status))].toSorted(), [200, 429]);
  }
  const stopped = node.stop();
  for (const stream of streams) assert.equal(await stream.next(), undefined);
  assert.deepEqual(await stopped, { code: 0, signal: null });
});

test("a start whose threads have too little memory is refused with the remedy", { skip }, async () => {
  const words = ["serve", "--data-dir", cluster.dataDirectory("a"), "--cluster-node", "a", "--log-level", "error"];
  const memory = [...THREADS, "--store-memory", "100mb", ...configOf(cluster, NAMES)];
  const { code, stderr } = await cluster.larder([...words, ...memory], { ...secrets, ...anyPorts });
  assert.deepEqual(
    [code, stderr],
    [
      1,
      "larder: --engine-threads leaves 50mb of memory for each of 2 threads of store, which needs 64mb: lower it, or raise --store-memory\n",
    ],
  );
});

test("a crash of a thread without the port ends the process, and a node with a RESP port has what was acknowledged", {
  skip: skipUndrawn("crash"),
}, async () => {
  const args = [...ADDRESS, ...THREADS, ...configOf(cluster, NAMES)];
  const node = await cluster.startNode("a", args, { NODE_OPTIONS: `--require=${plantedFaults}` });
  await untilServed(node, ALL);
  await write(node, NAMES, "third");
  await ask(`${node.storeUrl}/get/planted-crash`, storeToken("one")).catch(() => undefined);
  assert.deepEqual(await node.ended, { code: 1, signal: null });
  assert.match(node.log, /"event":"the thread crashed","area":"store".*"fault":"planted crash"/);
  assert.match(node.log, /"event":"an area crashed; the server ends","area":"store"/);
  const again = await cluster.startNode("a", [...args, "--resp-port", String(await freePort())]);
  await untilServed(again, ALL);
  assert.match(again.log, /the shards of the store are in one thread, because the RESP port is set.*--resp-port/);
  const { seen } = await contents(again, NAMES);
  assert.deepEqual(seen, written(NAMES, ["first", "second", "third"]));
  assert.deepEqual(await again.stop(), { code: 0, signal: null });
});
