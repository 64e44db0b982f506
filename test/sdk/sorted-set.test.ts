/** Every sorted-set method of `@upstash/redis` against the real program, and the commands it has no method for. */
import assert from "node:assert/strict";
import type { Redis } from "@upstash/redis";
import { testMethods } from "./client.ts";

async function fill(redis: Redis): Promise<void> {
  await redis.zadd("z", { score: 1, member: "a" }, { score: 2, member: "b" }, { score: 3.5, member: "c" });
}

testMethods("Sorted set", [
  [
    ["zadd"],
    "counts new members and knows its options",
    async (redis) => {
      assert.equal(await redis.zadd("z", { score: 1, member: "a" }, { score: 2, member: "b" }), 2);
      assert.equal(await redis.zadd("z", { nx: true }, { score: 9, member: "a" }, { score: 3, member: "c" }), 1);
      assert.equal(await redis.zadd("z", { xx: true, ch: true }, { score: 5, member: "a" }), 1);
      assert.equal(await redis.zadd("z", { gt: true, ch: true }, { score: 4, member: "a" }), 0);
      assert.equal(await redis.zadd("z", { lt: true, ch: true }, { score: 4, member: "a" }), 1);
      assert.equal(await redis.zadd("z", { incr: true }, { score: 0.5, member: "a" }), 4.5);
      assert.equal(await redis.zadd("z", { nx: true, incr: true }, { score: 1, member: "a" }), null);
    },
  ],
  [
    ["zcard", "zcount", "zlexcount"],
    "count members",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.zcard("z"), 3);
      assert.equal(await redis.zcount("z", "(1", "+inf"), 2);
      await redis.zadd("l", { score: 0, member: "a" }, { score: 0, member: "b" });
      assert.equal(await redis.zlexcount("l", "[b", "+"), 1);
    },
  ],
  [
    ["zscore", "zmscore", "zrank", "zrevrank"],
    "tell where a member is",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.zscore("z", "c"), 3.5);
      assert.equal(await redis.zscore("z", "none"), null);
      assert.deepEqual(await redis.zmscore("z", ["a", "none"]), [1, null]);
      assert.equal(await redis.zrank("z", "c"), 2);
      assert.equal(await redis.zrevrank("z", "c"), 0);
      assert.equal(await redis.zrank("z", "none"), null);
    },
  ],
  [
    ["zincrby"],
    "adds to a score",
    async (redis) => {
      assert.equal(await redis.zincrby("z", 2, "a"), 2);
      assert.equal(await redis.zincrby("z", 0.5, "a"), 2.5);
    },
  ],
  [
    ["zrange"],
    "answers ranks, scores and bytes, limited if asked",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.zrange("z", 0, -1), ["a", "b", "c"]);
      assert.deepEqual(await redis.zrange("z", 0, 1, { rev: true, withScores: true }), ["c", 3.5, "b", 2]);
      assert.deepEqual(await redis.zrange("z", "(1", "+inf", { byScore: true }), ["b", "c"]);
      assert.deepEqual(await redis.zrange("z", "-", "[b", { byLex: true }), ["a", "b"]);
      assert.deepEqual(await redis.zrange("z", "-inf", "+inf", { byScore: true, offset: 1, count: 1 }), ["b"]);
      assert.deepEqual(await redis.zrange("z", 0, -1, { offset: 1, count: 1 }), ["b"]);
    },
  ],
  [
    ["zpopmin", "zpopmax"],
    "take members from the ends",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.zpopmin("z"), ["a", 1]);
      assert.deepEqual(await redis.zpopmax("z", 5), ["c", 3.5, "b", 2]);
      assert.equal(await redis.exists("z"), 0);
    },
  ],
  [
    ["zrem", "zremrangebyscore", "zremrangebyrank", "zremrangebylex"],
    "remove members",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.zrem("z", "a", "none"), 1);
      assert.equal(await redis.zremrangebyscore("z", 2, 2), 1);
      assert.equal(await redis.zremrangebyrank("z", 0, 0), 1);
      await redis.zadd("l", { score: 0, member: "a" }, { score: 0, member: "b" });
      assert.equal(await redis.zremrangebylex("l", "[b", "+"), 1);
    },
  ],
  [
    ["zunion", "zunionstore", "zinterstore", "zdiffstore"],
    "put sorted sets together",
    async (redis) => {
      await fill(redis);
      await redis.zadd("y", { score: 10, member: "b" });
      assert.deepEqual(await redis.zunion(2, ["z", "y"], { withScores: true }), ["a", 1, "c", 3.5, "b", 12]);
      assert.equal(await redis.zunionstore("to", 2, ["z", "y"], { weights: [1, 2] }), 3);
      assert.equal(await redis.zscore("to", "b"), 22);
      assert.equal(await redis.zinterstore("to", 2, ["z", "y"], { aggregate: "max" }), 1);
      assert.equal(await redis.zscore("to", "b"), 10);
      assert.equal(await redis.zdiffstore("to", 2, "z", "y"), 2);
      assert.deepEqual(await redis.zrange("to", 0, -1), ["a", "c"]);
    },
  ],
  [
    ["zscan"],
    "walks through members and scores",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.zscan("z", 0), ["0", ["a", 1, "b", 2, "c", 3.5]]);
      assert.deepEqual(await redis.zscan("z", 0, { match: "[bc]", count: 100 }), ["0", ["b", 2, "c", 3.5]]);
    },
  ],
  [
    ["exec"],
    "runs the commands without a method of their own",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.exec(["ZMPOP", 2, "none", "z", "MIN"]), ["z", [["a", 1]]]);
      assert.deepEqual(await redis.exec(["ZREVRANGE", "z", 0, -1]), ["c", "b"]);
      assert.equal(await redis.exec(["ZRANGESTORE", "to", "z", 0, 0]), 1);
      assert.equal(await redis.exec(["ZINTERCARD", 2, "z", "to"]), 1);
    },
  ],
]);
