/** The clients `redis` and `ioredis`, without Redis. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import { freshLarder } from "larderd/node-test";
import { createClient } from "redis";

test("redis: a transaction with WATCH is refused after a change of another client", async (context) => {
  const { redisUrl } = await freshLarder(context);
  const [first, second] = await Promise.all([0, 1].map(() => createClient({ url: redisUrl }).connect()));
  await first.watch("stock");
  await second.set("stock", "0");

  await assert.rejects(first.multi().decr("stock").exec(), /watched keys has been changed/);
  assert.equal(await second.get("stock"), "0");
  first.destroy();
  second.destroy();
});

test("ioredis: a stream hands each entry to one consumer of a group", async (context) => {
  const { redisUrl } = await freshLarder(context);
  const redis = new Redis(redisUrl);
  await redis.xgroup("CREATE", "orders", "billing", "$", "MKSTREAM");
  await redis.xadd("orders", "1-1", "id", "7");

  const read = (consumer) => redis.xreadgroup("GROUP", "billing", consumer, "COUNT", "1", "STREAMS", "orders", ">");
  assert.deepEqual(await read("a"), [["orders", [["1-1", ["id", "7"]]]]]);
  assert.equal(await read("b"), null);
  redis.disconnect();
});
