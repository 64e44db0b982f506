/** Every stream method of `@upstash/redis` against the real program. */
import assert from "node:assert/strict";
import type { Redis } from "@upstash/redis";
import { testMethods } from "./client.ts";

/** Three entries, a group that starts in front of them, and two of them delivered to Ada. */
async function fill(redis: Redis): Promise<void> {
  for (const id of ["1-1", "2-1", "3-1"]) await redis.xadd("stream", id, { field: `value ${id}` });
  await redis.xgroup("stream", { type: "CREATE", group: "group", id: "0" });
  await redis.xreadgroup("group", "ada", "stream", ">", { count: 2 });
}

testMethods("Stream", [
  [
    ["xadd", "xlen", "xrange", "xrevrange"],
    "keep entries in the order of their ids",
    async (redis) => {
      assert.equal(await redis.xadd("stream", "1-1", { name: "Ada", age: 36 }), "1-1");
      assert.match(await redis.xadd("stream", "*", { name: "straße" }), /^\d{13}-0$/);
      assert.equal(await redis.xadd("missing", "*", { a: "b" }, { nomkStream: true }), null);
      assert.equal(await redis.xlen("stream"), 2);
      assert.deepEqual(Object.values(await redis.xrange("stream", "-", "+")), [
        { name: "Ada", age: 36 },
        { name: "straße" },
      ]);
      assert.deepEqual(await redis.xrange("stream", "-", "+", 1), { "1-1": { name: "Ada", age: 36 } });
      assert.deepEqual(Object.values(await redis.xrevrange("stream", "+", "-", 1)), [{ name: "straße" }]);
      assert.deepEqual(await redis.xrange("missing", "-", "+"), {});
    },
  ],
  [
    ["xadd", "xtrim"],
    "trim nearly exactly where that is enough",
    async (redis) => {
      for (let i = 1; i <= 60; i += 1) await redis.xadd("stream", `${i}-1`, { i });
      assert.equal(await redis.xtrim("stream", { strategy: "MAXLEN", threshold: 30 }), 30);
      assert.equal(await redis.xtrim("stream", { strategy: "MINID", threshold: "41-0", exactness: "=" }), 10);
      await redis.xadd("stream", "61-1", { i: 61 }, { trim: { type: "MAXLEN", threshold: 5, comparison: "=" } });
      assert.equal(await redis.xlen("stream"), 5);
    },
  ],
  [
    ["xdel", "xdelex"],
    "remove entries, with what groups know of them or only without",
    async (redis) => {
      await fill(redis);
      assert.equal(await redis.xdel("stream", ["1-1", "9-9"]), 1);
      assert.deepEqual(await redis.xdelex("stream", "ACKED", "2-1", "9-9"), [2, -1]);
      assert.deepEqual(await redis.xdelex("stream", "DELREF", "2-1"), [1]);
      assert.equal(await redis.xlen("stream"), 1);
    },
  ],
  [
    ["xread"],
    "tells what lies behind an id, of one stream or several",
    async (redis) => {
      await fill(redis);
      await redis.xadd("other", "5-1", { a: 1 });
      assert.deepEqual(await redis.xread("stream", "2-1"), [["stream", [["3-1", ["field", "value 3-1"]]]]]);
      assert.deepEqual(await redis.xread(["stream", "other"], ["0", "0"], { count: 1 }), [
        ["stream", [["1-1", ["field", "value 1-1"]]]],
        ["other", [["5-1", ["a", 1]]]],
      ]);
      assert.equal(await redis.xread("stream", "3-1"), null);
      await assert.rejects(redis.xread("stream", "$", { blockMS: 10 }), /Command is not available: 'XREAD BLOCK'/);
    },
  ],
  [
    ["xgroup", "xreadgroup", "xack", "xackdel"],
    "deliver entries to consumers until they are acknowledged",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.xreadgroup("group", "bob", "stream", ">"), [
        ["stream", [["3-1", ["field", "value 3-1"]]]],
      ]);
      assert.equal(await redis.xack("stream", "group", ["1-1", "9-9"]), 1);
      assert.deepEqual(await redis.xreadgroup("group", "ada", "stream", "0"), [
        ["stream", [["2-1", ["field", "value 2-1"]]]],
      ]);
      assert.deepEqual(await redis.xackdel("stream", "group", "DELREF", "2-1", "1-1"), [1, -1]);
      assert.equal(await redis.xgroup("stream", { type: "CREATECONSUMER", group: "group", consumer: "eve" }), 1);
      assert.equal(await redis.xgroup("stream", { type: "DELCONSUMER", group: "group", consumer: "bob" }), 1);
      assert.equal(await redis.xgroup("stream", { type: "SETID", group: "group", id: "$" }), "OK");
      assert.equal(await redis.xgroup("stream", { type: "DESTROY", group: "group" }), 1);
    },
  ],
  [
    ["xpending", "xclaim", "xautoclaim"],
    "tell what is pending and give it to others",
    async (redis) => {
      await fill(redis);
      const [[id, consumer, , count] = []] = (await redis.xpending("stream", "group", "-", "+", 10)) as unknown[][];
      assert.deepEqual([id, consumer, count], ["1-1", "ada", 1]);
      assert.deepEqual(await redis.xclaim("stream", "group", "bob", 0, "1-1"), [["1-1", ["field", "value 1-1"]]]);
      assert.deepEqual(await redis.xautoclaim("stream", "group", "bob", 0, "1-2", { justId: true }), [
        "0-0",
        ["2-1"],
        [],
      ]);
      const pending = await redis.xpending("stream", "group", "-", "+", 10, { consumer: "bob" });
      assert.equal(pending.length, 2);
    },
  ],
  [
    ["xinfo"],
    "tells of groups and consumers",
    async (redis) => {
      await fill(redis);
      const [consumer] = (await redis.xinfo("stream", { type: "CONSUMERS", group: "group" })) as unknown[][];
      assert.deepEqual(consumer?.slice(0, 5), ["name", "ada", "pending", 2, "idle"]);
      assert.deepEqual(await redis.xinfo("stream", { type: "GROUPS" }), [
        [
          ...["name", "group", "consumers", 1, "pending", 2],
          ...["last-delivered-id", "2-1", "entries-read", 2, "lag", 1],
        ],
      ]);
    },
  ],
]);
