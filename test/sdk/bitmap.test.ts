/** Every bitmap method of `@upstash/redis`. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

testMethods("Bitmap", [
  [
    ["setbit", "getbit"],
    "change and read one bit",
    async (redis) => {
      assert.equal(await redis.setbit("key", 7, 1), 0);
      assert.equal(await redis.setbit("key", 7, 0), 1);
      assert.equal(await redis.getbit("key", 7), 0);
      assert.equal(await redis.getbit("key", 1_000), 0);
    },
  ],
  [
    ["bitcount"],
    "counts all bits, or those in a range of bytes",
    async (redis) => {
      await redis.set("key", "foobar");
      assert.equal(await redis.bitcount("key", 0, -1), 26);
      assert.equal(await redis.bitcount("key", 1, 1), 6);
    },
  ],
  [
    ["bitpos"],
    "finds the first bit",
    async (redis) => {
      await redis.setbit("key", 12, 1);
      assert.equal(await redis.bitpos("key", 1), 12);
      assert.equal(await redis.bitpos("key", 0, 1), 8);
      assert.equal(await redis.bitpos("key", 1, 0, 0), -1);
    },
  ],
  [
    ["bitop"],
    "combines strings, also as of Redis 8.2",
    async (redis) => {
      await redis.set("a", "abcdef");
      await redis.set("b", "foobar");
      assert.equal(await redis.bitop("and", "d", "a", "b"), 6);
      assert.equal(await redis.get("d"), "`bc`ab");
      assert.equal(await redis.bitop("or", "d", "a", "b"), 6);
      assert.equal(await redis.get("d"), "goofev");
      assert.equal(await redis.bitop("xor", "d", "a", "b"), 6);
      assert.equal(await redis.bitcount("d", 0, -1), 13);
      assert.equal(await redis.bitop("not", "d", "a"), 6);
      assert.equal(await redis.bitcount("d", 0, -1), 27);
      assert.equal(await redis.bitop("diff", "d", "a", "b"), 6);
      assert.equal(await redis.bitcount("d", 0, -1), 4);
      assert.equal(await redis.bitop("diff1", "d", "a", "b"), 6);
      assert.equal(await redis.bitcount("d", 0, -1), 9);
      assert.equal(await redis.bitop("andor", "d", "a", "b"), 6);
      assert.equal(await redis.get("d"), "`bc`ab");
      assert.equal(await redis.bitop("one", "d", "a", "b"), 6);
      assert.equal(await redis.bitcount("d", 0, -1), 13);
    },
  ],
  [
    ["bitfield"],
    "chains operations",
    async (redis, plain) => {
      // The client's automatic pipelining does not return its chain.
      const chain = plain.bitfield("key").set("u8", 0, 250).get("u8", "#0").overflow("SAT").incrby("u8", 0, 10);
      assert.deepEqual(await chain.overflow("FAIL").incrby("u8", 0, 10).exec(), [0, 250, 255, null]);
      assert.deepEqual(await redis.pipeline().bitfield("key").get("u4", 4).exec().exec(), [[15]]);
    },
  ],
  [
    ["bitcount", "bitpos"],
    "count without a range, and search within one",
    async (redis) => {
      await redis.set("key", "foobar");
      assert.equal(await redis.exec(["BITCOUNT", "key"]), 26);
      assert.equal(await redis.bitcount("missing", 0, -1), 0);
      assert.equal(await redis.bitcount("key", -2, -1), 7);
      assert.equal(await redis.bitpos("key", 1, 2, 3), 17);
      assert.equal(await redis.bitpos("missing", 0), 0);
      assert.equal(await redis.bitpos("missing", 1), -1);
    },
  ],
  [
    ["bitfield"],
    "supports signed and unsigned numbers, and each overflow mode",
    async (_redis, plain) => {
      const chain = plain.bitfield("key").set("i8", 0, 127).overflow("WRAP").incrby("i8", 0, 1).get("i8", 0);
      assert.deepEqual(await chain.get("u8", 0).exec(), [0, -128, -128, 128]);
      const counters = plain.bitfield("many").incrby("u2", 100, 1).overflow("SAT").incrby("u2", 102, 3);
      assert.deepEqual(await counters.incrby("u2", "#51", 3).exec(), [1, 3, 3]);
    },
  ],
]);
