/**
 * Two nodes on one PostgreSQL: which of them serves a shard changes without a wait for a lease. What happens when a node
 * is gone, and its lease must run out first, is in `test/failover/`.
 */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { until } from "../../harness/pause.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread, type RunningProgram } from "../program-process.ts";
import { NodeClient, PASSWORD, secrets, TestCluster } from "./cluster-program.ts";
import { Contents } from "./contents.ts";

const skip = missingProgram("postgres");
const admin = { authorization: `Bearer ${secrets["LARDER_ADMIN_TOKEN"]}` };
/** What a node counts as its lease after a renewal. */
const LEASE_SECONDS = 5.4;

let cluster: TestCluster;
let contents: Contents;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(() => cluster?.stop());

/** The metrics and statistics of the owner and of a node that waits. */
async function checkFigures(owner: RunningProgram, waiting: RunningProgram): Promise<void> {
  const printed = async ({ adminUrl }: RunningProgram): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
  const statsOf = async ({ adminUrl }: RunningProgram): Promise<{ areas: { store: { shard: object } } }> =>
    (await (await fetch(`${adminUrl}/v1/stats`, { headers: admin })).json()) as { areas: { store: { shard: object } } };
  let text = "";
  // Epochs and tries are those of its last look at PostgreSQL, which may have been before the claim or the recovery.
  const seen = [
    /^larder_cluster_shard_epoch\{area="vector",shard="3"\} 1$/m,
    /^larder_cluster_shard_tries\{area="vector",shard="3"\} 0$/m,
  ];
  await until(async () => {
    text = await printed(owner);
    return seen.every((line) => line.test(text));
  });
  for (const line of [
    /^larder_cluster_shard_state\{area="store",shard="1",state="serving"\} 1$/m,
    /^larder_cluster_shard_state\{area="store",shard="1",state="standby"\} 0$/m,
    /^larder_cluster_shard_takeovers_total\{area="messaging",shard="2"\} 1$/m,
    /^larder_cluster_shard_heals_total\{area="store",shard="1"\} 0$/m,
    /^larder_cluster_shard_unshipped_bytes\{area="store",shard="1"\} \d+$/m,
    /^larder_cluster_shard_unshipped_seconds\{area="store",shard="1"\} [\d.]+$/m,
    /^larder_cluster_clock_skew_seconds\{area="main"\} -?[\d.]+$/m,
    /^larder_cluster_living_nodes\{area="main"\} [12]$/m,
  ])
    assert.match(text, line);
  // How much of it is left depends on how busy the machine is.
  const [, lease = ""] = /^larder_cluster_lease_seconds\{area="main"\} ([\d.]+)$/m.exec(text) ?? [];
  assert.ok(lease !== "" && Number(lease) <= LEASE_SECONDS, lease);
  const commits = /^larder_cluster_shard_commit_seconds_count\{area="store",shard="1"\} (\d+)$/m.exec(text);
  // One after the other, so none shares a commit.
  assert.ok(Number(commits?.[1]) >= Contents.keys, `${commits?.[0]}`);
  const serving = {
    shard: 1,
    condition: "serving",
    suspendedFor: null,
    objectTrouble: null,
    epoch: 1,
    owner: "a",
    tries: 0,
    takeovers: 1,
  };
  assert.deepEqual((await statsOf(owner)).areas.store.shard, { ...serving, missing: null, format: 2 });
  assert.match(await printed(waiting), /^larder_cluster_shard_state\{area="store",shard="1",state="standby"\} 1$/m);
}

test("a node that stops leaves its shards to the other, which has all that was acknowledged", { skip }, async () => {
  const made = await cluster.larder(["cluster", "init"]);
  assert.deepEqual([made.code, made.stderr], [0, ""]);
  assert.match(made.stdout, /^shard 1: store\nshard 2: messaging\nshard 3: vector$/m);
  assert.match((await cluster.here(["cluster", "init"])).stdout, /exists .* nothing was changed/);

  const first = await cluster.startNode("a");
  const a = new NodeClient(first);
  await a.untilServing();
  contents = await Contents.write(a);
  // The other node reads the snapshot, and the journal after it.
  const snapshot = await fetch(`${first.adminUrl}/v1/snapshot`, { method: "POST", headers: admin });
  assert.equal(snapshot.status, 202);
  await first.untilPrinted(/"snapshot written","area":"vector"/);
  assert.deepEqual(await a.store("SET", "after", "snapshot"), { status: 200, body: { result: "OK" } });

  const second = await cluster.startNode("b", oneThread);
  const b = new NodeClient(second);
  const text = "larder-not-executed: this node does not serve store now; send the request to the node that does";
  assert.deepEqual(await b.store("GET", "key-0"), { status: 421, body: { error: text } });
  assert.equal((await b.vector("/fetch", { ids: ["v"] })).status, 421);
  assert.equal((await b.messaging(`/v2/messages/${contents.messageId}`, { method: "GET" })).status, 421);
  assert.equal((await fetch(`${second.adminUrl}/health/ready`)).status, 503);
  await checkFigures(first, second);

  assert.deepEqual(await first.stop(), { code: 0, signal: null });
  await b.untilServing();
  await contents.check(b);
  assert.deepEqual(await b.store("GET", "after"), { status: 200, body: { result: "snapshot" } });
  assert.equal((await b.store("SET", "after", "handover")).status, 200);
  const status = await cluster.larder(["cluster", "status"]);
  assert.equal(status.code, 0, status.stdout + status.stderr);
  assert.match(status.stdout, /^node a: dead.*\nnode b: alive, .*\nshard 1 \(store\): owned by b, epoch \d+$/m);
  await second.kill();
  for (const { log, output } of [first, second]) assert.ok(!`${log}${output}`.includes(PASSWORD));
  for (const { stdout, stderr } of [made, status]) assert.ok(!`${stdout}${stderr}`.includes(PASSWORD));
});

test("a node that was killed and starts again on its directory has all that was acknowledged", { skip }, async () => {
  const node = await cluster.startNode("b", oneThread);
  const b = new NodeClient(node);
  await b.untilServing();
  await contents.check(b);
  assert.deepEqual(await b.store("GET", "after"), { status: 200, body: { result: "handover" } });
  assert.deepEqual(await node.stop(), { code: 0, signal: null });

  const left = await cluster.here(["cluster", "status", "--json"]);
  assert.equal(left.code, 1);
  const { nodes } = JSON.parse(left.stdout) as { nodes: readonly { name: string; state: string }[] };
  assert.deepEqual(
    nodes.map(({ name, state }) => [name, state]),
    [
      ["a", "dead"],
      ["b", "dead"],
    ],
  );
  for (const text of [node.log, node.output, left.stdout, left.stderr]) assert.ok(!text.includes(PASSWORD));
});

test("a node that cannot open a port of its shard releases it and ends with the reason", { skip }, async (context) => {
  const taken = createServer();
  context.after(() => taken.close());
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const node = await cluster.startNode("b", [...oneThread, "--resp-port", String(port)]);
  assert.deepEqual(await node.ended, { code: 1, signal: null });
  assert.match(
    node.log,
    new RegExp(`"an area could not be opened; the node ends","area":"store","reason":"Port ${port} on`),
  );
  const { stdout } = await cluster.here(["cluster", "status"]);
  assert.match(stdout, /^shard 1 \(store\): free, last by b, epoch \d+, 1 claims without a recovery$/m);
});

test("a paused node that was declared dead ends with code 3 when it wakes, and answers no read (--reads confirm)", {
  skip,
}, async () => {
  const args = ["--reads", "confirm", ...oneThread];
  const first = await cluster.startNode("paused", args);
  const a = new NodeClient(first);
  await a.untilServing();
  assert.equal((await a.store("SET", "value", "before")).status, 200);
  assert.deepEqual(await a.store("GET", "value"), { status: 200, body: { result: "before" } });
  const second = await cluster.startNode("other", args);
  const b = new NodeClient(second);

  process.kill(first.pid, "SIGSTOP");
  // A node with confirmed reads trusts no clock, so it may be declared dead at any time.
  await declareDead("paused");
  await b.untilServing();
  assert.deepEqual(await b.store("GET", "value"), { status: 200, body: { result: "before" } });
  assert.equal((await b.store("SET", "value", "after")).status, 200);
  const answers = Promise.allSettled([a.store("GET", "value"), a.store("SET", "value", "late")]);
  process.kill(first.pid, "SIGCONT");
  assert.deepEqual(await first.ended, { code: 3, signal: null });
  assert.match(first.log, /"node lost"/);
  for (const answer of await answers)
    assert.notEqual(answer.status === "fulfilled" ? answer.value.status : 0, 200, JSON.stringify(answer));
  assert.deepEqual(await b.store("GET", "value"), { status: 200, body: { result: "after" } });
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
});

/** As another node does when the beat of a node has stood still for a lease. */
async function declareDead(name: string): Promise<void> {
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  try {
    const { rowCount } = await client.query("UPDATE larder.node SET is_dead = true WHERE name = $1", [name]);
    assert.equal(rowCount, 1);
  } finally {
    await client.end();
  }
}
