/**
 * A node that follows the shards of another one, on a real PostgreSQL: what it reads when it takes over, and the log of
 * messages, which no snapshot has.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { shardDirectory } from "../../src/persistence/data-directory.ts";
import { type RecordingDestination, startDestination } from "../harness/recording-destination.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { oneThread, type RunningProgram } from "../program/program-process.ts";

const skip = missingProgram("postgres");
const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
const AREAS = ["store", "messaging", "vector"];
/** A node reports what it follows each 10 s, and segments are removed each 10 s: some 25 s on a machine at rest. */
const PATIENCE_MS = 240_000;

let cluster: TestCluster;
let destination: RecordingDestination;
let sql: Client;

before(async () => {
  if (skip !== false) return;
  cluster = await TestCluster.start();
  destination = await startDestination();
  sql = new Client({ connectionString: cluster.url });
  await sql.connect();
});

after(async () => {
  await sql?.end();
  await cluster?.stop();
  await destination?.[Symbol.asyncDispose]();
});

const args = (): readonly string[] => ["--outbound-map", `*.test=127.0.0.1:${destination.port}`, ...oneThread];

async function untilTrue(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  while (!(await isTrue())) {
    assert.ok(!signal.aborted, `${what} within ${PATIENCE_MS} ms`);
    // One look at a time: the answer of PostgreSQL paces them.
    await sql.query("SELECT pg_sleep(0.1)");
  }
}

async function segmentsOf(shard: number): Promise<readonly number[]> {
  const { rows } = await sql.query<{ segment: string }>(
    "SELECT DISTINCT segment FROM larder.log WHERE shard = $1 ORDER BY segment",
    [shard],
  );
  return rows.map(({ segment }) => Number(segment));
}

/** A file has this name when it is complete. */
function hasSnapshot(node: string, shard: number): boolean {
  const names = readdirSync(shardDirectory(cluster.dataDirectory(node), shard));
  return names.some((name) => name.endsWith(".snapshot"));
}

/** What a takeover of the shards would read, by the metrics of their standby. */
async function missingBytes({ adminUrl }: RunningProgram): Promise<readonly number[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return [...text.matchAll(/^larder_cluster_standby_missing_bytes\{.*\} (\d+)$/gm)].map(([, bytes]) => Number(bytes));
}

async function loggedStates(client: NodeClient): Promise<readonly string[]> {
  const { status, body } = await client.messaging("/v2/logs", { method: "GET" });
  assert.equal(status, 200);
  return (body as { logs: readonly { state: string }[] }).logs.map(({ state }) => state);
}

test("a takeover by the standby reads the open segments only, and the log of finished messages goes on", {
  skip,
}, async () => {
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  const first = await cluster.startNode("a", args());
  const a = new NodeClient(first);
  await a.untilServing();
  const second = await cluster.startNode("b", args());
  await second.untilPrinted(/"following a shard","shard":3/);

  const value = "v".repeat(50_000);
  for (const key of ["one", "two"]) assert.equal((await a.store("SET", key, value)).status, 200);
  const published = await a.messaging("/v2/publish/https://done.test/hook", { body: "finished" });
  assert.equal(published.status, 200);
  await untilTrue("the delivery", async () => (await loggedStates(a)).includes("DELIVERED"));
  assert.equal((await fetch(`${first.adminUrl}/v1/snapshot`, { method: "POST", headers: admin })).status, 202);
  for (const area of AREAS) await first.untilPrinted(new RegExp(`"snapshot written","area":"${area}"`));

  // The segment with the message leaves PostgreSQL when the standby has it in its log.
  await untilTrue("the removal of a segment", async () => (await segmentsOf(2)).join() === "2");
  const { rows } = await sql.query(
    "SELECT memory -> 'standbys' -> '2' ->> 'history' AS history FROM larder.node WHERE name = 'b'",
  );
  assert.deepEqual(rows, [{ history: "2" }]);
  await untilTrue("the status", async () => {
    const { stdout } = await cluster.larder(["cluster", "status"]);
    return /^shard 2 \(messaging\): owned by a, epoch 1, standby b has all of it$/m.test(stdout);
  });

  assert.equal((await a.store("SET", "three", "tail")).status, 200);
  for (const shard of [1, 2]) await untilTrue(`the snapshot of shard ${shard}`, async () => hasSnapshot("b", shard));
  await first.killGroup();
  const b = new NodeClient(second);
  await b.untilServing();
  const read = [...second.log.matchAll(/"the files of a shard are here".*"keptBytes":(\d+),"fetchedBytes":(\d+)/g)];
  assert.equal(read.length, 3);
  const [kept, fetched] = [1, 2].map((place) => read.reduce((sum, match) => sum + Number(match[place]), 0));
  assert.ok((kept ?? 0) > 100_000, `${kept} bytes were kept`);
  assert.ok((fetched ?? 0) < 10_000, `${fetched} bytes were fetched`);
  for (const [key, expected] of [
    ["one", value],
    ["three", "tail"],
  ] as const)
    assert.deepEqual(await b.store("GET", key), { status: 200, body: { result: expected } });
  assert.deepEqual((await loggedStates(b)).toSorted(), ["ACTIVE", "CREATED", "DELIVERED"]);
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
});

test("a node with --standby off follows nothing", { skip }, async () => {
  const first = await cluster.startNode("c", [...args(), "--standby", "off"]);
  await new NodeClient(first).untilServing();
  const second = await cluster.startNode("d", [...args(), "--standby", "off"]);
  await untilTrue("the first look at the shards", async () => {
    const text = await (await fetch(`${second.adminUrl}/metrics`)).text();
    return /^larder_cluster_shard_epoch\{area="store",shard="1"\} [1-9]\d*$/m.test(text);
  });
  assert.deepEqual(await missingBytes(second), []);
  assert.ok(!second.log.includes("following a shard"));
});
