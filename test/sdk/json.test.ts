/** Every JSON method of `@upstash/redis`. */
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
    "store documents and return parts of them",
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
    "distinguishes integers from other numbers",
    async (redis) => {
      await redis.json.set("key", "$", { a: 2, nested: { a: true }, foo: "bar", half: 0.5 });
      assert.deepEqual(await redis.json.type("key", "$..a"), ["boolean", "integer"]);
      assert.deepEqual(await redis.json.type("key", "$.*"), ["integer", "object", "string", "number"]);
    },
  ],
  [
    ["json.numincrby", "json.nummultby"],
    "calculate, and return null for other values than numbers",
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
    "toggles booleans",
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
    "remove elements from arrays",
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
    "returns a document as a list",
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
  [
    ["json.set", "json.get", "json.mset"],
    "keep values of every kind, and set under a condition",
    async (redis) => {
      for (const value of [7, -0.5, true, [1, "2"], { a: { b: [null] } }, [], {}]) {
        assert.equal(await redis.json.set("key", "$", value), "OK");
        assert.deepEqual(await redis.json.get("key", "$"), [value]);
        assert.deepEqual(await redis.json.get("key", "."), value);
      }
      assert.equal(await redis.json.set("key", "$", '"12"'), "OK");
      assert.deepEqual(await redis.json.type("key", "$"), ["string"]);
      assert.equal(await redis.json.set("key", "$", {}), "OK");
      assert.equal(await redis.json.set("key", "$.new", 1, { xx: true }), null);
      assert.equal(await redis.json.set("key", "$.new", 1, { nx: true }), "OK");
      assert.equal(await redis.json.set("key", "$.new", 2, { xx: true }), "OK");
      assert.equal(await redis.json.set("key", "$", {}, { nx: true }), null);
      assert.deepEqual(await redis.json.get("key"), { new: 2 });
      const values = [
        { key: "a", path: "$", value: [1, 2] },
        { key: "b", path: "$", value: true },
      ];
      assert.equal(await redis.json.mset(...values), "OK");
      assert.deepEqual(await redis.json.mget(["a", "b", "none"], "$"), [[[1, 2]], [true], null]);
      assert.deepEqual(await redis.json.get("key", { indent: "\t", newline: "\n", space: " " }), { new: 2 });
      assert.equal(
        await redis.exec(["JSON.GET", "key", "INDENT", "\t", "NEWLINE", "\n", "SPACE", " ", "$"]).then(JSON.stringify),
        '[{"new":2}]',
      );
    },
  ],
  [
    ["json.arrlen", "json.arrpop", "json.clear", "json.del", "json.objkeys", "json.objlen", "json.resp", "json.type"],
    "work on the whole document without a path",
    async (redis) => {
      await redis.json.set("list", "$", [1, "zwei", { drei: 3 }]);
      await redis.json.set("map", "$", { a: 1, b: [true, null] });
      const whole: unknown[] = [
        await redis.json.arrlen("list"),
        await redis.json.type("list"),
        await redis.json.arrpop("list"),
        await redis.json.objkeys("map"),
        await redis.json.objlen("map"),
        await redis.json.resp("list"),
        await redis.json.clear("list"),
        await redis.json.get("list"),
        await redis.json.del("list"),
      ];
      assert.deepEqual(whole, [[3], "array", { drei: 3 }, ["a", "b"], 2, ["[", 1, "zwei"], 1, [], 1]);
      assert.deepEqual(await redis.json.resp("map", "$.b"), [["[", true, null]]);
      assert.equal(await redis.json.forget("map"), 1);
      assert.equal(await redis.exists("list", "map"), 0);
    },
  ],
  [
    ["json.strlen", "json.arrindex", "json.arrtrim", "json.arrpop", "json.arrinsert"],
    "count from both ends, and strings by their bytes",
    async (redis) => {
      await redis.json.set("text", "$", '"höre"');
      assert.deepEqual(await redis.json.strlen("text", "$"), [5]);
      assert.equal(await redis.exec(["JSON.STRLEN", "text"]), 5);
      await redis.json.set("key", "$", { a: [0, 1, 2, 1, 0] });
      assert.deepEqual(await redis.json.arrindex("key", "$.a", 1), [1]);
      assert.deepEqual(await redis.json.arrindex("key", "$.a", 1, 2), [3]);
      assert.deepEqual(await redis.json.arrindex("key", "$.a", 1, -3, -2), [-1]);
      assert.deepEqual(await redis.json.arrinsert("key", "$.a", -1, 9), [6]);
      assert.deepEqual(await redis.json.arrpop("key", "$.a", -2), [9]);
      assert.deepEqual(await redis.json.arrtrim("key", "$.a", -2, -1), [2]);
      assert.deepEqual(await redis.json.arrtrim("key", "$.a", 5, 9), [0]);
      assert.deepEqual(await redis.json.get("key"), { a: [] });
    },
  ],
  [
    ["json.numincrby", "json.nummultby", "json.toggle", "json.strappend", "json.merge"],
    "refuse missing keys and paths",
    async (redis) => {
      const refused: readonly (() => Promise<unknown>)[] = [
        () => redis.json.numincrby("none", "$", 1),
        () => redis.json.nummultby("none", "$", 2),
        () => redis.json.toggle("none", "$"),
        () => redis.json.strappend("none", "$", '"x"'),
        () => redis.json.arrappend("none", "$", 1),
        () => redis.json.arrinsert("none", "$", 0, 1),
      ];
      for (const run of refused)
        await assert.rejects(run(), /ERR could not perform this operation on a key that doesn't exist/);
      assert.equal(await redis.json.merge("fresh", "$", { a: 1, b: null }), "OK");
      assert.deepEqual(await redis.json.get("fresh"), { a: 1 });
      await redis.set("text", "x");
      await assert.rejects(redis.json.get("text"), /WRONGTYPE Operation against a key/);
    },
  ],
]);
