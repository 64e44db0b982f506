/** Every hash method of `@upstash/redis` against the real program, expiry of fields included. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

const FAR_S = 4_102_444_800;
const FAR_MS = 4_102_444_800_000;

testMethods("Hash", [
  [
    ["hset"],
    "returns how many fields are new",
    async (redis) => {
      assert.equal(await redis.hset("key", { name: "Ada", age: 36 }), 2);
      assert.equal(await redis.hset("key", { age: 37, title: { short: "Countess" } }), 1);
      assert.deepEqual(await redis.hgetall("key"), { name: "Ada", age: 37, title: { short: "Countess" } });
    },
  ],
  [
    ["hget"],
    "is null for a missing field or key",
    async (redis) => {
      await redis.hset("key", { field: "value" });
      assert.equal(await redis.hget("key", "field"), "value");
      assert.equal(await redis.hget("key", "missing"), null);
      assert.equal(await redis.hget("missing", "field"), null);
    },
  ],
  [
    ["hgetall"],
    "is null for a missing key and keeps long numbers as text",
    async (redis) => {
      assert.equal(await redis.hgetall("missing"), null);
      await redis.hset("key", { long: "12345678901234567890", short: "12" });
      assert.deepEqual(await redis.hgetall("key"), { long: "12345678901234567890", short: 12 });
    },
  ],
  [
    ["hdel"],
    "removes fields, and the key with the last of them",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2, c: 3 });
      assert.equal(await redis.hdel("key", "a", "missing", "b"), 2);
      assert.equal(await redis.hdel("key", "c"), 1);
      assert.equal(await redis.exists("key"), 0);
    },
  ],
  [
    ["hexists"],
    "tells whether there is a field",
    async (redis) => {
      await redis.hset("key", { field: "" });
      assert.equal(await redis.hexists("key", "field"), 1);
      assert.equal(await redis.hexists("key", "missing"), 0);
    },
  ],
  [
    ["hincrby", "hincrbyfloat"],
    "count in a field",
    async (redis) => {
      assert.equal(await redis.hincrby("key", "count", 5), 5);
      assert.equal(await redis.hincrby("key", "count", -7), -2);
      assert.equal(await redis.hincrbyfloat("key", "weight", 10.5), 10.5);
      assert.equal(await redis.hincrbyfloat("key", "weight", 0.1), 10.6);
    },
  ],
  [
    ["hkeys", "hvals", "hlen"],
    "list a hash",
    async (redis) => {
      await redis.hset("key", { a: 1, b: "two" });
      assert.deepEqual(await redis.hkeys("key"), ["a", "b"]);
      assert.deepEqual(await redis.hvals("key"), [1, "two"]);
      assert.equal(await redis.hlen("key"), 2);
      assert.deepEqual(await redis.hkeys("missing"), []);
      assert.equal(await redis.hlen("missing"), 0);
    },
  ],
  [
    ["hmget", "hmset"],
    "work on several fields",
    async (redis) => {
      assert.equal(await redis.hmset("key", { a: 1, b: "two" }), "OK");
      assert.deepEqual(await redis.hmget("key", "b", "missing", "a"), { b: "two", missing: null, a: 1 });
      assert.equal(await redis.hmget("key", "none", "neither"), null);
    },
  ],
  [
    ["hrandfield"],
    "draws fields, with values if asked",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      assert.match(String(await redis.hrandfield("key")), /^[ab]$/);
      const drawn = await redis.hrandfield("key", 5);
      assert.deepEqual([...drawn].sort(), ["a", "b"]);
      assert.equal((await redis.hrandfield("key", -5)).length, 5);
      assert.deepEqual(await redis.hrandfield("key", 2, true), { a: 1, b: 2 });
      assert.equal(await redis.hrandfield("missing"), null);
    },
  ],
  [
    ["hscan"],
    "walks through fields and values",
    async (redis) => {
      await redis.hset("key", { "a:1": "x", "a:2": "y", "b:1": "z" });
      assert.deepEqual(await redis.hscan("key", 0), ["0", ["a:1", "x", "a:2", "y", "b:1", "z"]]);
      assert.deepEqual(await redis.hscan("key", 0, { match: "b:*", count: 100 }), ["0", ["b:1", "z"]]);
    },
  ],
  [
    ["hsetnx"],
    "sets a field only once",
    async (redis) => {
      assert.equal(await redis.hsetnx("key", "field", "a"), 1);
      assert.equal(await redis.hsetnx("key", "field", "b"), 0);
      assert.equal(await redis.hget("key", "field"), "a");
    },
  ],
  [
    ["hstrlen"],
    "counts the bytes of a value",
    async (redis) => {
      await redis.hset("key", { field: "straße" });
      assert.equal(await redis.hstrlen("key", "field"), 7);
      assert.equal(await redis.hstrlen("key", "missing"), 0);
    },
  ],
  [
    ["hexpire", "httl"],
    "give fields an expiry",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      assert.deepEqual(await redis.hexpire("key", "a", 100), [1]);
      assert.deepEqual(await redis.hexpire("key", ["a", "missing"], 200), [1, -2]);
      assert.deepEqual(await redis.hexpire("key", "a", 300, "NX"), [0]);
      assert.deepEqual(await redis.hexpire("key", "b", 300, "xx"), [0]);
      assert.deepEqual(await redis.hexpire("key", "a", 150, "GT"), [0]);
      assert.deepEqual(await redis.hexpire("key", "a", 150, "LT"), [1]);
      assert.deepEqual(await redis.httl("key", ["a", "b", "missing"]), [150, -1, -2]);
    },
  ],
  [
    ["hpexpire", "hpttl"],
    "do it in milliseconds",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      assert.deepEqual(await redis.hpexpire("key", ["a"], 100_000), [1]);
      const [leftMs = 0, never] = await redis.hpttl("key", ["a", "b"]);
      assert.ok(leftMs > 90_000 && leftMs <= 100_000, `${leftMs} ms left`);
      assert.equal(never, -1);
    },
  ],
  [
    ["hexpireat", "hpexpireat", "hexpiretime", "hpexpiretime"],
    "take and tell a moment",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2, c: 3 });
      assert.deepEqual(await redis.hexpireat("key", "a", FAR_S), [1]);
      assert.deepEqual(await redis.hpexpireat("key", "b", FAR_MS + 500), [1]);
      assert.deepEqual(await redis.hexpiretime("key", ["a", "b", "c"]), [4_102_444_800, 4_102_444_801, -1]);
      assert.deepEqual(await redis.hpexpiretime("key", ["a", "b"]), [4_102_444_800_000, 4_102_444_800_500]);
    },
  ],
  [
    ["hexpireat"],
    "in the past removes the field",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      assert.deepEqual(await redis.hexpireat("key", "a", 1), [2]);
      assert.deepEqual(await redis.hgetall("key"), { b: 2 });
    },
  ],
  [
    ["hpersist"],
    "takes the expiry of fields away",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      await redis.hexpire("key", "a", 100);
      assert.deepEqual(await redis.hpersist("key", ["a", "b", "missing"]), [1, -1, -2]);
      assert.deepEqual(await redis.httl("key", "a"), [-1]);
    },
  ],
  [
    ["hgetdel"],
    "takes fields away",
    async (redis) => {
      await redis.hset("key", { a: 1, b: "two", c: 3 });
      assert.deepEqual(await redis.hgetdel("key", "a", "b", "missing"), { a: 1, b: "two", missing: null });
      assert.deepEqual(await redis.hgetall("key"), { c: 3 });
      assert.equal(await redis.hgetdel("key", "missing"), null);
    },
  ],
  [
    ["hgetex"],
    "reads fields and changes their expiry",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      assert.deepEqual(await redis.hgetex("key", { ex: 100 }, "a"), { a: 1 });
      assert.deepEqual(await redis.httl("key", ["a", "b"]), [100, -1]);
      assert.deepEqual(await redis.hgetex("key", { pxat: FAR_MS }, "b"), { b: 2 });
      assert.deepEqual(await redis.hpexpiretime("key", "b"), [4_102_444_800_000]);
      assert.deepEqual(await redis.hgetex("key", { persist: true }, "a", "b"), { a: 1, b: 2 });
      assert.deepEqual(await redis.httl("key", ["a", "b"]), [-1, -1]);
    },
  ],
  [
    ["hsetex"],
    "sets fields with one expiry, under a condition if asked",
    async (redis) => {
      assert.equal(await redis.hsetex("key", { expiration: { ex: 100 } }, { a: 1, b: 2 }), 1);
      assert.deepEqual(await redis.httl("key", ["a", "b"]), [100, 100]);
      assert.equal(await redis.hsetex("key", { conditional: "FNX" }, { b: 3, c: 4 }), 0);
      assert.equal(await redis.hsetex("key", { conditional: "FXX", expiration: { keepttl: true } }, { b: 5 }), 1);
      assert.deepEqual(await redis.hgetall("key"), { a: 1, b: 5 });
      assert.deepEqual(await redis.httl("key", "b"), [100]);
    },
  ],
]);
