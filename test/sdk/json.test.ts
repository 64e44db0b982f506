/** Every JSON method of `@upstash/redis` against the real program. */
import assert from "node:assert/strict";
import { testMethods } from "./client.ts";

const product = {
  name: "Headphones",
  connection: { wireless: true, type: "Bluetooth" },
  price: 99.98,
  stock: 25,
  colors: ["black", "silver"],
};

testMethods("JSON", [
  [
    ["json.set", "json.get"],
    "store documents and answer parts of them",
    async (redis) => {
      assert.equal(await redis.json.set("key", "$", { a: 2, b: 3, nested: { a: 4, b: null } }), "OK");
      assert.deepEqual(await redis.json.get("key"), { a: 2, b: 3, nested: { a: 4, b: null } });
      assert.deepEqual(await redis.json.get("key", "$..b"), [null, 3]);
      assert.deepEqual(await redis.json.get("key", "$..a", "$..b"), { "$..b": [null, 3], "$..a": [4, 2] });
      assert.deepEqual(await redis.json.get("key", { indent: "  ", newline: "\n", space: " " }, "$.nested"), [
        { a: 4, b: null },
      ]);
      assert.equal(await redis.json.get("missing", "$"), null);
      assert.equal(await redis.json.set("key", "$.a", 5, { nx: true }), null);
      assert.equal(await redis.json.set("key", "$.c", '"text"', { xx: true }), null);
      assert.equal(await redis.json.set("key", "$..a", [1, "two", { three: 3 }]), "OK");
      assert.deepEqual(await redis.json.get("key", "$.nested"), [{ a: [1, "two", { three: 3 }], b: null }]);
      await assert.rejects(redis.json.set("other", "$.a", 1), /ERR new objects must be created at the root/);
    },
  ],
  [
    ["json.mget", "json.mset"],
    "work on several documents",
    async (redis) => {
      const answer = await redis.json.mset(
        { key: "one", path: "$", value: { a: 1, b: 2, nested: { a: 3 }, c: null } },
        { key: "other", path: "$", value: { a: 4, b: 5, nested: { a: 6 }, c: null } },
        { key: "other", path: "$.d", value: ["é"] },
      );
      assert.equal(answer, "OK");
      assert.deepEqual(await redis.json.mget(["one", "other"], "$..a"), [
        [3, 1],
        [6, 4],
      ]);
      assert.deepEqual(await redis.json.mget(["other", "missing"], "$.d"), [[["é"]], null]);
    },
  ],
  [
    ["json.merge"],
    "adds, replaces and removes members",
    async (redis) => {
      await redis.json.set("key", "$", { f1: { a: 1 }, f2: { a: 2 } });
      assert.equal(await redis.json.merge("key", "$", { f1: null, f2: { a: 3, b: 4 }, f3: [2, 4, 6] }), "OK");
      assert.deepEqual(await redis.json.get("key", "$"), [{ f2: { a: 3, b: 4 }, f3: [2, 4, 6] }]);
      assert.equal(await redis.json.merge("key", "$.f4", 8), "OK");
      assert.equal(await redis.json.merge("key", "$.f3", [10, 12]), "OK");
      assert.deepEqual(await redis.json.get("key"), { f2: { a: 3, b: 4 }, f3: [10, 12], f4: 8 });
    },
  ],
  [
    ["json.del", "json.forget"],
    "remove values and count them",
    async (redis) => {
      await redis.json.set("key", "$", { a: 1, nested: { a: 2, b: 3 } });
      assert.equal(await redis.json.del("key", "$..a"), 2);
      assert.equal(await redis.json.forget("key", "$.nested.b"), 1);
      assert.deepEqual(await redis.json.get("key"), { nested: {} });
      assert.equal(await redis.json.del("key"), 1);
      assert.equal(await redis.exists("key"), 0);
      assert.equal(await redis.json.forget("key"), 0);
    },
  ],
  [
    ["json.clear"],
    "empties containers and sets numbers to 0",
    async (redis) => {
      const text = '{"obj":{"a":1,"b":2},"arr":[1,2,3],"str":"foo","bool":true,"int":42,"float":3.14}';
      await redis.json.set("key", "$", text);
      assert.equal(await redis.json.clear("key", "$.*"), 4);
      assert.deepEqual(await redis.json.get("key", "$"), [
        { obj: {}, arr: [], str: "foo", bool: true, int: 0, float: 0 },
      ]);
    },
  ],
  [
    ["json.type"],
    "tells integers from other numbers",
    async (redis) => {
      await redis.json.set("key", "$", { a: 2, nested: { a: true }, foo: "bar", half: 0.5 });
      assert.deepEqual(await redis.json.type("key", "$..a"), ["boolean", "integer"]);
      assert.deepEqual(await redis.json.type("key", "$.*"), ["integer", "object", "string", "number"]);
    },
  ],
  [
    ["json.numincrby", "json.nummultby"],
    "calculate, and answer null for what is no number",
    async (redis) => {
      await redis.json.set("key", "$", { a: "b", b: [{ a: 2 }, { a: 5 }, { a: "c" }] });
      assert.deepEqual(await redis.json.numincrby("key", "$.a", 2), [null]);
      assert.deepEqual(await redis.json.numincrby("key", "$..a", 2), [4, 7, null, null]);
      assert.deepEqual(await redis.json.nummultby("key", "$..a", 2), [8, 14, null, null]);
      assert.deepEqual(await redis.json.numincrby("key", "$.b[0].a", 0.5), [8.5]);
    },
  ],
  [
    ["json.strappend", "json.strlen"],
    "lengthen strings",
    async (redis) => {
      await redis.json.set("key", "$", { a: "foo", nested: { a: "hello" }, nested2: { a: 31 } });
      assert.deepEqual(await redis.json.strappend("key", "$..a", '"baz"'), [8, null, 6]);
      assert.deepEqual(await redis.json.strlen("key", "$..a"), [8, null, 6]);
      assert.deepEqual(await redis.json.get("key", "$.a"), ["foobaz"]);
    },
  ],
  [
    ["json.toggle"],
    "turns booleans around",
    async (redis) => {
      await redis.json.set("key", "$", { bool: true, text: "x" });
      assert.deepEqual(await redis.json.toggle("key", "$.bool"), [0]);
      assert.deepEqual(await redis.json.toggle("key", "$.*"), [1, null]);
      assert.deepEqual(await redis.json.get("key", "$"), [{ bool: true, text: "x" }]);
    },
  ],
  [
    ["json.objkeys", "json.objlen"],
    "list objects",
    async (redis) => {
      await redis.json.set("key", "$", { a: [3], nested: { a: { b: 2, c: 1 } } });
      assert.deepEqual(await redis.json.objkeys("key", "$..a"), [["b", "c"], null]);
      assert.deepEqual(await redis.json.objlen("key", "$..a"), [2, null]);
    },
  ],
  [
    ["json.arrappend", "json.arrinsert", "json.arrlen", "json.arrindex"],
    "put elements into arrays and find them",
    async (redis) => {
      await redis.json.set("key", "$", product);
      assert.deepEqual(await redis.json.arrappend("key", "$.colors", '"blue"'), [3]);
      assert.deepEqual(await redis.json.arrinsert("key", "$.colors", 2, '"yellow"', '"gold"'), [5]);
      assert.deepEqual(await redis.json.get("key", "$.colors"), [["black", "silver", "yellow", "gold", "blue"]]);
      assert.deepEqual(await redis.json.arrlen("key", "$.colors"), [5]);
      assert.deepEqual(await redis.json.arrindex("key", "$..colors", '"silver"'), [1]);
      assert.deepEqual(await redis.json.arrindex("key", "$.*", '"none"', 0, 2), [null, null, null, null, -1]);
    },
  ],
  [
    ["json.arrpop", "json.arrtrim"],
    "take elements out of arrays",
    async (redis) => {
      await redis.json.set("key", "$", { levels: [80, 90, 100, 120], empty: [] });
      assert.deepEqual(await redis.json.arrpop("key", "$.levels", 0), [80]);
      assert.deepEqual(await redis.json.arrpop("key", "$.*"), [120, null]);
      assert.deepEqual(await redis.json.arrtrim("key", "$.levels", 1, 1), [1]);
      assert.deepEqual(await redis.json.get("key", "$.levels"), [[100]]);
    },
  ],
  [
    ["json.resp"],
    "answers a document as a list",
    async (redis) => {
      await redis.json.set("key", "$", product);
      assert.deepEqual(await redis.json.resp("key"), [
        "{",
        ...["name", "Headphones"],
        ...["connection", ["{", "wireless", true, "type", "Bluetooth"]],
        ...["price", 99.98],
        ...["stock", 25],
        ...["colors", ["[", "black", "silver"]],
      ]);
    },
  ],
]);
