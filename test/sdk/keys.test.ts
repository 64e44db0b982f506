/** The methods of `@upstash/redis` for keys, the server and the connection. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

const FAR_S = 4_102_444_800;

testMethods("Generic, server and connection", [
  [
    ["copy"],
    "copies value and expiry, and replaces only on request",
    async (redis) => {
      await redis.set("from", "value", { ex: 100 });
      await redis.set("taken", "other");
      assert.equal(await redis.copy("from", "to"), "COPIED");
      assert.equal(await redis.get("to"), "value");
      assert.equal(await redis.ttl("to"), 100);
      assert.equal(await redis.copy("from", "taken"), "NOT_COPIED");
      assert.equal(await redis.copy("from", "taken", { replace: true }), "COPIED");
      assert.equal(await redis.get("taken"), "value");
      assert.equal(await redis.copy("missing", "to"), "NOT_COPIED");
    },
  ],
  [
    ["del", "unlink", "exists", "touch"],
    "count existing keys",
    async (redis) => {
      await redis.mset({ a: 1, b: 2, c: 3, d: 4 });
      assert.equal(await redis.exists("a", "b", "a", "missing"), 3);
      assert.equal(await redis.touch("a", "missing", "c"), 2);
      assert.equal(await redis.del("a", "b", "missing"), 2);
      assert.equal(await redis.unlink("c", "missing"), 1);
      assert.equal(await redis.exists("a", "b", "c", "d"), 1);
    },
  ],
  [
    ["expire"],
    "accepts the conditions NX, XX, GT and LT",
    async (redis) => {
      await redis.set("key", "value");
      assert.equal(await redis.expire("key", 100, "XX"), 0);
      assert.equal(await redis.expire("key", 100, "NX"), 1);
      assert.equal(await redis.expire("key", 50, "GT"), 0);
      assert.equal(await redis.expire("key", 50, "lt"), 1);
      assert.equal(await redis.ttl("key"), 50);
      assert.equal(await redis.expire("missing", 50), 0);
    },
  ],
  [
    ["expireat", "pexpireat"],
    "accept a timestamp",
    async (redis) => {
      await redis.set("key", "value");
      assert.equal(await redis.expireat("key", FAR_S), 1);
      assert.equal(await redis.exec(["EXPIRETIME", "key"]), 4_102_444_800);
      assert.equal(await redis.pexpireat("key", FAR_S * 1000 + 250), 1);
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), 4_102_444_800_250);
      assert.equal(await redis.expireat("key", 1), 1);
      assert.equal(await redis.get("key"), null);
    },
  ],
  [
    ["pexpire", "pttl", "ttl"],
    "agree with one another",
    async (redis) => {
      await redis.set("key", "value");
      assert.equal(await redis.pttl("key"), -1);
      assert.equal(await redis.pexpire("key", 100_000), 1);
      const leftMs = await redis.pttl("key");
      assert.ok(leftMs > 90_000 && leftMs <= 100_000, `${leftMs} ms left`);
      assert.equal(await redis.ttl("key"), 100);
      assert.equal(await redis.ttl("missing"), -2);
      assert.equal(await redis.pttl("missing"), -2);
    },
  ],
  [
    ["persist"],
    "removes the expiry",
    async (redis) => {
      await redis.set("key", "value", { ex: 100 });
      assert.equal(await redis.persist("key"), 1);
      assert.equal(await redis.persist("key"), 0);
      assert.equal(await redis.ttl("key"), -1);
    },
  ],
  [
    ["keys"],
    "finds by pattern",
    async (redis) => {
      await redis.mset({ "user:1": "a", "user:2": "b", order: "c" });
      assert.deepEqual((await redis.keys("user:*")).sort(), ["user:1", "user:2"]);
      assert.deepEqual(await redis.keys("user:[2-9]"), ["user:2"]);
      assert.deepEqual(await redis.keys("nothing*"), []);
    },
  ],
  [
    ["randomkey"],
    "is one of the keys, or null",
    async (redis) => {
      assert.equal(await redis.randomkey(), null);
      await redis.set("only", "value");
      assert.equal(await redis.randomkey(), "only");
    },
  ],
  [
    ["rename", "renamenx"],
    "move a value with its expiry",
    async (redis) => {
      await redis.set("from", "value", { ex: 100 });
      assert.equal(await redis.rename("from", "to"), "OK");
      assert.equal(await redis.get("to"), "value");
      assert.equal(await redis.ttl("to"), 100);
      await redis.set("other", "x");
      assert.equal(await redis.renamenx("to", "other"), 0);
      assert.equal(await redis.renamenx("to", "free"), 1);
      await assert.rejects(redis.rename("missing", "x"), /ERR no such key/);
    },
  ],
  [
    ["scan"],
    "returns every key once if nothing changes",
    async (redis) => {
      await redis.mset(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key:${i}`, i])));
      const met: string[] = [];
      let cursor = "0";
      do {
        const [next, keys] = await redis.scan(cursor, { count: 50 });
        met.push(...keys);
        cursor = next;
      } while (cursor !== "0");
      assert.equal(met.length, 500);
      assert.equal(new Set(met).size, 500);
    },
  ],
  [
    ["scan"],
    "filters by pattern and type, and returns types",
    async (redis) => {
      await redis.mset({ "a:1": "x", "b:1": "y" });
      await redis.hset("a:2", { field: 1 });
      assert.deepEqual(await redis.scan(0, { match: "b:*", count: 100 }), ["0", ["b:1"]]);
      assert.deepEqual(await redis.scan(0, { type: "hash", count: 100 }), ["0", ["a:2"]]);
      const [cursor, found] = await redis.scan(0, { withType: true, count: 100 });
      assert.equal(cursor, "0");
      assert.deepEqual(
        found.toSorted((left, right) => left.key.localeCompare(right.key)),
        [
          { key: "a:1", type: "string" },
          { key: "a:2", type: "hash" },
          { key: "b:1", type: "string" },
        ],
      );
    },
  ],
  [
    ["type"],
    "names the type of a key",
    async (redis) => {
      await redis.set("string", "x");
      await redis.hset("hash", { a: 1 });
      assert.equal(await redis.type("string"), "string");
      assert.equal(await redis.type("hash"), "hash");
      assert.equal(await redis.type("missing"), "none");
    },
  ],
  [
    ["exec"],
    "runs a command without a method: OBJECT ENCODING",
    async (redis) => {
      await redis.set("key", "12");
      assert.equal(await redis.exec(["OBJECT", "ENCODING", "key"]), "int");
    },
  ],
  [
    ["dbsize", "flushdb", "flushall"],
    "count and empty the database",
    async (redis) => {
      await redis.mset({ a: 1, b: 2 });
      assert.equal(await redis.dbsize(), 2);
      assert.equal(await redis.flushdb(), "OK");
      assert.equal(await redis.dbsize(), 0);
      await redis.set("a", 1);
      assert.equal(await redis.flushall(), "OK");
      assert.equal(await redis.dbsize(), 0);
      await redis.set("a", 1);
      assert.equal(await redis.flushdb({ async: true }), "OK");
      assert.equal(await redis.dbsize(), 0);
    },
  ],
  [
    ["time"],
    "is the current time, in seconds and microseconds",
    async (redis) => {
      const [seconds, micros] = await redis.time();
      assert.ok(Math.abs(seconds - Date.now() / 1000) < 60, `${seconds} s`);
      assert.ok(micros >= 0 && micros < 1_000_000, `${micros} µs`);
    },
  ],
  [
    ["ping", "echo"],
    "answer",
    async (redis) => {
      assert.equal(await redis.ping(), "PONG");
      assert.equal(await redis.ping(["hello"]), "hello");
      assert.equal(await redis.echo("OK then"), "OK then");
      assert.equal(await redis.echo("OK"), "OK");
    },
  ],
  [
    ["clientSetinfo"],
    "is refused: over HTTP no connection can be named",
    async (redis) => {
      await assert.rejects(redis.clientSetinfo("LIB-NAME", "mine"), /ERR Command is not available: 'CLIENT'/);
    },
  ],
  [
    ["expire", "pexpire", "expireat", "pexpireat"],
    "accept each condition in either case",
    async (redis) => {
      await redis.set("key", "value");
      assert.equal(await redis.expire("key", 100, "xx"), 0);
      assert.equal(await redis.expire("key", 100, "nx"), 1);
      assert.equal(await redis.expire("key", 200, "LT"), 0);
      assert.equal(await redis.expire("key", 200, "gt"), 1);
      assert.equal(await redis.pexpire("key", 300_000, "NX"), 0);
      assert.equal(await redis.pexpire("key", 300_000, "XX"), 1);
      assert.equal(await redis.pexpire("key", 250_000, "GT"), 0);
      assert.equal(await redis.pexpire("key", 250_000, "lt"), 1);
      assert.equal(await redis.ttl("key"), 250);
      assert.equal(await redis.expireat("key", FAR_S, "nx"), 0);
      assert.equal(await redis.expireat("key", FAR_S, "LT"), 0);
      assert.equal(await redis.expireat("key", FAR_S, "gt"), 1);
      assert.equal(await redis.pexpireat("key", FAR_S * 1000 + 1, "XX"), 1);
      assert.equal(await redis.pexpireat("key", FAR_S * 1000 + 2, "lt"), 0);
      assert.equal(await redis.exec(["PEXPIRETIME", "key"]), 4_102_444_800_001);
    },
  ],
  [
    ["flushall", "flushdb", "copy"],
    "accept their options",
    async (redis) => {
      await redis.mset({ from: 1, to: 2 });
      assert.equal(await redis.copy("from", "to", { replace: false }), "NOT_COPIED");
      assert.equal(await redis.copy("from", "from"), "NOT_COPIED");
      assert.equal(await redis.copy("from", "from", { replace: true }), "NOT_COPIED");
      assert.equal(await redis.flushall([{ async: true }]), "OK");
      assert.equal(await redis.dbsize(), 0);
      await redis.set("key", 1);
      assert.equal(await redis.flushdb({ async: false }), "OK");
      assert.equal(await redis.dbsize(), 0);
    },
  ],
  [
    ["scan"],
    "accepts a number as cursor, and all options at once",
    async (redis) => {
      await redis.mset({ "a:1": 1, "a:2": 2 });
      await redis.rpush("a:3", 1);
      await redis.rpush("b:1", 1);
      assert.deepEqual(await redis.scan(0, { match: "a:*", count: 100, type: "list" }), ["0", ["a:3"]]);
      assert.deepEqual(await redis.scan("0", { match: "b:*", count: 100, withType: true }), [
        "0",
        [{ key: "b:1", type: "list" }],
      ]);
      assert.deepEqual(await redis.scan(0, { match: "b:*", count: 100, withType: false }), ["0", ["b:1"]]);
    },
  ],
  [
    ["type"],
    "names each kind of value",
    async (redis) => {
      await redis.set("string", "x");
      await redis.rpush("list", 1);
      await redis.sadd("set", 1);
      await redis.zadd("zset", { score: 1, member: "a" });
      await redis.hset("hash", { a: 1 });
      await redis.xadd("stream", "1-1", { a: 1 });
      await redis.json.set("json", "$", {});
      const types: string[] = [];
      for (const key of ["string", "list", "set", "zset", "hash", "stream", "json", "none"])
        types.push(await redis.type(key));
      assert.deepEqual(types, ["string", "list", "set", "zset", "hash", "stream", "ReJSON-RL", "none"]);
    },
  ],
]);
