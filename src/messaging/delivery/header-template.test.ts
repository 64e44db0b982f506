import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderTemplate } from "./header-template.ts";

test("a template has its fixed values, and those of each request", () => {
  const template = new HeaderTemplate([
    ["A", "fixed"],
    ["B", 1],
    ["b", 1],
    ["C", 0],
  ]);
  assert.deepEqual(template.headersWith(["x", "y"]), ["A", "fixed", "B", "y", "b", "y", "C", "x"]);
  assert.deepEqual(template.headersWith(["1", "2"]), ["A", "fixed", "B", "2", "b", "2", "C", "1"]);
});
