/** A database that was restored says of nodes that they live: `larder cluster new-branch` watches them for a lease. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, TestCluster } from "../program/cluster/cluster-program.ts";
import { oneThread } from "../program/program-process.ts";

test("a new branch begins although the database says of a node that it lives, and a node starts on it", {
  skip: missingProgram("postgres"),
}, async (context) => {
  const cluster = await TestCluster.start();
  context.after(() => cluster.stop());
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  const node = await cluster.startNode("a", oneThread);
  const client = new NodeClient(node);
  await client.untilServing();
  assert.equal((await client.store("SET", "k", "value")).status, 200);
  await node.stop();

  const sql = async (text: string): Promise<readonly unknown[]> => {
    const connection = new Client({ connectionString: cluster.url });
    await connection.connect();
    try {
      return (await connection.query(text)).rows;
    } finally {
      await connection.end();
    }
  };
  const branch = "SELECT branch FROM larder.cluster";
  const before = await sql(branch);
  await sql("UPDATE larder.node SET is_dead = false, beat = 7 WHERE name = 'a'");
  const made = await cluster.larder(["cluster", "new-branch"]);
  assert.deepEqual([made.code, made.stderr], [0, ""]);
  assert.notDeepEqual(await sql(branch), before);

  const again = await cluster.startNode("a", oneThread);
  const after = new NodeClient(again);
  await after.untilServing();
  assert.deepEqual(await after.store("GET", "k"), { status: 200, body: { result: "value" } });
  assert.deepEqual(await again.stop(), { code: 0, signal: null });
});
