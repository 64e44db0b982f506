/** Two nodes that forward requests: a client of either of them is served, also while the other one stops. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { Redis as TcpRedis } from "ioredis";
import { freePort } from "../../harness/free-port.ts";
import { during } from "../../harness/pause.ts";
import { oneThread, type RunningProgram } from "../program-process.ts";
import { NodeClient, secrets } from "./cluster-program.ts";
import { FileCluster } from "./file-cluster.ts";

const cluster = new FileCluster();

const ADDRESS = ["--cluster-address", "127.0.0.1:0"];
const NAMED = ["--owner-header", "on"];

function redisOf({ storeUrl: url }: RunningProgram): Redis {
  return new Redis({ url, token: secrets["LARDER_STORE_TOKEN"] ?? "", retry: false, enableTelemetry: false });
}

test("a node that owns nothing serves all areas, and its clients notice no planned takeover", {
  skip: cluster.skip,
}, async (context) => {
  const owner = await cluster.startNode("a", [...ADDRESS, ...NAMED]);
  await new NodeClient(owner).untilServing();
  // Only this node has a RESP port.
  const respPort = await freePort();
  const other = await cluster.startNode("b", [...ADDRESS, ...oneThread, "--resp-port", String(respPort)]);
  const b = new NodeClient(other);
  const redis = redisOf(other);
  const tcp = new TcpRedis(respPort, { password: secrets["LARDER_STORE_TOKEN"] ?? "" });
  context.after(() => tcp.disconnect());

  assert.equal(await redis.set("k", "välue"), "OK");
  assert.deepEqual(await redis.pipeline().get("k").incr("n").exec(), ["välue", 1]);
  await assert.rejects(redis.lpush("k", "x"), /WRONGTYPE/);
  assert.equal(await tcp.get("k"), "välue");
  assert.deepEqual(await tcp.multi().set("tcp", "1").incr("tcp").exec(), [
    [null, "OK"],
    [null, 2],
  ]);
  const ended = once(tcp, "close");
  assert.equal((await b.vector("/upsert", { id: "v", vector: [1, 2, 3] })).status, 200);
  const published = await b.messaging("/v2/publish/https://example.com/hook", { headers: { "upstash-delay": "1h" } });
  assert.equal(published.status, 200, JSON.stringify(published.body));
  const answer = await fetch(`${other.storeUrl}/get/k`, {
    headers: { authorization: `Bearer ${secrets["LARDER_STORE_TOKEN"]}` },
  });
  const name = answer.headers.get("larder-owner") ?? "";
  assert.match(name, /^[0-9a-f]{16}$/);
  assert.equal((await fetch(`${other.storeUrl}/get/k`)).status, 401);
  assert.equal((await fetch(`${other.adminUrl}/health/ready`)).status, 200);
  const status = await cluster.larder(["status"]);
  assert.match(status.stdout, new RegExp(`^node a: alive, [^\n]*, owner name ${name}$`, "m"));
  assert.match(
    status.stdout,
    /^node b: alive, http:\/\/127\.0\.0\.1:\d+, cluster address 127\.0\.0\.1:\d+,\d+,\d+, owner name [0-9a-f]{16}$/m,
  );

  // Each increment is sent once, whatever happens to the owner meanwhile.
  const stopped = owner.stop();
  let count = 1;
  await during(b.untilServing(), async () => {
    count += 1;
    assert.equal(await redis.incr("n"), count);
  });
  assert.deepEqual(await stopped, { code: 0, signal: null });
  const unnamed = await fetch(`${other.storeUrl}/get/k`, {
    headers: { authorization: `Bearer ${secrets["LARDER_STORE_TOKEN"]}` },
  });
  assert.deepEqual([unnamed.status, unnamed.headers.get("larder-owner")], [200, null]);
  assert.equal(await redis.get("k"), "välue");
  await ended;
  assert.equal(await tcp.incr("tcp"), 3);
  tcp.disconnect();
  assert.deepEqual((await b.vector("/fetch", { ids: ["v"], includeVectors: true })).status, 200);

  // The former owner starts again, and is a way to the new one.
  const again = await cluster.startNode("a", [...ADDRESS, ...oneThread]);
  assert.equal(await redisOf(again).get("k"), "välue");
  assert.deepEqual(await again.stop(), { code: 0, signal: null });
  assert.deepEqual(await other.stop(), { code: 0, signal: null });
});
