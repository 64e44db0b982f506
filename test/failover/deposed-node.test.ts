/** A node that was paused while another one took its shards ends when it wakes, and answers nothing from its memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeClient } from "../program/cluster/cluster-program.ts";
import { FileCluster } from "../program/cluster/file-cluster.ts";
import { oneThread } from "../program/program-process.ts";

const cluster = new FileCluster();
const { skip } = cluster;

for (const [reads, args] of [
  ["lease", []],
  ["confirm", oneThread],
] as const)
  test(`a paused node that lost its shards ends with code 3 and answers no read (--reads ${reads})`, {
    skip,
  }, async () => {
    const [paused, other] = [`paused-${reads}`, `other-${reads}`];
    const first = await cluster.startNode(paused, ["--reads", reads, ...args]);
    const a = new NodeClient(first);
    const key = `value-${reads}`;
    await a.untilServing();
    assert.equal((await a.store("SET", key, "before")).status, 200);
    assert.deepEqual(await a.store("GET", key), { status: 200, body: { result: "before" } });
    const second = await cluster.startNode(other, ["--reads", reads, ...args]);
    const b = new NodeClient(second);

    process.kill(first.pid, "SIGSTOP");
    await b.untilServing();
    assert.deepEqual(await b.store("GET", key), { status: 200, body: { result: "before" } });
    assert.equal((await b.store("SET", key, "after")).status, 200);
    const answers = Promise.allSettled([a.store("GET", key), a.store("SET", key, "late")]);
    process.kill(first.pid, "SIGCONT");
    assert.deepEqual(await first.ended, { code: 3, signal: null });
    assert.match(first.log, /"node lost"/);
    for (const answer of await answers)
      assert.notEqual(answer.status === "fulfilled" ? answer.value.status : 0, 200, JSON.stringify(answer));
    assert.deepEqual(await b.store("GET", key), { status: 200, body: { result: "after" } });
    assert.deepEqual(await second.stop(), { code: 0, signal: null });
  });
