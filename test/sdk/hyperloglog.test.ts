/** Every HyperLogLog method of `@upstash/redis`. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

testMethods("HyperLogLog", [
  [
    ["pfadd"],
    "reports whether the count may have changed",
    async (redis) => {
      assert.equal(await redis.pfadd("key", "a", "b", "c"), 1);
      assert.equal(await redis.pfadd("key", "a"), 0);
    },
  ],
  [
    ["pfcount"],
    "counts one sketch, and several together",
    async (redis) => {
      await redis.pfadd("key", "a", "b", "c");
      await redis.pfadd("other", "c", "d");
      assert.equal(await redis.pfcount("key"), 3);
      assert.equal(await redis.pfcount("key", "other"), 4);
      assert.equal(await redis.pfcount("missing"), 0);
    },
  ],
  [
    ["pfmerge"],
    "merges sketches",
    async (redis) => {
      await redis.pfadd("key", "a", "b", "c");
      await redis.pfadd("other", "c", "d");
      assert.equal(await redis.pfmerge("all", "key", "other"), "OK");
      assert.equal(await redis.pfcount("all"), 4);
    },
  ],
  [
    ["pfadd", "pfcount"],
    "count a value once, and make an empty sketch",
    async (redis) => {
      assert.equal(await redis.pfadd("key", "1", "1", "é", "\u0000"), 1);
      assert.equal(await redis.pfcount("key"), 3);
      assert.equal(await redis.pfadd("empty"), 1);
      assert.equal(await redis.pfcount("empty"), 0);
    },
  ],
]);
