/** Two nodes on one PostgreSQL: when one is gone, the other serves everything that was acknowledged. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { missingProgram } from "../../harness/required-programs.ts";
import type { RunningProgram } from "../program-process.ts";
import { NodeClient, PASSWORD, secrets, TestCluster } from "./cluster-program.ts";

const skip = missingProgram("postgres");
const KEYS = 200;

const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

/** The metrics and statistics of the owner and of a node that waits. */
async function checkFigures(owner: RunningProgram, waiting: RunningProgram): Promise<void> {
  const printed = async ({ adminUrl }: RunningProgram): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
  const statsOf = async ({ adminUrl }: RunningProgram): Promise<{ areas: { store: { shard: object } } }> =>
    (await (await fetch(`${adminUrl}/v1/stats`, { headers: admin })).json()) as { areas: { store: { shard: object } } };
  const text = await printed(owner);
  for (const line of [
    /^larder_cluster_shard_state\{area="store",shard="1",state="serving"\} 1$/m,
    /^larder_cluster_shard_state\{area="store",shard="1",state="standby"\} 0$/m,
    /^larder_cluster_shard_epoch\{area="vector",shard="3"\} 1$/m,
    /^larder_cluster_shard_tries\{area="vector",shard="3"\} 0$/m,
    /^larder_cluster_shard_takeovers_total\{area="messaging",shard="2"\} 1$/m,
    /^larder_cluster_shard_heals_total\{area="store",shard="1"\} 0$/m,
    /^larder_cluster_shard_unshipped_bytes\{area="store",shard="1"\} \d+$/m,
    /^larder_cluster_shard_unshipped_seconds\{area="store",shard="1"\} [\d.]+$/m,
    /^larder_cluster_lease_seconds\{area="main"\} [1-5]\.\d+$/m,
    /^larder_cluster_clock_skew_seconds\{area="main"\} -?[\d.]+$/m,
    /^larder_cluster_living_nodes\{area="main"\} [12]$/m,
  ])
    assert.match(text, line);
  const commits = /^larder_cluster_shard_commit_seconds_count\{area="store",shard="1"\} (\d+)$/m.exec(text);
  // One after the other, so none shares a commit.
  assert.ok(Number(commits?.[1]) >= KEYS, `${commits?.[0]}`);
  const serving = { shard: 1, condition: "serving", suspendedFor: null, epoch: 1, owner: "a", tries: 0, takeovers: 1 };
  assert.deepEqual((await statsOf(owner)).areas.store.shard, serving);
  assert.match(await printed(waiting), /^larder_cluster_shard_state\{area="store",shard="1",state="standby"\} 1$/m);
}

test("a node that is killed is replaced by the other, which has all that was acknowledged", { skip }, async () => {
  const made = await cluster.larder(["cluster", "init"]);
  assert.deepEqual([made.code, made.stderr], [0, ""]);
  assert.match(made.stdout, /^shard 1: store\nshard 2: messaging\nshard 3: vector$/m);
  assert.match((await cluster.larder(["cluster", "init"])).stdout, /exists .* nothing was changed/);

  const first = await cluster.startNode("a");
  const a = new NodeClient(first);
  await a.untilServing();
  assert.deepEqual(await a.store("SET", "key-0", "0"), { status: 200, body: { result: "OK" } });
  for (let key = 1; key < KEYS; key += 1) await a.store("SET", `key-${key}`, String(key));
  const upserted = await a.vector("/upsert", { id: "v", vector: [1, 2, 3] });
  assert.equal(upserted.status, 200, JSON.stringify(upserted.body));
  const published = await a.messaging("/v2/publish/https://example.com/hook", {
    body: "later",
    headers: { "upstash-delay": "1h" },
  });
  assert.equal(published.status, 200, JSON.stringify(published.body));
  const { messageId } = published.body as { messageId: string };

  // A takeover reads the snapshot, and the journal after it.
  const snapshot = await fetch(`${first.adminUrl}/v1/snapshot`, { method: "POST", headers: admin });
  assert.equal(snapshot.status, 202);
  await first.untilPrinted(/"snapshot written","area":"vector"/);
  assert.deepEqual(await a.store("SET", "after", "snapshot"), { status: 200, body: { result: "OK" } });

  const second = await cluster.startNode("b");
  const b = new NodeClient(second);
  const text = "larder-not-executed: this node does not serve store now; send the request to the node that does";
  assert.deepEqual(await b.store("GET", "key-0"), { status: 421, body: { error: text } });
  assert.equal((await b.vector("/fetch", { ids: ["v"] })).status, 421);
  assert.equal((await b.messaging(`/v2/messages/${messageId}`, { method: "GET" })).status, 421);
  const ready = await fetch(`${second.adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  await checkFigures(first, second);

  await first.kill();
  await b.untilServing();
  for (let key = 0; key < KEYS; key += 1)
    assert.deepEqual(await b.store("GET", `key-${key}`), {
      status: 200,
      body: { result: String(key) },
    });
  assert.deepEqual(await b.store("GET", "after"), { status: 200, body: { result: "snapshot" } });
  const fetched = await b.vector("/fetch", { ids: ["v"], includeVectors: true });
  assert.deepEqual((fetched.body as { result: unknown }).result, [{ id: "v", vector: [1, 2, 3] }]);
  const message = await b.messaging(`/v2/messages/${messageId}`, { method: "GET" });
  assert.equal((message.body as { messageId?: string }).messageId, messageId, JSON.stringify(message));
  assert.equal((await b.store("SET", "after", "takeover")).status, 200);

  // A node that starts again waits, and takes over at once when the other one stops.
  const again = await cluster.startNode("a");
  const a2 = new NodeClient(again);
  assert.equal((await a2.store("GET", "after")).status, 421);
  const status = await cluster.larder(["cluster", "status"]);
  assert.equal(status.code, 0, status.stdout + status.stderr);
  assert.match(status.stdout, /^node a: alive, .*\nnode b: alive, .*\nshard 1 \(store\): owned by b, epoch \d+$/m);
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
  await a2.untilServing();
  assert.deepEqual(await a2.store("GET", "after"), { status: 200, body: { result: "takeover" } });
  assert.deepEqual(await again.stop(), { code: 0, signal: null });

  const left = await cluster.larder(["cluster", "status", "--json"]);
  assert.equal(left.code, 1);
  const { nodes } = JSON.parse(left.stdout) as { nodes: readonly { name: string; state: string }[] };
  assert.deepEqual(
    nodes.map(({ name, state }) => [name, state]),
    [
      ["a", "dead"],
      ["b", "dead"],
    ],
  );
  for (const { log, output } of [first, second, again]) assert.ok(!`${log}${output}`.includes(PASSWORD));
  for (const { stdout, stderr } of [made, status, left]) assert.ok(!`${stdout}${stderr}`.includes(PASSWORD));
});
