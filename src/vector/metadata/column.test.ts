/** A column: values by record, records by value, and unused values. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFieldPath } from "../filter/field-path.ts";
import type { Json } from "../filter/json.ts";
import { Column } from "./column.ts";

function columnOf(path: string): Column {
  return new Column(parseFieldPath(path, 0, path.length));
}

function recordsWith(column: Column, value: string | number | boolean): readonly number[] {
  const words = new Uint32Array(8);
  for (const id of column.dictionary.idsLike(value)) column.addRecords(id, words);
  return Array.from({ length: 256 }, (_, record) => record).filter(
    (record) => (((words[record >>> 5] ?? 0) >>> (record & 31)) & 1) === 1,
  );
}

test("finds records by value, and true and false also as 1 and 0", () => {
  const column = columnOf("a.b");
  const values: readonly Json[] = ["x", 1, true, "1", 0, false, -0, null, "x", [1], {}];
  for (const [record, b] of values.entries()) column.put(record * 20, { a: { b } });
  column.put(250, { a: 1 });
  assert.deepEqual(recordsWith(column, "x"), [0, 160]);
  assert.deepEqual(recordsWith(column, 1), [20, 40]);
  assert.deepEqual(recordsWith(column, true), [20, 40]);
  assert.deepEqual(recordsWith(column, "1"), [60]);
  assert.deepEqual(recordsWith(column, false), [80, 100, 120]);
  assert.deepEqual(recordsWith(column, "y"), []);
  assert.equal(column.recordCount, 12);
});

test("finds a record only by its current value", () => {
  const column = columnOf("a");
  for (let record = 0; record < 5; record += 1) column.put(record, { a: "x" });
  column.put(2, { a: "y" });
  column.remove(0);
  column.remove(4);
  column.put(4, { a: "y" });
  assert.deepEqual(recordsWith(column, "x"), [1, 3]);
  assert.deepEqual(recordsWith(column, "y"), [2, 4]);
  assert.equal(column.recordCount, 4);
});

test("unused values take no room", () => {
  const column = columnOf("a");
  column.put(0, { a: "stays" });
  const kinds: readonly ((i: number) => Json)[] = [(i) => i / 7, (i) => `text ${i}`, (i) => [i, "x", null, [i]]];
  for (let i = 0; i < 3_000; i += 1) column.put(1, { a: kinds[i % 3]?.(i) ?? null });
  column.put(1, { a: 5 });
  assert.ok(column.dictionary.limit < 16, `${column.dictionary.limit} ids`);
  assert.ok(column.byteCount < 4_096, `${column.byteCount} bytes`);
  assert.deepEqual(recordsWith(column, 5), [1]);
  assert.deepEqual(recordsWith(column, "stays"), [0]);
});

test("arrays with equal scalars are one value, and all objects are one value", () => {
  const column = columnOf("a");
  const values: readonly Json[] = [[1, "x", null, [2]], [1, {}, "x"], [1], { b: 1 }, { c: 2 }];
  for (const [record, a] of values.entries()) column.put(record, { a });
  const [first, second, third, fourth, fifth] = column.ids;
  assert.equal(first, second);
  assert.notEqual(first, third);
  assert.equal(fourth, fifth);
  assert.deepEqual(column.dictionary.value(first ?? 0), [1, "x"]);
});

test("the value of a path with [*] is the list of the distinct scalars and arrays that it leads to", () => {
  const column = columnOf("a[*].b");
  const values: readonly Json[] = [
    [{ b: 1 }, { b: "x" }, { b: null }, { b: 1 }, 5],
    [{ b: 1 }, { b: {} }, { c: 2 }, { b: "x" }],
    [{ b: true }, { b: "x" }],
    [{ b: [1, null, [2]] }, { b: 9007199254740993n }],
    [{ b: Number.POSITIVE_INFINITY }],
    [{ b: Number.NEGATIVE_INFINITY }],
    [{ b: null }],
    [],
    [{ c: 1 }],
  ];
  for (const [record, a] of values.entries()) column.put(record, { a });
  const listed = [...column.ids.subarray(0, values.length)].map((id) => column.dictionary.value(id));
  assert.deepEqual(listed, [
    ...[
      [1, "x"],
      [1, "x"],
      [true, "x"],
      [[1], 9007199254740993n],
    ],
    ...[[Number.POSITIVE_INFINITY], [Number.NEGATIVE_INFINITY], [], undefined, undefined],
  ]);
  assert.equal(column.ids[0], column.ids[1]);
  assert.equal(new Set(column.ids.subarray(0, values.length)).size, 7);
  for (const record of values.keys()) column.put(record, { a: [{ b: 0 }] });
  column.put(0, { a: [{ b: [1, null, [2]] }, { b: 9007199254740993n }] });
  assert.equal(column.recordCount, 9);
});
