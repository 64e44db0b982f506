/** The text side of the console's vector pages: filters that rows make, places of errors, the plane of a map. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  errorPlace,
  fieldPaths,
  filterOperators,
  filterText,
} from "../../console/src/pages/vector/filter/filter-text.ts";
import { planeOf } from "../../console/src/pages/vector/map/plane.ts";
import { sampleMax, sampleRuns } from "../../console/src/pages/vector/map/sample-runs.ts";
import { FilterFailure } from "../../src/vector/filter/failure.ts";
import { compileFilter } from "../../src/vector/filter/filter.ts";
import { operators } from "../../src/vector/filter/operators.ts";

test("the console has the operators of larder", () => {
  assert.deepEqual(
    filterOperators.map(({ words, operand, isPrefix = false }) => ({ words, operand, isPrefix })),
    operators.map(({ words, operand, place }) => ({ words, operand, isPrefix: place === "before the field" })),
  );
});

test("a condition becomes a filter that larder reads", () => {
  const rows: readonly (readonly [field: string, words: string, value: string, filter: string])[] = [
    ["city", "=", "Oslo", "city = 'Oslo'"],
    ["city", "!=", "", "city != ''"],
    [" a.b[0].c[*] ", "<", " -1.5e3 ", "a.b[0].c[*] < -1.5e3"],
    ["n", "<=", ".5", "n <= .5"],
    ["n", ">", "1.", "n > '1.'"],
    ["n", ">=", "1e999x", "n >= '1e999x'"],
    ["flag", "=", "True", "flag = True"],
    ["digits", "=", "'5'", "digits = '5'"],
    ["digits", "=", '"5"', 'digits = "5"'],
    ["name", "=", "O'Neil \\", "name = 'O\\'Neil \\\\'"],
    ["name", "=", "'a' and 'b'", "name = '\\'a\\' and \\'b\\''"],
    ["name", "GLOB", "5*", "name GLOB '5*'"],
    ["name", "NOT GLOB", "'?'", "name NOT GLOB '?'"],
    ["city", "IN", "Oslo, 5, 'a, b',true", "city IN ('Oslo', 5, 'a, b', true)"],
    ["city", "NOT IN", "", "city NOT IN ('')"],
    ["tags", "CONTAINS", "red", "tags CONTAINS 'red'"],
    ["tags", "NOT CONTAINS", "5", "tags NOT CONTAINS 5"],
    ["größe.first name[1]", "HAS FIELD", "x", "HAS FIELD `größe`.`first name`[1]"],
    ["`a.b`", "HAS NOT FIELD", "", "HAS NOT FIELD `a.b`"],
    ["9", "HAS FIELD", "", "HAS FIELD `9`"],
  ];
  for (const [field, words, value, filter] of rows) {
    assert.equal(filterText({ typed: "", conditions: [{ field, words, value }], joint: "AND" }), filter);
    compileFilter(filter);
  }
});

test("conditions are joined with each other and with what was typed", () => {
  const one = { field: "a", words: "=", value: "1" };
  const two = { field: "b", words: "=", value: "2" };
  const empty = { field: " ", words: "=", value: "3" };
  assert.equal(filterText({ typed: " x = 1", conditions: [empty], joint: "OR" }), " x = 1");
  assert.equal(filterText({ typed: " ", conditions: [one, empty, two], joint: "OR" }), "a = 1 OR b = 2");
  assert.equal(filterText({ typed: "x = 1 OR y = 2 ", conditions: [one], joint: "OR" }), "(x = 1 OR y = 2) AND a = 1");
  assert.equal(filterText({ typed: "x = 1", conditions: [one, two], joint: "AND" }), "(x = 1) AND a = 1 AND b = 2");
  assert.equal(filterText({ typed: "x = 1", conditions: [one, two], joint: "OR" }), "(x = 1) AND (a = 1 OR b = 2)");
});

test("the place of an error is the part of the filter that larder names", () => {
  const rows: readonly (readonly [filter: string, marked: string, before: string])[] = [
    ["city == 'Oslo'", "==", "city "],
    ["  city = Oslo", "Oslo", "  city = "],
    ["face = '😀' AND n > > 1", ">", "face = '😀' AND n > "],
    ["city =", "", "city ="],
    ["city = 'Oslo", "'Oslo", "city = "],
    ["a = 1 b = 2", "b", "a = 1 "],
    ["a = 1 AND *", "*", "a = 1 AND "],
  ];
  for (const [filter, marked, before] of rows) {
    const place = errorPlace(refusalOf(filter), filter);
    assert.ok(place !== undefined, filter);
    assert.equal(filter.slice(0, place.start), before);
    assert.equal(filter.slice(place.start, place.end), marked);
    assert.notEqual(place.problem, "");
  }
  const long = `city = '${"x".repeat(5_000)}'`;
  assert.equal(errorPlace(refusalOf(long), long), undefined);
});

function refusalOf(filter: string): string {
  try {
    compileFilter(filter);
  } catch (error) {
    if (error instanceof FilterFailure) return error.text;
    throw error;
  }
  throw new Error(`larder reads ${filter}`);
}

test("fields of metadata are offered as paths that a filter can have", () => {
  const paths = fieldPaths([
    { city: "Oslo", place: { "first name": 1, "a.b": [1] }, none: null },
    undefined,
    5,
    { city: "Bergen", deep: { deeper: { x: true } } },
  ]);
  assert.deepEqual(paths, ["city", "place.`first name`", "place.`a.b`", "none", "deep.deeper.x"]);
  for (const path of paths) compileFilter(`HAS FIELD ${path}`);
});

test("the sample of a map has 20 runs spread over its namespace, which are shorter for long vectors", () => {
  const runs = sampleRuns(84_000, 3);
  assert.deepEqual(runs.slice(0, 3), [
    { offset: 0, count: 50 },
    { offset: 4_200, count: 50 },
    { offset: 8_400, count: 50 },
  ]);
  assert.deepEqual(runs.slice(19), [{ offset: 79_800, count: 50 }]);
  assert.deepEqual(sampleRuns(1_001, 0).at(-1), { offset: 950, count: 50 });
  assert.deepEqual(sampleRuns(84_000, 1_536).at(1), { offset: 4_200, count: 16 });
  assert.deepEqual(sampleRuns(101, 1_000_000).at(-1), { offset: 95, count: 5 });
  assert.deepEqual([0, 3, 1_536, 1_000_000].map(sampleMax), [1_000, 1_000, 325, 100]);
});

test("a map has the two axes on which vectors differ most, by their share of the variance", async () => {
  let pauses = 0;
  const pause = async (): Promise<void> => {
    pauses += 1;
  };
  // Along (0, 1, 0) by 3, along (1, 0, 0) by 1, in no other way.
  const { points, shares } = await planeOf(
    [
      [11, 23, 7],
      [11, 17, 7],
      [9, 23, 7],
      [9, 17, 7],
    ],
    pause,
  );
  assert.deepEqual(
    points.map((point) => point.map((value) => Math.round(Math.abs(value) * 1e4) / 1e4)),
    [
      [3, 1],
      [3, 1],
      [3, 1],
      [3, 1],
    ],
  );
  assert.deepEqual(
    shares.map((share) => Math.round(share * 1e6) / 1e6),
    [0.9, 0.1],
  );
  assert.ok(pauses > 0);
  assert.deepEqual(await planeOf([[1, 2]], pause), { points: [[0, 0]], shares: [0, 0] });
  assert.deepEqual(await planeOf([], pause), { points: [], shares: [0, 0] });
});
