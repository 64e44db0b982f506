import assert from "node:assert/strict";
import { test } from "node:test";
import { headerLists } from "./header-lists.ts";

test("headers are lists by name, whatever the case they came in, and no name is special", () => {
  const lists = headerLists(["x-a", "1", "X-A", "2", "__proto__", "3", "constructor", "4"]);
  assert.deepEqual(Object.entries(lists), [
    ["X-A", ["1", "2"]],
    ["__proto__", ["3"]],
    ["Constructor", ["4"]],
  ]);
});
