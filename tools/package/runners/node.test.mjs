/** The package in node:test. Copied into an empty folder and run there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { freshLarder } from "larderd/node-test";

test("a session ends after an hour", async (context) => {
  const larder = await freshLarder(context, { clock: "frozen" });
  const redis = new Redis({ url: larder.store.url, token: larder.store.token });
  await redis.set("session", "x", { ex: 3_600 });
  await larder.clock.advance(3_600_000);
  assert.equal(await redis.get("session"), "x");
  await larder.clock.advance(1);
  assert.equal(await redis.get("session"), null);
});

test("the database is empty", async (context) => {
  const { env } = await freshLarder(context);
  const redis = new Redis({ url: env.UPSTASH_REDIS_REST_URL, token: env.UPSTASH_REDIS_REST_TOKEN });
  assert.equal(await redis.dbsize(), 0);
});
