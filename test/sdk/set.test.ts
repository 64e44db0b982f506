/** Every set method of `@upstash/redis`. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

testMethods("Set", [
  [
    ["sadd", "smembers"],
    "distinguish members of any type",
    async (redis) => {
      assert.equal(await redis.sadd("key", 3, 1, 2), 3);
      assert.equal(await redis.sadd("key", 1, 1), 0);
      assert.deepEqual(await redis.smembers("key"), [1, 2, 3]);
      assert.equal(await redis.sadd<unknown>("other", { name: "Ada" }, "text", "straße"), 3);
      assert.deepEqual(await redis.smembers("other"), [{ name: "Ada" }, "text", "straße"]);
      assert.deepEqual(await redis.smembers("missing"), []);
    },
  ],
  [
    ["scard"],
    "counts",
    async (redis) => {
      await redis.sadd("key", "a", "b");
      assert.equal(await redis.scard("key"), 2);
      assert.equal(await redis.scard("missing"), 0);
    },
  ],
  [
    ["sismember", "smismember"],
    "test membership",
    async (redis) => {
      await redis.sadd("key", "a", "b");
      assert.equal(await redis.sismember("key", "a"), 1);
      assert.equal(await redis.sismember("key", "z"), 0);
      assert.deepEqual(await redis.smismember("key", ["a", "z", "b"]), [1, 0, 1]);
      assert.deepEqual(await redis.smismember("missing", ["a"]), [0]);
    },
  ],
  [
    ["srem"],
    "removes members, and the key with the last of them",
    async (redis) => {
      await redis.sadd("key", "a", "b", "c");
      assert.equal(await redis.srem("key", "a", "z"), 1);
      assert.equal(await redis.srem("key", "b", "c"), 2);
      assert.equal(await redis.exists("key"), 0);
    },
  ],
  [
    ["smove"],
    "moves a member to another set",
    async (redis) => {
      await redis.sadd("from", "a", "b");
      await redis.sadd("to", "c");
      assert.equal(await redis.smove("from", "to", "a"), 1);
      assert.equal(await redis.smove("from", "to", "z"), 0);
      assert.deepEqual(await redis.smembers("from"), ["b"]);
      assert.deepEqual(await redis.smembers("to"), ["c", "a"]);
    },
  ],
  [
    ["sdiff", "sdiffstore"],
    "return members that other sets lack",
    async (redis) => {
      await redis.sadd("a", "x", "y", "z");
      await redis.sadd("b", "y");
      assert.deepEqual(await redis.sdiff("a", "b"), ["x", "z"]);
      assert.equal(await redis.sdiffstore("c", "a", "b"), 2);
      assert.deepEqual(await redis.smembers("c"), ["x", "z"]);
    },
  ],
  [
    ["sinter", "sinterstore", "sintercard"],
    "return members that all sets have",
    async (redis) => {
      await redis.sadd("a", "x", "y", "z");
      await redis.sadd("b", "y", "z", "w");
      assert.deepEqual((await redis.sinter("a", "b")).sort(), ["y", "z"]);
      assert.deepEqual(await redis.sinter("a", "missing"), []);
      assert.equal(await redis.sinterstore("c", "a", "b"), 2);
      assert.deepEqual((await redis.smembers("c")).sort(), ["y", "z"]);
      assert.equal(await redis.sintercard(["a", "b"]), 2);
      assert.equal(await redis.sintercard(["a", "b"], { limit: 1 }), 1);
    },
  ],
  [
    ["sunion", "sunionstore"],
    "unite sets",
    async (redis) => {
      await redis.sadd("a", 1, 2);
      await redis.sadd("b", 2, 3);
      assert.deepEqual(await redis.sunion("a", "b"), [1, 2, 3]);
      assert.equal(await redis.sunionstore("c", "a", "b"), 3);
      assert.deepEqual(await redis.smembers("c"), [1, 2, 3]);
    },
  ],
  [
    ["spop"],
    "removes the returned members",
    async (redis) => {
      await redis.sadd("key", "a", "b", "c");
      assert.match(String(await redis.spop("key")), /^[abc]$/);
      assert.equal(await redis.scard("key"), 2);
      assert.equal((await redis.spop<string[]>("key", 5))?.length, 2);
      assert.equal(await redis.exists("key"), 0);
      assert.equal(await redis.spop("key"), null);
      assert.deepEqual(await redis.spop<string[]>("key", 2), []);
    },
  ],
  [
    ["srandmember"],
    "does not remove the returned members",
    async (redis) => {
      await redis.sadd("key", "a", "b", "c");
      assert.match(String(await redis.srandmember("key")), /^[abc]$/);
      assert.deepEqual((await redis.srandmember<string[]>("key", 5))?.toSorted(), ["a", "b", "c"]);
      assert.equal((await redis.srandmember<string[]>("key", -5))?.length, 5);
      assert.equal(await redis.scard("key"), 3);
      assert.equal(await redis.srandmember("missing"), null);
    },
  ],
  [
    ["sscan"],
    "iterates over members",
    async (redis) => {
      await redis.sadd("key", "a:1", "a:2", "b:1");
      assert.deepEqual(await redis.sscan("key", 0), ["0", ["a:1", "a:2", "b:1"]]);
      assert.deepEqual(await redis.sscan("key", 0, { match: "b:*", count: 100 }), ["0", ["b:1"]]);
    },
  ],
  [
    ["sismember", "smismember", "smove", "srem"],
    "match members of any type by their text",
    async (redis) => {
      assert.equal(await redis.sadd<unknown>("key", { a: 1 }, [2], 3, "3", true), 4);
      assert.equal(await redis.sismember("key", { a: 1 }), 1);
      assert.deepEqual(await redis.smismember("key", [[2], 3, false]), [1, 1, 0]);
      assert.equal(await redis.smove("key", "to", [2]), 1);
      assert.deepEqual(await redis.smembers("to"), [[2]]);
      assert.equal(await redis.srem<unknown>("key", true, { a: 1 }, null), 2);
      assert.deepEqual(await redis.smembers("key"), [3]);
    },
  ],
  [
    ["sdiff", "sinter", "sunion", "sdiffstore", "sinterstore", "sunionstore", "sintercard"],
    "accept one key, and more than two",
    async (redis) => {
      await redis.sadd("a", 1, 2, 3);
      await redis.sadd("b", 2, 3, 4);
      await redis.sadd("c", 3, 4, 5);
      assert.deepEqual(await redis.sdiff("a"), [1, 2, 3]);
      assert.deepEqual(await redis.sinter("a"), [1, 2, 3]);
      assert.deepEqual(await redis.sunion("a"), [1, 2, 3]);
      assert.deepEqual(await redis.sdiff("a", "b", "c"), [1]);
      assert.deepEqual(await redis.sinter("a", "b", "c"), [3]);
      assert.deepEqual(await redis.sunion("a", "b", "c"), [1, 2, 3, 4, 5]);
      assert.equal(await redis.sdiffstore("to", "a", "b", "c"), 1);
      assert.equal(await redis.sinterstore("to", "a", "b", "c"), 1);
      assert.equal(await redis.sunionstore("to", "a", "b", "c"), 5);
      assert.equal(await redis.sintercard(["a", "b", "c"], { limit: 0 }), 1);
      assert.equal(await redis.sintercard(["a"]), 3);
    },
  ],
  [
    ["sscan"],
    "accepts a number as cursor, and iterates over large sets",
    async (redis) => {
      const members = Array.from({ length: 300 }, (_, i) => `member:${i}`);
      await redis.sadd("key", "first", ...members);
      const met = new Set<string | number>();
      let cursor = "0";
      do {
        const [next, page] = await redis.sscan("key", Number(cursor), { count: 100, match: "member:*" });
        for (const member of page) met.add(member);
        cursor = next;
      } while (cursor !== "0");
      assert.equal(met.size, 300);
    },
  ],
]);
