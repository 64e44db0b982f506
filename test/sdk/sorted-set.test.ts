/** Every sorted-set method of `@upstash/redis`, and the commands without a method. */
import assert from "node:assert/strict";
import type { Redis } from "@upstash/redis";
import { testMethods } from "./client.ts";

async function fill(redis: Redis): Promise<void> {
  await redis.zadd("z", { score: 1, member: "a" }, { score: 2, member: "b" }, { score: 3.5, member: "c" });
}

testMethods("Sorted set", [
  [
    ["zadd"],
    "counts new members and supports its options",
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
    "return the rank and score of a member",
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
    "returns ranges by rank, score and bytes, with an optional limit",
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
    "remove members from the ends",
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
    "combine sorted sets",
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
    "iterates over members and scores",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.zscan("z", 0), ["0", ["a", 1, "b", 2, "c", 3.5]]);
      assert.deepEqual(await redis.zscan("z", 0, { match: "[bc]", count: 100 }), ["0", ["b", 2, "c", 3.5]]);
    },
  ],
  [
    ["exec"],
    "runs the commands without a method",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.exec(["ZMPOP", 2, "none", "z", "MIN"]), ["z", [["a", 1]]]);
      assert.deepEqual(await redis.exec(["ZREVRANGE", "z", 0, -1]), ["c", "b"]);
      assert.equal(await redis.exec(["ZRANGESTORE", "to", "z", 0, 0]), 1);
      assert.equal(await redis.exec(["ZINTERCARD", 2, "z", "to"]), 1);
    },
  ],
  [
    ["zadd"],
    "takes its options together, and members of any type",
    async (redis) => {
      assert.equal(await redis.zadd<unknown>("z", { score: -1.5, member: { a: 1 } }, { score: 0, member: 7 }), 2);
      assert.equal(await redis.zscore("z", { a: 1 }), -1.5);
      assert.equal(await redis.zrank("z", 7), 1);
      assert.equal(await redis.zadd("z", { xx: true, gt: true, ch: true }, { score: 2, member: 7 }), 1);
      assert.equal(await redis.zadd("z", { xx: true, lt: true, ch: true }, { score: 3, member: 7 }), 0);
      assert.equal(await redis.zadd("z", { xx: true, incr: true }, { score: 1, member: "none" }), null);
      assert.equal(await redis.zadd("z", { gt: true, incr: true }, { score: -1, member: 7 }), null);
      assert.equal(await redis.zadd("z", { lt: true, incr: true }, { score: -0.25, member: 7 }), 1.75);
      assert.equal(
        await redis.zadd<unknown>("z", { nx: true, ch: true }, { score: 1, member: "a" }, { score: 9, member: 7 }),
        1,
      );
      assert.deepEqual(await redis.zrange("z", 0, -1, { withScores: true }), [{ a: 1 }, -1.5, "a", 1, 7, 1.75]);
      assert.equal(await redis.zincrby("z", 1, { a: 1 }), -0.5);
      assert.equal(await redis.zrem<unknown>("z", { a: 1 }, 7), 2);
      assert.equal(await redis.zrevrank("z", "a"), 0);
    },
  ],
  [
    ["zrange"],
    "takes its options together",
    async (redis) => {
      await fill(redis);
      const byScore = { byScore: true } as const;
      assert.deepEqual(await redis.zrange("z", 3.5, 2, { ...byScore, rev: true }), ["c", "b"]);
      assert.deepEqual(await redis.zrange("z", "+inf", "(1", { ...byScore, rev: true, withScores: true }), [
        ...["c", 3.5],
        ...["b", 2],
      ]);
      assert.deepEqual(await redis.zrange("z", 1, "(3.5", { ...byScore, withScores: true, offset: 1, count: 5 }), [
        "b",
        2,
      ]);
      assert.deepEqual(await redis.zrange("z", "-inf", 2, { ...byScore, offset: 0, count: -1 }), ["a", "b"]);
      assert.deepEqual(await redis.zrange("z", "+", "(a", { byLex: true, rev: true, offset: 0, count: 1 }), ["c"]);
      assert.deepEqual(await redis.zrange("z", 0, -1, { rev: true, offset: 1, count: 2 }), ["b", "a"]);
      assert.deepEqual(await redis.zrange("z", 1, 1), ["b"]);
      assert.deepEqual(await redis.zrange("missing", 0, -1), []);
    },
  ],
  [
    ["zunion", "zunionstore", "zinterstore"],
    "accept one key, a weight for it or one for each, and each aggregate function",
    async (redis) => {
      await fill(redis);
      await redis.zadd("y", { score: 10, member: "b" }, { score: 20, member: "c" });
      assert.deepEqual(await redis.zunion(1, ["z"]), ["a", "b", "c"]);
      assert.deepEqual(await redis.zunion(1, ["z"], { weight: 2, withScores: true }), ["a", 2, "b", 4, "c", 7]);
      for (const [aggregate, b, c] of [
        ["sum", 32, 63.5],
        ["min", 2, 3.5],
        ["max", 30, 60],
      ] as const) {
        const union = await redis.zunion(2, ["z", "y"], { weights: [1, 3], aggregate, withScores: true });
        assert.deepEqual(union, ["a", 1, "b", b, "c", c], aggregate);
        assert.equal(await redis.zunionstore("to", 2, ["z", "y"], { weights: [1, 3], aggregate }), 3);
        assert.deepEqual(await redis.zmscore("to", ["a", "b", "c"]), [1, b, c], aggregate);
        assert.equal(await redis.zinterstore("to", 2, ["z", "y"], { weights: [1, 3], aggregate }), 2);
        assert.deepEqual(await redis.zmscore("to", ["a", "b", "c"]), [null, b, c], aggregate);
      }
      assert.equal(await redis.zunionstore("to", 1, ["z"], { weight: 0.5 }), 3);
      assert.deepEqual(await redis.zmscore("to", ["a", "b", "c"]), [0.5, 1, 1.75]);
      assert.equal(await redis.zinterstore("to", 1, ["y"], { weight: -1 }), 2);
      assert.deepEqual(await redis.zrange("to", 0, -1, { withScores: true }), ["c", -20, "b", -10]);
      assert.equal(await redis.zinterstore("to", 2, ["y", "missing"]), 0);
      assert.equal(await redis.exists("to"), 0);
    },
  ],
  [
    ["zcount", "zlexcount", "zremrangebyscore", "zremrangebylex", "zremrangebyrank"],
    "accept each kind of bound",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.zcount("z", 2, 3.5), 2);
      assert.equal(await redis.zcount("z", "-inf", "(2"), 1);
      assert.equal(await redis.zcount("z", "(3.5", "+inf"), 0);
      assert.equal(await redis.zlexcount("z", "-", "+"), 3);
      assert.equal(await redis.zremrangebyscore("z", "(3.5", "+inf"), 0);
      assert.equal(await redis.zremrangebyscore("z", "-inf", "(2"), 1);
      assert.equal(await redis.zremrangebyrank("z", -1, -1), 1);
      assert.equal(await redis.zremrangebylex("z", "(a", "(c"), 1);
      assert.equal(await redis.exists("z"), 0);
    },
  ],
  [
    ["zdiffstore", "zmscore", "zpopmin", "zpopmax"],
    "answer for missing keys and members",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.zdiffstore("to", 1, "missing"), 0);
      assert.equal(await redis.zdiffstore("to", 3, "z", "missing", "to"), 3);
      assert.deepEqual(await redis.zmscore("missing", ["a", "b"]), [null, null]);
      assert.deepEqual(await redis.zpopmin("missing"), []);
      assert.deepEqual(await redis.zpopmax("z"), ["c", 3.5]);
      assert.deepEqual(await redis.zpopmin("z", 2), ["a", 1, "b", 2]);
    },
  ],
]);
