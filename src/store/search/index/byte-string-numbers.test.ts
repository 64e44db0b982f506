/** The table of byte strings, whole and divided. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteStringNumbers } from "./byte-string-numbers.ts";

test("a table keeps its entries when it is divided", () => {
  const table = new ByteStringNumbers();
  for (let i = 0; i < 40_000; i += 1) {
    table.add(`key:${i}`, i);
    if (i % 10 === 9) table.delete(`key:${i - 5}`);
  }
  assert.equal(table.size, 36_000);
  for (let i = 0; i < 40_000; i += 1) assert.equal(table.get(`key:${i}`), i % 10 === 4 ? undefined : i);
  table.delete("absent");
  assert.equal(table.size, 36_000);
  assert.equal(table.get(""), undefined);
  table.add("", 7);
  assert.equal(table.get(""), 7);
});
