/**
 * `@upstash/ratelimit`, which consists of scripts. The clock of client and servers stops at the start of a window
 * and a test advances it.
 */
import assert from "node:assert/strict";
import { after, beforeEach, mock, test } from "node:test";
import { MultiRegionRatelimit, Ratelimit } from "@upstash/ratelimit";
import type { Redis } from "@upstash/redis";
import { Served, startHere } from "./client.ts";

const HOUR_MS = 3_600_000;
/** The start of the current window of one hour, so that the times that the client calculates from it are not over. */
const START_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

const served = new Served(startHere);
const other = new Served(startHere);

beforeEach(async () => {
  await served.client().flushall();
  await other.client().flushall();
  mock.timers.reset();
  mock.timers.enable({ apis: ["Date"], now: START_MS });
});

after(() => mock.timers.reset());

interface Outcome {
  readonly success: boolean;
  readonly remaining: number;
}

function shown({ success, remaining }: Outcome): Outcome {
  return { success, remaining };
}

function limiterOf(limiter: ReturnType<typeof Ratelimit.fixedWindow>, redis: Redis = served.client()): Ratelimit {
  return new Ratelimit({ redis, limiter, analytics: false, ephemeralCache: false, timeout: 0 });
}

type Region = ConstructorParameters<typeof MultiRegionRatelimit>[0]["redis"][number];

/** The limiter's types use the client's types for CommonJS, which differ from ours only by their file. */
function regionOf(server: Served): Region {
  return server.client() as unknown as Region;
}

test("a fixed window allows its limit and resets with the next window", async () => {
  const ratelimit = limiterOf(Ratelimit.fixedWindow(2, "1 h"));

  assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining: 1 });
  const { limit, reset } = await ratelimit.limit("user");
  assert.deepEqual({ limit, reset }, { limit: 2, reset: START_MS + HOUR_MS });
  assert.deepEqual(shown(await ratelimit.limit("user")), { success: false, remaining: 0 });
  assert.deepEqual(shown(await ratelimit.limit("somebody else")), { success: true, remaining: 1 });
  assert.deepEqual(await ratelimit.getRemaining("user"), { remaining: 0, reset: START_MS + HOUR_MS, limit: 2 });
  mock.timers.tick(HOUR_MS);
  assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining: 1 });
});

test("a request may count for more than one", async () => {
  const ratelimit = limiterOf(Ratelimit.fixedWindow(10, "1 h"));

  assert.deepEqual(shown(await ratelimit.limit("user", { rate: 4 })), { success: true, remaining: 6 });
  assert.deepEqual(shown(await ratelimit.limit("user", { rate: 6 })), { success: true, remaining: 0 });
  assert.deepEqual(shown(await ratelimit.limit("user")), { success: false, remaining: 0 });
});

test("a sliding window counts a share of the previous window", async () => {
  const ratelimit = limiterOf(Ratelimit.slidingWindow(4, "1 h"));

  for (const remaining of [3, 2, 1, 0])
    assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining });
  assert.equal((await ratelimit.limit("user")).success, false);
  mock.timers.tick(HOUR_MS + HOUR_MS / 2);
  assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining: 1 }, "half of four still count");
  assert.equal((await ratelimit.getRemaining("user")).remaining, 1);
  assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining: 0 });
  assert.equal((await ratelimit.limit("user")).success, false);
});

test("a token bucket is refilled gradually", async () => {
  const ratelimit = limiterOf(Ratelimit.tokenBucket(2, "1 h", 4));

  for (const remaining of [3, 2, 1, 0])
    assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining });
  assert.equal((await ratelimit.limit("user")).success, false);
  mock.timers.tick(HOUR_MS);
  assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining: 1 });
  assert.equal((await ratelimit.getRemaining("user")).remaining, 1);
});

test("a cached fixed window answers from memory and counts in the store", async () => {
  const cache = new Map<string, number>();
  const make = (): Ratelimit =>
    new Ratelimit({
      redis: served.client(),
      limiter: Ratelimit.cachedFixedWindow(3, "1 h"),
      analytics: false,
      ephemeralCache: cache,
      timeout: 0,
    });
  const ratelimit = make();

  assert.deepEqual(shown(await ratelimit.limit("user")), { success: true, remaining: 2 });
  const second = await ratelimit.limit("user");
  await second.pending;
  assert.deepEqual(shown(second), { success: true, remaining: 1 });
  const third = await ratelimit.limit("user");
  await third.pending;
  assert.deepEqual(shown(third), { success: true, remaining: 0 });
  assert.equal((await ratelimit.limit("user")).success, false);
  assert.equal((await ratelimit.getRemaining("user")).remaining, 0);
});

test("used tokens are returned on request, by every kind of limiter", async () => {
  for (const [name, limiter] of [
    ["fixed window", Ratelimit.fixedWindow(2, "1 h")],
    ["sliding window", Ratelimit.slidingWindow(2, "1 h")],
    ["token bucket", Ratelimit.tokenBucket(2, "1 h", 2)],
  ] as const) {
    const ratelimit = limiterOf(limiter);
    await ratelimit.limit(name);
    await ratelimit.limit(name);
    assert.equal((await ratelimit.limit(name)).success, false, name);
    await ratelimit.resetUsedTokens(name);
    assert.deepEqual(shown(await ratelimit.limit(name)), { success: true, remaining: 1 }, name);
  }
});

test("concurrent requests are allowed exactly up to the limit", async () => {
  const ratelimit = limiterOf(Ratelimit.slidingWindow(10, "1 h"));

  const outcomes = await Promise.all(Array.from({ length: 30 }, () => ratelimit.limit("user")));

  assert.equal(outcomes.filter(({ success }) => success).length, 10);
});

for (const [name, limiter] of [
  ["fixed window", MultiRegionRatelimit.fixedWindow(3, "1 h")],
  ["sliding window", MultiRegionRatelimit.slidingWindow(3, "1 h")],
] as const) {
  test(`a ${name} over two databases counts the requests of each`, async () => {
    const ratelimit = new MultiRegionRatelimit({
      redis: [regionOf(served), regionOf(other)],
      limiter,
      analytics: false,
      ephemeralCache: false,
      timeout: 0,
    });
    const successes: boolean[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { success, pending } = await ratelimit.limit("user");
      await pending;
      successes.push(success);
    }
    assert.deepEqual(successes, [true, true, true, false, false]);
    assert.equal((await ratelimit.getRemaining("user")).remaining, 0);
    await ratelimit.resetUsedTokens("user");
    // The limiter does not wait for its databases here.
    for (const redis of [served.client(), other.client()]) while ((await redis.dbsize()) > 0);
    const { success, pending } = await ratelimit.limit("user");
    await pending;
    assert.equal(success, true);
    for (const redis of [served.client(), other.client()]) assert.equal(await redis.dbsize(), 1);
  });
}
