/** A window of an hour, tested in milliseconds: time moves only by `clock.advance`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { freshLarder } from "larderd/node-test";
import { createRateLimiter } from "./rate-limiter.mjs";

async function setUp(context) {
  const { clock, store } = await freshLarder(context, { clock: "frozen" });
  const redis = new Redis({ url: store.url, token: store.token });
  return { clock, isAllowed: createRateLimiter(redis, { calls: 2, windowSeconds: 3_600 }) };
}

test("the third call in an hour is refused, for this caller only", async (context) => {
  const { isAllowed } = await setUp(context);
  assert.deepEqual([await isAllowed("ann"), await isAllowed("ann"), await isAllowed("ann")], [true, true, false]);
  assert.equal(await isAllowed("bob"), true);
});

test("an hour after the first call the caller may call again, and not before", async (context) => {
  const { clock, isAllowed } = await setUp(context);
  for (let call = 0; call < 3; call += 1) await isAllowed("ann");
  await clock.advance(3_600_000);
  assert.equal(await isAllowed("ann"), false);
  await clock.advance(1);
  assert.equal(await isAllowed("ann"), true);
});
