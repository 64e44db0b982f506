/** Ids of strings, few and many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StringTable } from "./string-table.ts";

test("strings keep their ids when the table is divided, until they are removed", () => {
  const table = new StringTable();
  const text = (id: number): string => (id === 1 ? "" : `text ${id * id}`);
  for (let id = 1; id <= 3_000; id += 1) {
    assert.equal(table.find(text(id)), undefined);
    table.add(text(id), id);
  }
  for (let id = 1; id <= 3_000; id += 1) assert.equal(table.find(text(id)), id);
  for (let id = 1; id <= 3_000; id += 2) table.remove(text(id));
  for (let id = 1; id <= 3_000; id += 1) assert.equal(table.find(text(id)), id % 2 === 0 ? id : undefined);
});

test("A-11: names of Object.prototype are ordinary strings", () => {
  const table = new StringTable();
  for (const name of ["__proto__", "constructor", "toString"]) assert.equal(table.find(name), undefined);
});
