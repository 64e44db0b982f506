/** Every stream method of `@upstash/redis`. */
import assert from "node:assert/strict";
import type { Redis } from "@upstash/redis";
import { testMethods } from "./client.ts";

/** Three entries, a group that starts before them, and two of them delivered to Ada. */
async function fill(redis: Redis): Promise<void> {
  for (const id of ["1-1", "2-1", "3-1"]) await redis.xadd("stream", id, { field: `value ${id}` });
  await redis.xgroup("stream", { type: "CREATE", group: "group", id: "0" });
  await redis.xreadgroup("group", "ada", "stream", ">", { count: 2 });
}

testMethods("Stream", [
  [
    ["xadd", "xlen", "xrange", "xrevrange"],
    "store entries in the order of their ids",
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
    "trim approximately on request",
    async (redis, plain) => {
      const entries = plain.pipeline();
      for (let i = 1; i <= 60; i += 1) entries.xadd("stream", `${i}-1`, { i });
      await entries.exec();
      assert.equal(await redis.xtrim("stream", { strategy: "MAXLEN", threshold: 30 }), 0);
      assert.equal(await redis.xtrim("stream", { strategy: "MINID", threshold: "41-0", exactness: "=" }), 40);
      await redis.xadd("stream", "61-1", { i: 61 }, { trim: { type: "MAXLEN", threshold: 5, comparison: "=" } });
      assert.equal(await redis.xlen("stream"), 5);
    },
  ],
  [
    ["xdel", "xdelex"],
    "remove entries, with or without their references in groups",
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
    "returns the entries after an id, of one stream or several",
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
      assert.deepEqual(await redis.xackdel("stream", "group", "DELREF", "2-1", "1-1", "9-9"), [1, 1, -1]);
      assert.equal(await redis.xgroup("stream", { type: "CREATECONSUMER", group: "group", consumer: "eve" }), 1);
      assert.equal(await redis.xgroup("stream", { type: "DELCONSUMER", group: "group", consumer: "bob" }), 1);
      assert.equal(await redis.xgroup("stream", { type: "SETID", group: "group", id: "$" }), "OK");
      assert.equal(await redis.xgroup("stream", { type: "DESTROY", group: "group" }), 1);
    },
  ],
  [
    ["xpending", "xclaim", "xautoclaim"],
    "list pending entries and transfer them to other consumers",
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
    "describes groups and consumers",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.xinfo("stream", { type: "CONSUMERS", group: "unknown" }), []);
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
  [
    ["xadd"],
    "accepts ids of every form, and each trim option",
    async (redis) => {
      assert.equal(await redis.xadd("stream", "5-*", { object: { a: [1] } }), "5-0");
      assert.equal(await redis.xadd("stream", "5-*", { yes: true, half: 0.5 }), "5-1");
      assert.equal(await redis.xadd("stream", "6", { a: "x", b: "y" }, { nomkStream: true }), "6-0");
      assert.deepEqual(await redis.xrange("stream", "-", "+"), {
        "5-0": { object: { a: [1] } },
        "5-1": { yes: true, half: 0.5 },
        "6-0": { a: "x", b: "y" },
      });
      await assert.rejects(redis.xadd("stream", "6-0", { a: 1 }), /ERR The ID specified in XADD is equal or smaller/);
      for (const [type, threshold, id] of [
        ["MAXLEN", 3, "7-0"],
        ["maxlen", 2, "8-0"],
      ] as const)
        await redis.xadd("stream", id, { a: 1 }, { trim: { type, threshold, comparison: "=" } });
      assert.deepEqual(Object.keys(await redis.xrange("stream", "-", "+")), ["7-0", "8-0"]);
      for (const [type, threshold, id] of [
        ["MINID", "8-0", "9-0"],
        ["minid", "9-0", "10-0"],
      ] as const)
        await redis.xadd("stream", id, { a: 1 }, { trim: { type, threshold, comparison: "=" } });
      assert.deepEqual(Object.keys(await redis.xrange("stream", "-", "+")), ["9-0", "10-0"]);
      for (let i = 11; i <= 30; i += 1)
        await redis.xadd("stream", `${i}-0`, { a: 1 }, { trim: { type: "MAXLEN", threshold: 10, comparison: "~" } });
      assert.equal(await redis.xlen("stream"), 22);
      const limited = { trim: { type: "MINID", threshold: "30-0", comparison: "~", limit: 1 } } as const;
      assert.equal(await redis.xadd("stream", "31-0", { a: 1 }, limited), "31-0");
    },
  ],
  [
    ["xtrim"],
    "accepts exactness and a limit",
    async (redis, plain) => {
      const entries = plain.pipeline();
      for (let i = 1; i <= 300; i += 1) entries.xadd("stream", `${i}-0`, { i });
      await entries.exec();
      assert.equal(await redis.xtrim("stream", { strategy: "MAXLEN", threshold: 200, limit: 10 }), 10);
      assert.equal(await redis.xtrim("stream", { strategy: "MINID", threshold: "290-0", exactness: "~" }), 279);
      assert.equal(await redis.xlen("stream"), 11);
      await redis.xtrim("stream", { strategy: "MAXLEN", threshold: 3, exactness: "=" });
      assert.deepEqual(Object.keys(await redis.xrange("stream", "-", "+")), ["298-0", "299-0", "300-0"]);
      assert.equal(await redis.xtrim("stream", { strategy: "MINID", threshold: 300, exactness: "=" }), 2);
    },
  ],
  [
    ["xrange", "xrevrange"],
    "accept bounds of every form",
    async (redis) => {
      for (const id of ["1-0", "1-1", "2-0", "3-5"]) await redis.xadd("stream", id, { id });
      const ids = (entries: object): string[] => Object.keys(entries);
      assert.deepEqual(ids(await redis.xrange("stream", "1", "1")), ["1-0", "1-1"]);
      assert.deepEqual(ids(await redis.xrange("stream", "(1-0", "(3-5")), ["1-1", "2-0"]);
      assert.deepEqual(ids(await redis.xrange("stream", "2", "+", 1)), ["2-0"]);
      assert.deepEqual(ids(await redis.xrevrange("stream", "+", "-")), ["3-5", "2-0", "1-1", "1-0"]);
      assert.deepEqual(ids(await redis.xrevrange("stream", "(3-5", "1-1", 5)), ["2-0", "1-1"]);
      assert.deepEqual(ids(await redis.xrevrange("missing", "+", "-")), []);
    },
  ],
  [
    ["xdel", "xdelex", "xackdel", "xack"],
    "accept one id or several, and each kind of reference in either case",
    async (redis) => {
      for (let i = 1; i <= 9; i += 1) await redis.xadd("stream", `${i}-0`, { i });
      await redis.xgroup("stream", { type: "CREATE", group: "group", id: "0" });
      await redis.xreadgroup("group", "ada", "stream", ">", { count: 8 });
      assert.equal(await redis.xdel("stream", "1-0"), 1);
      assert.deepEqual(await redis.xdelex("stream", undefined, "2-0"), [1]);
      assert.deepEqual(await redis.xdelex("stream", "keepref", "3-0", "3-0"), [1, -1]);
      assert.deepEqual(await redis.xdelex("stream", "acked", "4-0", "9-0"), [2, 2]);
      assert.deepEqual(await redis.xdelex("stream", "delref", "9-0"), [1]);
      assert.equal(await redis.xack("stream", "group", "4-0"), 1);
      assert.deepEqual(await redis.xackdel("stream", "group", "keepref", "5-0", "99-0"), [1, -1]);
      assert.deepEqual(await redis.xackdel("stream", "group", "ACKED", "6-0"), [1]);
      assert.deepEqual(await redis.xackdel("stream", "group", "acked", "7-0", "7-0"), [1, -1]);
      assert.deepEqual(await redis.xackdel("stream", "group", "KEEPREF", "8-0"), [1]);
      assert.deepEqual(Object.keys(await redis.xrange("stream", "-", "+")), ["4-0"]);
      const pending = (await redis.xpending("stream", "group", "-", "+", 10)) as unknown[][];
      assert.deepEqual(
        pending.map(([id]) => id),
        ["1-0", "2-0", "3-0"],
      );
    },
  ],
  [
    ["xgroup", "xreadgroup", "xread"],
    "accept all their options, and several streams at once",
    async (redis) => {
      const groupOf = { type: "CREATE", group: "group", id: "0", options: { MKSTREAM: true, ENTRIESREAD: 0 } } as const;
      assert.equal(await redis.xgroup("a", groupOf), "OK");
      assert.equal(await redis.xgroup("b", { ...groupOf, id: "$", options: { MKSTREAM: true } }), "OK");
      await assert.rejects(redis.xgroup("a", groupOf), /BUSYGROUP Consumer Group name already exists/);
      await assert.rejects(
        redis.xgroup("none", { type: "CREATE", group: "group", id: "0" }),
        /ERR The XGROUP subcommand/,
      );
      for (const key of ["a", "b"]) for (const id of ["1-0", "2-0"]) await redis.xadd(key, id, { id });
      assert.deepEqual(await redis.xreadgroup("group", "ada", ["a", "b"], [">", ">"], { count: 1, NOACK: true }), [
        ["a", [["1-0", ["id", "1-0"]]]],
        ["b", [["1-0", ["id", "1-0"]]]],
      ]);
      assert.deepEqual(await redis.xinfo("a", { type: "CONSUMERS", group: "group" }), []);
      assert.deepEqual(await redis.xreadgroup("group", "ada", "a", "0"), [["a", []]]);
      assert.equal(
        await redis.xgroup("a", { type: "SETID", group: "group", id: "0", options: { ENTRIESREAD: 0 } }),
        "OK",
      );
      assert.deepEqual(await redis.xreadgroup("group", "bob", ["a"], [">"], { NOACK: false }), [
        [
          "a",
          [
            ["1-0", ["id", "1-0"]],
            ["2-0", ["id", "2-0"]],
          ],
        ],
      ]);
      assert.equal(await redis.xreadgroup("group", "bob", "a", ">"), null);
      assert.deepEqual(await redis.xread("a", "1-0", { count: 5 }), [["a", [["2-0", ["id", "2-0"]]]]]);
      assert.deepEqual(await redis.xread(["a", "missing", "b"], ["2-0", "0", "1"]), [["b", [["2-0", ["id", "2-0"]]]]]);
      await assert.rejects(
        redis.xreadgroup("group", "bob", "a", ">", { blockMS: 1 }),
        /Command is not available: 'XREADGROUP BLOCK'/,
      );
      await assert.rejects(
        redis.xreadgroup("none", "bob", "a", ">"),
        /NOGROUP No such key 'a' or consumer group 'none'/,
      );
      assert.equal(await redis.xgroup("a", { type: "CREATECONSUMER", group: "group", consumer: "bob" }), 0);
      assert.equal(await redis.xgroup("a", { type: "DELCONSUMER", group: "group", consumer: "bob" }), 2);
      assert.equal(await redis.xgroup("a", { type: "DESTROY", group: "none" }), 0);
    },
  ],
  [
    ["xclaim", "xautoclaim", "xpending"],
    "accept all their options",
    async (redis) => {
      await fill(redis);
      assert.deepEqual(await redis.xclaim("stream", "group", "bob", 999_999, "1-1"), []);
      const options = { idleMS: 60_000, timeMS: 1, retryCount: 7, justId: true, lastId: 2 };
      assert.deepEqual(await redis.xclaim("stream", "group", "bob", 0, ["1-1", "2-1"], options), ["1-1", "2-1"]);
      const claimed = (await redis.xpending("stream", "group", "-", "+", 10, { consumer: ["bob"] })) as unknown[][];
      assert.deepEqual(
        claimed.map(([id, consumer, , deliveries]) => [id, consumer, deliveries]),
        [
          ["1-1", "bob", 7],
          ["2-1", "bob", 7],
        ],
      );
      assert.deepEqual(await redis.xclaim("stream", "group", "eve", 0, "3-1"), []);
      assert.deepEqual(await redis.xclaim("stream", "group", "eve", 0, "3-1", { force: true }), [
        ["3-1", ["field", "value 3-1"]],
      ]);
      assert.deepEqual(await redis.xautoclaim("stream", "group", "ada", 0, "0-0", { count: 1 }), [
        "2-1",
        [["1-1", ["field", "value 1-1"]]],
        [],
      ]);
      assert.deepEqual(await redis.xautoclaim("stream", "group", "ada", 0, "2-1", { count: 5, justId: true }), [
        "0-0",
        ["2-1", "3-1"],
        [],
      ]);
      assert.deepEqual(await redis.xpending("stream", "group", "-", "+", 10, { idleTime: 900_000 }), []);
      assert.deepEqual(await redis.xpending("stream", "group", "(3-1", "+", 10, { consumer: "ada" }), []);
      assert.deepEqual(await redis.exec(["XPENDING", "stream", "group"]), [3, "1-1", "3-1", [["ada", 3]]]);
    },
  ],
]);
