import assert from "node:assert/strict";
import { test } from "node:test";
import { RowMemory } from "../rows/row-memory.ts";
import { RecordTable } from "./record-table.ts";

const memory = new RowMemory();

test("an id is found by its number and a number by its id", () => {
  const table = new RecordTable(memory);
  const record = table.add("a");

  assert.equal(table.find("a"), record);
  assert.equal(table.idOf(record), "a");
  assert.equal(table.find("b"), undefined);
});

test("the number of a removed record is assigned again before a new one", () => {
  const table = new RecordTable(memory);
  table.add("a");
  const record = table.add("b");
  table.add("c");
  table.remove(record);

  assert.equal(table.add("d"), record);
  assert.equal(table.end, 3);
});

test("names of inherited members are ordinary ids", () => {
  const table = new RecordTable(memory);
  for (const id of ["__proto__", "constructor", "toString"]) {
    assert.equal(table.find(id), undefined);
    assert.equal(table.idOf(table.add(id)), id);
  }
});

test("data counts in bytes of UTF-8 and is removed with its record", () => {
  const table = new RecordTable(memory);
  const record = table.add("a");
  table.setData(record, "é");
  assert.equal(table.dataBytes, 2);
  table.setData(record, "xyz");
  assert.equal(table.dataBytes, 3);
  table.remove(record);

  assert.equal(table.dataBytes, 0);
});

test("nothing moves while at most half of the numbers are free", () => {
  const table = new RecordTable(memory);
  for (let i = 0; i < 4_000; i += 1) table.add(`id-${i}`);
  for (let i = 0; i < 2_000; i += 1) table.remove(i);

  assert.equal(table.nextMove(), undefined);
});

test("if more are free, moves finally bring every record below the count", () => {
  const table = new RecordTable(memory);
  for (let i = 0; i < 4_000; i += 1) table.add(`id-${i}`);
  for (let i = 0; i < 3_990; i += 1) table.remove(i);
  const order = [...table.order.from(0)].map((record) => table.idOf(record));
  for (let move = table.nextMove(); move !== undefined; move = table.nextMove()) table.move(move.from, move.to);

  assert.ok(table.end <= 10 + 1_024, `numbers end at ${table.end}`);
  assert.deepEqual(
    [...table.order.from(0)].map((record) => table.idOf(record)),
    order,
  );
  for (let i = 3_990; i < 4_000; i += 1) assert.equal(table.idOf(table.find(`id-${i}`) as number), `id-${i}`);
});

test("no number is assigned twice after the numbers shrank and grew again", () => {
  const table = new RecordTable(memory);
  for (let i = 0; i < 3_000; i += 1) table.add(`a${i}`);
  for (let i = 2_999; i >= 0; i -= 1) {
    table.remove(table.find(`a${i}`) as number);
    const move = table.nextMove();
    if (move !== undefined) table.move(move.from, move.to);
  }
  const records = Array.from({ length: 5_000 }, (_, i) => table.add(`b${i}`));

  assert.equal(new Set(records).size, 5_000);
});

test("all ids are found after the table has been split into many maps", () => {
  const table = new RecordTable(memory);
  for (let i = 0; i < 5_000; i += 1) table.add(`${i}`);

  for (let i = 0; i < 5_000; i += 1) assert.equal(table.idOf(table.find(`${i}`) as number), `${i}`);
});
