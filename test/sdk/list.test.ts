/** Every list method of `@upstash/redis`. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

testMethods("List", [
  [
    ["rpush", "lpush", "lrange"],
    "keep elements of any type in order",
    async (redis) => {
      assert.equal(await redis.rpush<unknown>("key", "text", 7, { name: "Ada" }), 3);
      assert.equal(await redis.lpush("key", "straße", "first"), 5);
      assert.deepEqual(await redis.lrange("key", 0, -1), ["first", "straße", "text", 7, { name: "Ada" }]);
      assert.deepEqual(await redis.lrange("key", -2, -2), [7]);
      assert.deepEqual(await redis.lrange("missing", 0, -1), []);
    },
  ],
  [
    ["lpushx", "rpushx"],
    "push only to a list that exists",
    async (redis) => {
      assert.equal(await redis.lpushx("key", "a"), 0);
      await redis.rpush("key", "a");
      assert.equal(await redis.lpushx("key", "b"), 2);
      assert.equal(await redis.rpushx("key", "c"), 3);
      assert.deepEqual(await redis.lrange("key", 0, -1), ["b", "a", "c"]);
    },
  ],
  [
    ["llen", "lindex"],
    "count and read elements",
    async (redis) => {
      await redis.rpush("key", "a", "b", "c");
      assert.equal(await redis.llen("key"), 3);
      assert.equal(await redis.lindex("key", -1), "c");
      assert.equal(await redis.lindex("key", 3), null);
      assert.equal(await redis.llen("missing"), 0);
    },
  ],
  [
    ["lpop", "rpop"],
    "remove one element or several",
    async (redis) => {
      await redis.rpush("key", "a", "b", "c", "d");
      assert.equal(await redis.lpop("key"), "a");
      assert.equal(await redis.rpop("key"), "d");
      assert.deepEqual(await redis.rpop("key", 2), ["c", "b"]);
      assert.equal(await redis.lpop("key"), null);
      assert.equal(await redis.lpop("key", 2), null);
    },
  ],
  [
    ["lmove"],
    "moves an element between lists",
    async (redis) => {
      await redis.rpush("from", "a", "b");
      assert.equal(await redis.lmove("from", "to", "right", "left"), "b");
      assert.equal(await redis.lmove("from", "to", "left", "right"), "a");
      assert.deepEqual(await redis.lrange("to", 0, -1), ["b", "a"]);
      assert.equal(await redis.lmove("from", "to", "left", "left"), null);
    },
  ],
  [
    ["lmpop"],
    "removes from the first list that is not empty",
    async (redis) => {
      await redis.rpush("second", "a", "b", "c");
      assert.deepEqual(await redis.lmpop(2, ["first", "second"], "RIGHT", 2), ["second", ["c", "b"]]);
      assert.deepEqual(await redis.lmpop(1, ["second"], "LEFT"), ["second", ["a"]]);
      assert.equal(await redis.lmpop(1, ["second"], "LEFT"), null);
    },
  ],
  [
    ["lpos"],
    "finds elements",
    async (redis) => {
      await redis.rpush("key", "a", "b", "c", "b", "b");
      assert.equal(await redis.lpos("key", "b"), 1);
      assert.equal(await redis.lpos("key", "b", { rank: -1 }), 4);
      assert.deepEqual(await redis.lpos("key", "b", { count: 0, maxLen: 4 }), [1, 3]);
      assert.equal(await redis.lpos("key", "z"), null);
    },
  ],
  [
    ["linsert", "lset", "lrem", "ltrim"],
    "change a list",
    async (redis) => {
      await redis.rpush("key", "a", "b", "a");
      assert.equal(await redis.linsert("key", "before", "b", "x"), 4);
      assert.equal(await redis.linsert("key", "after", "none", "x"), -1);
      assert.equal(await redis.lset("key", 1, "y"), "OK");
      assert.equal(await redis.lrem("key", -1, "a"), 1);
      assert.deepEqual(await redis.lrange("key", 0, -1), ["a", "y", "b"]);
      assert.equal(await redis.ltrim("key", 1, 1), "OK");
      assert.deepEqual(await redis.lrange("key", 0, -1), ["y"]);
    },
  ],
  [
    ["lpush", "linsert", "lset", "lrem", "lpos", "lindex"],
    "match elements of any type by their text",
    async (redis) => {
      assert.equal(await redis.lpush<unknown>("key", { a: 1 }, [2], 3, "vier", true), 5);
      assert.equal(await redis.linsert<unknown>("key", "before", [2], null), 6);
      assert.equal(await redis.lpos("key", { a: 1 }), 5);
      assert.equal(await redis.lset<unknown>("key", -1, { a: [2] }), "OK");
      assert.deepEqual(await redis.lindex("key", -1), { a: [2] });
      assert.equal(await redis.lrem<unknown>("key", 0, { a: [2] }), 1);
      assert.deepEqual(await redis.lrange("key", 0, -1), [true, "vier", 3, null, [2]]);
    },
  ],
  [
    ["lpos", "lpop", "rpop"],
    "accept counts",
    async (redis) => {
      await redis.rpush("key", "a", "b", "a", "b", "a");
      assert.deepEqual(await redis.lpos("key", "a", { rank: -2, count: 2 }), [2, 0]);
      assert.deepEqual(await redis.lpos("key", "a", { count: 1 }), [0]);
      assert.equal(await redis.lpos("key", "b", { rank: 2, maxLen: 3 }), null);
      assert.deepEqual(await redis.lpos("key", "z", { count: 0 }), []);
      assert.deepEqual(await redis.lpop("key", 2), ["a", "b"]);
      assert.deepEqual(await redis.rpop("key", 9), ["a", "b", "a"]);
      assert.equal(await redis.rpop("key"), null);
    },
  ],
  [
    ["lmpop", "lmove"],
    "work from either end",
    async (redis) => {
      await redis.rpush("key", 1, 2, 3, 4);
      assert.equal(await redis.lmove("key", "key", "left", "right"), 1);
      assert.equal(await redis.lmove("key", "to", "right", "right"), 1);
      assert.deepEqual(await redis.lmpop(1, ["key"], "LEFT", 2), ["key", [2, 3]]);
      assert.deepEqual(await redis.lmpop(2, ["key", "to"], "RIGHT"), ["key", [4]]);
      assert.deepEqual(await redis.lmpop(2, ["key", "to"], "RIGHT", 5), ["to", [1]]);
    },
  ],
]);
