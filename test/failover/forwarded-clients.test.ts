/** A client of a node that owns nothing, while the owner is killed: its commands wait for the takeover. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { missingProgram } from "../harness/required-programs.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";

const skip = missingProgram("postgres");

const ROUNDS = 3;
const ADDRESS = ["--cluster-address", "127.0.0.1:0", "--takeover-wait", "60s"];
const LOST = /the request may have been carried out/;

test("kill -9 of the owner costs the client of another node at most one unknown outcome", { skip }, async (context) => {
  const cluster = await TestCluster.start();
  context.after(() => cluster.stop());
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  let [owner, ownerName] = [await cluster.startNode("a", ADDRESS), "a"];
  await new NodeClient(owner).untilServing();
  // Increments that were answered, and those whose outcome nobody knows.
  let answered = 0;
  let unknown = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = ownerName === "a" ? "b" : "a";
    const other = await cluster.startNode(name, ADDRESS);
    const next = new NodeClient(other);
    const redis = new Redis({ url: other.storeUrl, token: secrets["LARDER_STORE_TOKEN"] ?? "", retry: false });
    const increment = async (): Promise<void> => {
      try {
        const count = await redis.incr("n");
        answered += 1;
        assert.ok(
          count >= answered && count <= answered + unknown,
          `${count}: ${answered} answered, ${unknown} unknown`,
        );
      } catch (fault) {
        assert.match(String(fault), LOST);
        unknown += 1;
      }
    };
    for (let before = 0; before < 200; before += 1) await increment();
    const killed = owner.kill();
    let isOver = false;
    const serving = next.untilServing().then(() => {
      isOver = true;
    });
    while (!isOver) await increment();
    await Promise.all([killed, serving]);
    for (let after = 0; after < 200; after += 1) await increment();
    assert.ok(unknown <= round + 1, `${unknown} unknown outcomes after ${round + 1} kills`);
    [owner, ownerName] = [other, name];
  }
});
