/** A node whose journals have the next format, beside one of this version. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { FORMAT } from "../../src/persistence/journal/file-format.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { Contents } from "../program/cluster/contents.ts";
import { anyPorts, checkoutProgram, oneThread, programFile, type RunningProgram } from "../program/program-process.ts";

const skip = missingProgram("postgres");
const NEWER = { NODE_OPTIONS: `--require ${fileURLToPath(new URL("newer-format.cjs", import.meta.url))}` };
const NEXT = FORMAT + 1;

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(() => cluster?.stop());

/** A node of the next version. It runs the sources, which the change of the format is made in. */
async function startNewer(name: string): Promise<RunningProgram> {
  cluster.program = checkoutProgram;
  try {
    return await cluster.startNode(name, [], NEWER);
  } finally {
    cluster.program = programFile;
  }
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

const shardRows = (): Promise<readonly { epoch: number; format: number; owner: string }[]> =>
  sql("SELECT epoch::int, writer_format AS format, owner_name AS owner FROM larder.shard ORDER BY id");

test("a node never claims what a node of a newer format wrote, says so, and a newer node takes it over", {
  skip,
}, async () => {
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  const older = await cluster.startNode("older");
  const client = new NodeClient(older);
  await client.untilServing();
  const contents = await Contents.write(client);
  assert.equal((await shardRows())[0]?.format, FORMAT);

  // The newer one reads what the older one has written.
  const newer = await startNewer("newer");
  assert.deepEqual(await older.stop(), { code: 0, signal: null });
  const second = new NodeClient(newer);
  await second.untilServing();
  await contents.check(second);
  assert.deepEqual(await second.store("SET", "format", "newer"), { status: 200, body: { result: "OK" } });
  const owned = { epoch: 2, format: NEXT, owner: "newer" };
  assert.deepEqual(await shardRows(), [owned, owned, owned]);

  const waiting = await cluster.startNode("older");
  await newer.killGroup();
  // As the other node does when the lease has run out.
  await sql("UPDATE larder.node SET is_dead = true WHERE name = 'newer'");
  await waiting.untilPrinted(
    /"free shards have a newer format than this node reads: .*"shards":"1, 2, 3","readFormat":2/,
  );
  const ready = await fetch(`${waiting.adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  const { reasons } = (await ready.json()) as { reasons: readonly string[] };
  const reason = `store has no owner, and was written in format ${NEXT}, which this version does not read: start a node of the newer version`;
  assert.ok(reasons.includes(reason), reasons.join("\n"));
  assert.equal((await new NodeClient(waiting).store("GET", "format")).status, 421);
  const left = await cluster.larder(["cluster", "status"]);
  assert.equal(left.code, 1);
  assert.match(
    left.stdout,
    new RegExp(
      `^shard 1 \\(store\\): unreadable, last by newer, epoch 2, format ${NEXT}; no living node reads that format: start a node of the newer version$`,
      "m",
    ),
  );
  // Nor does an administrator make it.
  const pinned = await cluster.larder(["cluster", "pin", "1", "older"]);
  const pinText = `node older reads format ${FORMAT}, and the shard was written in format ${NEXT}, so it gets the shard when it is upgraded`;
  assert.ok(pinned.stdout.includes(`\n${pinText}\n`), pinned.stdout);
  const metrics = await (await fetch(`${waiting.adminUrl}/metrics`)).text();
  assert.match(metrics, /^larder_cluster_shard_state\{area="store",shard="1",state="unreadable"\} 1$/m);
  assert.deepEqual(await shardRows(), [owned, owned, owned]);

  const third = await startNewer("third");
  const last = new NodeClient(third);
  await last.untilServing();
  await contents.check(last);
  assert.deepEqual(await last.store("GET", "format"), { status: 200, body: { result: "newer" } });
  const taken = { ...owned, epoch: 3, owner: "third" };
  assert.deepEqual(await shardRows(), [taken, taken, taken]);
  assert.doesNotMatch(waiting.log, /"shard claimed"|"area is served"/);

  // Going back is not possible on the directory of a newer node either.
  assert.deepEqual(await third.stop(), { code: 0, signal: null });
  const words = ["--data-dir", cluster.dataDirectory("third"), "--cluster-node", "third", ...oneThread];
  const back = await cluster.larder(["serve", ...words], { ...secrets, ...anyPorts });
  assert.equal(back.code, 1);
  assert.match(back.stderr, new RegExp(`format ${NEXT}`));
});
