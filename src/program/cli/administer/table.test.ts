import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, tableLines } from "./table.ts";

test("columns are as wide as their longest cell, and lines end without spaces", () => {
  const rows = [
    ["a", "longest"],
    ["longer", "b"],
  ];
  assert.deepEqual(tableLines(rows, ["name", "state"]), ["name    state", "a       longest", "longer  b"]);
  assert.deepEqual(tableLines([]), []);
});

test("escapes control characters", () => {
  assert.deepEqual(tableLines([["a\u001b[31mb\n"]]), ["a\\x1b[31mb\\x0a"]);
});

test("a cell shows any value", () => {
  assert.deepEqual([undefined, null, "", 0, true, { a: 1 }].map(cellOf), ["-", "-", "-", "0", "true", '{"a":1}']);
});
