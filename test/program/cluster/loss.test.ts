/** `larder cluster status` says whether the other nodes have the memory for the shards of a node. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../../harness/pause.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { oneThread } from "../program-process.ts";
import { NodeClient, TestCluster } from "./cluster-program.ts";
import { sql } from "./shard-clients.ts";

const skip = missingProgram("postgres");

let cluster: TestCluster;

before(async () => {
  if (skip === false) cluster = await TestCluster.start();
});

after(async () => {
  if (skip === false) await cluster.stop();
});

interface Report {
  readonly name: string;
  readonly shards: Readonly<Record<string, number>> | null;
  readonly pools: number | null;
}

const reports = (): Promise<readonly Report[]> =>
  sql(
    cluster,
    `SELECT name, memory -> 'shards' AS shards, json_array_length(memory -> 'pools') AS pools
     FROM larder.node ORDER BY name`,
  );

interface Status {
  readonly losses: readonly { readonly node: string; readonly fits: boolean | null; readonly reason: string | null }[];
}

test("nodes report their memory, and the status says what the loss of one means", { skip }, async () => {
  assert.equal((await cluster.here(["cluster", "init"])).code, 0);
  const a = await cluster.startNode("a");
  const client = new NodeClient(a);
  await client.untilServing();
  const status = async (): Promise<Status> =>
    JSON.parse((await cluster.here(["cluster", "status", "--json"])).stdout) as Status;
  assert.equal((await client.store("SET", "key", "x".repeat(1_000_000))).status, 200);
  const alone = await status();
  assert.deepEqual(
    alone.losses.map(({ node, fits }) => [node, fits === true]),
    [["a", false]],
  );

  await cluster.startNode("b", oneThread);
  // Each reports again and again.
  let seen: readonly Report[] = [];
  await until(async () => {
    seen = await reports();
    return seen.length >= 2 && seen.every(({ pools }) => pools !== null) && (seen[0]?.shards?.["1"] ?? 0) >= 1_000_000;
  });
  assert.deepEqual(Object.keys(seen[0]?.shards ?? {}), ["1", "2", "3"]);
  assert.deepEqual(
    seen.map(({ name, pools }) => [name, pools]),
    [
      ["a", 3],
      ["b", 1],
    ],
  );
  assert.deepEqual((await status()).losses, [{ node: "a", fits: true, reason: null }]);
  const { stdout } = await cluster.here(["cluster", "status"]);
  assert.match(stdout, /^loss of node a: fits$/m);
});
