import assert from "node:assert/strict";
import { test } from "node:test";
import { headerBytes, headerLists } from "./header-lists.ts";

test("C.header-maps: headers are lists by name, whatever the case they came in, and no name is special", () => {
  const lists = headerLists(["x-a", "1", "X-A", "2", "__proto__", "3", "constructor", "4"]);
  assert.deepEqual(Object.entries(lists), [
    ["X-A", ["1", "2"]],
    ["__proto__", ["3"]],
    ["Constructor", ["4"]],
  ]);
});

test("a value that is UTF-8 is shown as its text, any other as Latin-1", () => {
  assert.deepEqual(Object.entries(headerLists(["X-A", "Zo\u00c3\u00ab", "X-B", "Zo\u00eb", "X-C", "Zoe"])), [
    ["X-A", ["Zo\u00eb"]],
    ["X-B", ["Zo\u00eb"]],
    ["X-C", ["Zoe"]],
  ]);
  assert.equal(headerBytes("Zo\u00eb"), "Zo\u00c3\u00ab");
});
