/** Every string method of `@upstash/redis`. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

const FAR_MS = 4_102_444_800_000;

testMethods("String", [
  [
    ["append"],
    "returns the length and creates a missing key",
    async (redis) => {
      assert.equal(await redis.append("key", "Hello"), 5);
      assert.equal(await redis.append("key", " World"), 11);
      assert.equal(await redis.get("key"), "Hello World");
    },
  ],
  [
    ["incr", "decr"],
    "count from zero",
    async (redis) => {
      assert.equal(await redis.incr("key"), 1);
      assert.equal(await redis.incr("key"), 2);
      assert.equal(await redis.decr("key"), 1);
      assert.equal(await redis.decr("missing"), -1);
    },
  ],
  [
    ["incrby", "decrby"],
    "accept steps of either sign",
    async (redis) => {
      assert.equal(await redis.incrby("key", 40), 40);
      assert.equal(await redis.incrby("key", -2), 38);
      assert.equal(await redis.decrby("key", 8), 30);
      assert.equal(await redis.get("key"), 30);
    },
  ],
  [
    ["incrbyfloat"],
    "adds decimals without rounding noise",
    async (redis) => {
      assert.equal(await redis.set("key", "10.50"), "OK");
      assert.equal(await redis.incrbyfloat("key", 0.1), 10.6);
      assert.equal(await redis.incrbyfloat("key", -5), 5.6);
      assert.equal(await redis.incrbyfloat("missing", 3), 3);
    },
  ],
  [
    ["get"],
    "is null for a missing key",
    async (redis) => {
      assert.equal(await redis.get("missing"), null);
    },
  ],
  [
    ["get"],
    "returns any JSON value",
    async (redis) => {
      const value = { name: "Ada", tags: ["a", "b"], nested: { deep: null, yes: true } };
      assert.equal(await redis.set("object", value), "OK");
      assert.deepEqual(await redis.get("object"), value);
      await redis.set("list", [1, "two", [3]]);
      assert.deepEqual(await redis.get("list"), [1, "two", [3]]);
      await redis.set("number", 42);
      assert.equal(await redis.get("number"), 42);
      await redis.set("yes", true);
      assert.equal(await redis.get("yes"), true);
      await redis.set("nothing", null);
      assert.equal(await redis.get("nothing"), null);
      assert.equal(await redis.exists("nothing"), 1);
    },
  ],
  [
    ["getdel"],
    "removes the value",
    async (redis) => {
      await redis.set("key", "once");
      assert.equal(await redis.getdel("key"), "once");
      assert.equal(await redis.getdel("key"), null);
    },
  ],
  [
    ["getex"],
    "sets and removes expiries",
    async (redis) => {
      await redis.set("key", "value");
      assert.equal(await redis.getex("key"), "value");
      assert.equal(await redis.ttl("key"), -1);
      assert.equal(await redis.getex("key", { ex: 100 }), "value");
      assert.equal(await redis.ttl("key"), 100);
      assert.equal(await redis.getex("key", { px: 50_000 }), "value");
      assert.equal(await redis.ttl("key"), 50);
      assert.equal(await redis.getex("key", { exat: FAR_MS / 1000 }), "value");
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), FAR_MS);
      assert.equal(await redis.getex("key", { pxat: FAR_MS - 1 }), "value");
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), FAR_MS - 1);
      assert.equal(await redis.getex("key", { persist: true }), "value");
      assert.equal(await redis.ttl("key"), -1);
      assert.equal(await redis.getex("missing", { ex: 1 }), null);
    },
  ],
  [
    ["getrange"],
    "counts from both ends",
    async (redis) => {
      await redis.set("key", "This is a string");
      assert.equal(await redis.getrange("key", 0, 3), "This");
      assert.equal(await redis.getrange("key", -3, -1), "ing");
      assert.equal(await redis.getrange("key", 10, 100), "string");
      assert.equal(await redis.getrange("missing", 0, 1), "");
    },
  ],
  [
    ["getset"],
    "returns the old value",
    async (redis) => {
      assert.equal(await redis.getset("key", "new"), null);
      assert.equal(await redis.getset("key", "newer"), "new");
      assert.equal(await redis.get("key"), "newer");
    },
  ],
  [
    ["mset", "mget"],
    "work on several keys at once",
    async (redis) => {
      assert.equal(await redis.mset({ one: 1, two: "zwei", three: { is: 3 } }), "OK");
      assert.deepEqual(await redis.mget("one", "two", "missing", "three"), [1, "zwei", null, { is: 3 }]);
      assert.deepEqual(await redis.mget(["two", "one"]), ["zwei", 1]);
    },
  ],
  [
    ["msetnx"],
    "sets all or nothing",
    async (redis) => {
      assert.equal(await redis.msetnx({ a: "1", b: "2" }), 1);
      assert.equal(await redis.msetnx({ b: "3", c: "4" }), 0);
      assert.deepEqual(await redis.mget("a", "b", "c"), [1, 2, null]);
    },
  ],
  [
    ["psetex", "setex"],
    "set a value with its expiry",
    async (redis) => {
      assert.equal(await redis.setex("seconds", 100, "a"), "OK");
      assert.equal(await redis.ttl("seconds"), 100);
      assert.equal(await redis.psetex("milliseconds", 100_000, "b"), "OK");
      assert.equal(await redis.ttl("milliseconds"), 100);
    },
  ],
  [
    ["set"],
    "honours nx, xx and get",
    async (redis) => {
      assert.equal(await redis.set("key", "first", { nx: true }), "OK");
      assert.equal(await redis.set("key", "second", { nx: true }), null);
      assert.equal(await redis.set("key", "third", { xx: true }), "OK");
      assert.equal(await redis.set("missing", "x", { xx: true }), null);
      assert.equal(await redis.set("key", "fourth", { get: true }), "third");
      assert.equal(await redis.set("fresh", "x", { get: true }), null);
      assert.equal(await redis.set("key", "fifth", { nx: true, get: true }), "fourth");
      assert.equal(await redis.get("key"), "fourth");
    },
  ],
  [
    ["set"],
    "honours ex, px, exat, pxat and keepTtl",
    async (redis) => {
      await redis.set("key", "value", { ex: 100 });
      assert.equal(await redis.ttl("key"), 100);
      await redis.set("key", "value", { px: 90_000 });
      assert.equal(await redis.ttl("key"), 90);
      await redis.set("key", "value", { exat: FAR_MS / 1000 });
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), FAR_MS);
      await redis.set("key", "value", { pxat: FAR_MS + 7 });
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), FAR_MS + 7);
      await redis.set("key", "other", { keepTtl: true });
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), FAR_MS + 7);
      await redis.set("key", "other");
      assert.equal(await redis.ttl("key"), -1);
    },
  ],
  [
    ["setnx"],
    "reports whether the value was set",
    async (redis) => {
      assert.equal(await redis.setnx("key", "a"), 1);
      assert.equal(await redis.setnx("key", "b"), 0);
      assert.equal(await redis.get("key"), "a");
    },
  ],
  [
    ["setrange"],
    "overwrites, and pads with zero bytes",
    async (redis) => {
      await redis.set("key", "Hello World");
      assert.equal(await redis.setrange("key", 6, "Redis"), 11);
      assert.equal(await redis.get("key"), "Hello Redis");
      assert.equal(await redis.setrange("gap", 2, "x"), 3);
      assert.equal(await redis.get("gap"), "\0\0x");
    },
  ],
  [
    ["strlen"],
    "counts bytes",
    async (redis) => {
      await redis.set("key", "naïve 🙂");
      assert.equal(await redis.strlen("key"), 11);
      assert.equal(await redis.strlen("missing"), 0);
    },
  ],
  [
    ["exec"],
    "runs commands without a method: DIGEST, DELEX and conditional SET",
    async (redis) => {
      await redis.set("key", "Hello");
      assert.equal(await redis.exec(["SET", "key", "World", "IFEQ", "Hello"]), "OK");
      assert.equal(await redis.exec(["SET", "key", "again", "IFEQ", "Hello"]), null);
      assert.equal(await redis.exec(["DELEX", "key", "IFEQ", "nothing"]), 0);
      assert.equal(await redis.exec(["DELEX", "key", "IFEQ", "World"]), 1);
      await redis.mset({ left: "ohmytext", right: "mynewtext" });
      assert.equal(await redis.exec(["LCS", "left", "right"]), "mytext");
      assert.equal(await redis.exec(["LCS", "left", "right", "LEN"]), 6);
    },
  ],
  [
    ["set"],
    "accepts a condition, an expiry and get together",
    async (redis) => {
      assert.equal(await redis.set("key", 1, { nx: true, ex: 100 }), "OK");
      assert.equal(await redis.set("key", 2, { nx: true, px: 5_000 }), null);
      assert.equal(await redis.ttl("key"), 100);
      assert.equal(await redis.set("key", 3, { xx: true, get: true, px: 50_000 }), 1);
      assert.equal(await redis.ttl("key"), 50);
      assert.equal(await redis.set("key", 4, { xx: true, keepTtl: true }), "OK");
      assert.equal(await redis.ttl("key"), 50);
      assert.equal(await redis.set("none", 5, { xx: true, get: true, exat: FAR_MS / 1000 }), null);
      assert.equal(await redis.exists("none"), 0);
      assert.equal(await redis.set("new", 6, { nx: true, get: true, pxat: FAR_MS }), null);
      assert.equal(await redis.exec(["PEXPIRETIME", "new"]), 4_102_444_800_000);
      assert.equal(await redis.set("key", 7, { get: true, keepTtl: true }), 4);
      assert.equal(await redis.get("key"), 7);
    },
  ],
  [
    ["mset", "setnx", "setex", "psetex", "getset"],
    "store any JSON value",
    async (redis) => {
      assert.equal(await redis.mset({ list: [1, "two"], yes: true, half: 0.5 }), "OK");
      assert.deepEqual(await redis.mget("list", "yes", "half"), [[1, "two"], true, 0.5]);
      assert.equal(await redis.setnx("object", { a: { b: null } }), 1);
      assert.deepEqual(await redis.getset<unknown>("object", [false]), { a: { b: null } });
      assert.deepEqual(await redis.get("object"), [false]);
      assert.equal(await redis.setex("seconds", 100, { é: "ß" }), "OK");
      assert.deepEqual(await redis.get("seconds"), { é: "ß" });
      assert.equal(await redis.psetex("milliseconds", 90_000, 1.5), "OK");
      assert.equal(await redis.get("milliseconds"), 1.5);
    },
  ],
]);
