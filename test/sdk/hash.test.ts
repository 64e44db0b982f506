/** Every hash method of `@upstash/redis`, including the expiry of fields. */
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
    "reports whether a field exists",
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
    "returns random fields, with values on request",
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
    "iterates over fields and values",
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
    "set and return a timestamp",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2, c: 3 });
      assert.deepEqual(await redis.hexpireat("key", "a", FAR_S), [1]);
      assert.deepEqual(await redis.hpexpireat("key", "b", FAR_MS + 500), [1]);
      assert.deepEqual(await redis.hexpiretime("key", ["a", "b", "c"]), [4_102_444_800, 4_102_444_800, -1]);
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
    "removes the expiry of fields",
    async (redis) => {
      await redis.hset("key", { a: 1, b: 2 });
      await redis.hexpire("key", "a", 100);
      assert.deepEqual(await redis.hpersist("key", ["a", "b", "missing"]), [1, -1, -2]);
      assert.deepEqual(await redis.httl("key", "a"), [-1]);
    },
  ],
  [
    ["hgetdel"],
    "returns and removes fields",
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
    "sets fields with one expiry, under an optional condition",
    async (redis) => {
      assert.equal(await redis.hsetex("key", { expiration: { ex: 100 } }, { a: 1, b: 2 }), 1);
      assert.deepEqual(await redis.httl("key", ["a", "b"]), [100, 100]);
      assert.equal(await redis.hsetex("key", { conditional: "FNX" }, { b: 3, c: 4 }), 0);
      assert.equal(await redis.hsetex("key", { conditional: "FXX", expiration: { keepttl: true } }, { b: 5 }), 1);
      assert.deepEqual(await redis.hgetall("key"), { a: 1, b: 5 });
      assert.deepEqual(await redis.httl("key", "b"), [100]);
    },
  ],
  [
    ["hexpire", "hpexpire", "hexpireat", "hpexpireat"],
    "accept each condition in either case, and one field or several, also numbers",
    async (redis) => {
      await redis.hset("key", { a: 1, 7: 2 });
      assert.deepEqual(await redis.hexpire("key", 7, 100, "nx"), [1]);
      assert.deepEqual(await redis.hexpire("key", ["a", 7], 200, "XX"), [0, 1]);
      assert.deepEqual(await redis.hexpire("key", 7, 100, "gt"), [0]);
      assert.deepEqual(await redis.hexpire("key", 7, 100, "lt"), [1]);
      assert.deepEqual(await redis.hpexpire("key", ["a", 7], 300_000, "NX"), [1, 0]);
      assert.deepEqual(await redis.hpexpire("key", "a", 200_000, "xx"), [1]);
      assert.deepEqual(await redis.hpexpire("key", "a", 300_000, "GT"), [1]);
      assert.deepEqual(await redis.hpexpire("key", "a", 250_000, "LT"), [1]);
      assert.deepEqual(await redis.httl("key", ["a", 7]), [250, 100]);
      assert.deepEqual(await redis.hexpireat("key", ["a", 7], FAR_S, "NX"), [0, 0]);
      assert.deepEqual(await redis.hexpireat("key", ["a", 7], FAR_S, "gt"), [1, 1]);
      assert.deepEqual(await redis.hexpireat("key", 7, FAR_S - 1, "LT"), [1]);
      assert.deepEqual(await redis.hpexpireat("key", ["a", "missing"], FAR_MS + 1, "xx"), [1, -2]);
      assert.deepEqual(await redis.hpexpireat("key", 7, FAR_MS + 2, "lt"), [0]);
      assert.deepEqual(await redis.hpexpiretime("key", ["a", 7]), [4_102_444_800_001, 4_102_444_799_000]);
      assert.deepEqual(await redis.hexpire("missing", ["a", "b"], 1), [-2, -2]);
      assert.deepEqual(await redis.hpexpire("key", "a", 0), [2]);
    },
  ],
  [
    ["hgetex", "hsetex", "hgetdel"],
    "accept each expiry and condition in either case",
    async (redis) => {
      assert.equal(await redis.hsetex("key", {}, { a: 1, b: [2] }), 1);
      assert.equal(await redis.hsetex("key", { conditional: "fnx", expiration: { px: 90_000 } }, { c: "drei" }), 1);
      assert.equal(await redis.hsetex("key", { conditional: "fxx", expiration: { exat: FAR_S } }, { a: 4, d: 5 }), 0);
      assert.equal(await redis.hsetex("key", { conditional: "FXX", expiration: { exat: FAR_S } }, { a: 4 }), 1);
      assert.equal(await redis.hsetex("key", { conditional: "FNX", expiration: { pxat: FAR_MS + 5 } }, { d: 5 }), 1);
      assert.deepEqual(await redis.hpexpiretime("key", ["a", "b", "d"]), [4_102_444_800_000, -1, 4_102_444_800_005]);
      assert.deepEqual(await redis.hgetex("key", { px: 80_000 }, "b", "missing"), { b: [2], missing: null });
      assert.deepEqual(await redis.httl("key", ["b", "c"]), [80, 90]);
      assert.deepEqual(await redis.hgetex("key", { exat: FAR_S }, "b", "c"), { b: [2], c: "drei" });
      assert.deepEqual(await redis.hexpiretime("key", ["b", "c"]), [4_102_444_800, 4_102_444_800]);
      assert.equal(await redis.hgetex("missing", { persist: true }, "a"), null);
      assert.deepEqual(await redis.hgetdel("key", "a", "b", "c", "d"), { a: 4, b: [2], c: "drei", d: 5 });
      assert.equal(await redis.exists("key"), 0);
    },
  ],
  [
    ["hset", "hsetnx", "hmset", "hget", "hvals", "hrandfield"],
    "store any JSON value",
    async (redis) => {
      assert.equal(await redis.hset("key", { object: { a: [1] }, yes: true, half: 0.5 }), 3);
      assert.equal(await redis.hsetnx("key", "list", [null]), 1);
      assert.equal(await redis.hmset("key", { text: "straße" }), "OK");
      assert.deepEqual(await redis.hget("key", "object"), { a: [1] });
      assert.deepEqual(await redis.hvals("key"), [{ a: [1] }, true, 0.5, [null], "straße"]);
      assert.deepEqual(await redis.hrandfield("key", 9, true), {
        object: { a: [1] },
        yes: true,
        half: 0.5,
        list: [null],
        text: "straße",
      });
      assert.deepEqual((await redis.hrandfield("key", 9)).toSorted(), ["half", "list", "object", "text", "yes"]);
    },
  ],
]);
