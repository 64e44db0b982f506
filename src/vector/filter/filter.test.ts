/** The records that pass a filter: operators, types, missing fields, paths, AND and OR. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFilter } from "./filter.ts";
import type { Json } from "./json.ts";
import { operators } from "./operators.ts";
import { filterWork } from "./work.ts";

const record: Json = JSON.parse(`{
  "city": "Istanbul", "country": "Turkey", "population": 15460000, "half": 0.5, "is_capital": false, "old": true,
  "one": 1, "zero": 0, "nothing": null, "empty": "", "digits": "5", "my-key": 2, "a.b": "dotted",
  "geography": { "continent": "Asia", "coordinates": { "latitude": 41.0082 }, "none": null },
  "tags": ["mammal", 5, true, null, ["deep"], { "name": "inner" }], "bare": [],
  "economy": { "industries": ["Tourism", "Textile", "Finance"] }
}`);

/** Filters that the record above passes, and those that it does not. */
const holds: readonly string[] = [
  "city = 'Istanbul'",
  "city != 'Ankara'",
  "population = 15460000",
  "population = 1.546e7",
  "half < 1",
  "population >= 15460000 AND population <= 15460000",
  "half > 0.49",
  "is_capital = false",
  "is_capital = 0",
  "old = true",
  "old = 1",
  "one = true",
  "zero = false",
  "zero = -0",
  "old != 0",
  "one != 2",
  "empty = ''",
  "digits != 5",
  "population != 'a'",
  "old != 'true'",
  "city GLOB 'I*l'",
  "city NOT GLOB 'A*'",
  "empty GLOB '*'",
  "country IN ('Germany', 'Turkey')",
  "population IN ('x', 15460000)",
  "old IN (1)",
  "one IN (true)",
  "country NOT IN ('Germany', 5, true)",
  "population NOT IN ('15460000')",
  "tags CONTAINS 'mammal'",
  "tags CONTAINS 5",
  "tags CONTAINS true",
  "tags CONTAINS 1",
  "tags NOT CONTAINS 0",
  "tags NOT CONTAINS '5'",
  "tags NOT CONTAINS 'deep'",
  "bare NOT CONTAINS 'x'",
  "economy.industries CONTAINS 'Tourism'",
  "HAS FIELD city",
  "HAS FIELD nothing",
  "HAS FIELD geography.none",
  "HAS FIELD geography.coordinates",
  "HAS FIELD tags[0]",
  "HAS FIELD bare",
  "HAS NOT FIELD a.b",
  "HAS NOT FIELD geography.city",
  "HAS NOT FIELD city.length",
  "HAS NOT FIELD tags.length",
  "HAS NOT FIELD tags[6]",
  "HAS NOT FIELD tags[#-7]",
  "HAS NOT FIELD bare[0]",
  "HAS NOT FIELD geography[0]",
  "HAS NOT FIELD nothing.more",
  "HAS NOT FIELD city[0]",
  "my-key = 2",
  "geography.continent = 'Asia'",
  "geography.coordinates.latitude > 41",
  "tags[0] = 'mammal'",
  "tags[#-6] = 'mammal'",
  "tags[4][0] = 'deep'",
  "tags[#-1].name = 'inner'",
  "economy.industries[#-1] = 'Finance'",
  "city = 'x' OR old = true",
  "city = 'Istanbul' OR city = 'x' AND old = false",
  "(city = 'Istanbul' OR city = 'x') AND old = true",
  "old = true AND one = 1 AND zero = 0",
  "city = 'a' OR city = 'b' OR city = 'Istanbul'",
];

const fails: readonly string[] = [
  "city = 'istanbul'",
  "city != 'Istanbul'",
  "digits = 5",
  "population = '15460000'",
  "old = 2",
  "digits < 6",
  "old < 2",
  "population > 'a'",
  "population < true",
  "city GLOB 'A*'",
  "city GLOB 'Ist'",
  "city GLOB 'i*'",
  "population GLOB '*'",
  "population NOT GLOB 'A*'",
  "country IN ('Germany')",
  "old NOT IN (1)",
  "tags CONTAINS '5'",
  "bare CONTAINS 'x'",
  "city CONTAINS 'Istanbul'",
  "city NOT CONTAINS 'x'",
  "tags = 'mammal'",
  "tags != 'x'",
  "geography != 'x'",
  "tags IN ('mammal')",
  "tags NOT IN ('x')",
  "HAS NOT FIELD nothing",
  "HAS FIELD geography.city",
  "(city = 'Istanbul' OR city = 'x') AND old = false",
  "old = true AND one = 1 AND zero = 1",
  "city = 'a' OR city = 'b' OR city = 'c'",
];

test("B2.filter: records pass by their values", () => {
  for (const filter of holds) assert.equal(compileFilter(filter).matches(record), true, filter);
  for (const filter of fails) assert.equal(compileFilter(filter).matches(record), false, filter);
});

/** One condition for each operator, on a field that is missing or null. */
const conditionByWords: Readonly<Record<string, string>> = {
  "=": "x = 1",
  "!=": "x != 1",
  "<": "x < 1",
  "<=": "x <= 1",
  ">": "x > 1",
  ">=": "x >= 1",
  GLOB: "x GLOB '*'",
  "NOT GLOB": "x NOT GLOB 'a'",
  IN: "x IN (1)",
  "NOT IN": "x NOT IN (1)",
  CONTAINS: "x CONTAINS 1",
  "NOT CONTAINS": "x NOT CONTAINS 1",
  "HAS FIELD": "HAS FIELD x",
  "HAS NOT FIELD": "HAS NOT FIELD x",
};

test("B2.filter.missing: of all operators, a missing field passes only HAS NOT FIELD, a null only HAS FIELD", () => {
  for (const { words } of operators) {
    const filter = compileFilter(conditionByWords[words] ?? "");
    const ofMissing = words === "HAS NOT FIELD";
    for (const metadata of [undefined, null, {}, [], "text", 5, { y: 1 }] as const)
      assert.equal(filter.matches(metadata), ofMissing, `${filter.text} on ${JSON.stringify(metadata)}`);
    assert.equal(filter.matches({ x: null }), words === "HAS FIELD", `${filter.text} on null`);
  }
});

test("B2.filter.missing: a field of a type that the operator's row does not list never passes", () => {
  const values: readonly (readonly [type: string, value: Json])[] = [
    ["string", "2"],
    ["number", 2],
    ["boolean", false],
    ["array", [2]],
    ["object", { x: 2 }],
  ];
  for (const { words, fields } of operators) {
    const filter = compileFilter(conditionByWords[words] ?? "");
    for (const [type, x] of values)
      if (!fields.some((field) => field === type || field === "any"))
        assert.equal(filter.matches({ x }), false, `${filter.text} on ${type}`);
  }
});

test("every record passes an empty filter, even one without metadata", () => {
  const filter = compileFilter("  ");
  assert.equal(filter.expression, undefined);
  assert.equal(filter.matches(undefined), true);
  assert.equal(filter.matches({ a: 1 }), true);
});

test("B-08: inherited names are missing fields, unless the record has them", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "__defineGetter__"];
  for (const name of names) {
    const has = compileFilter(`HAS FIELD ${name}`);
    assert.equal(has.matches(JSON.parse("{}")), false, name);
    assert.equal(has.matches([]), false, name);
    assert.equal(compileFilter(`HAS FIELD a.${name}`).matches(JSON.parse('{"a":{}}')), false, name);
    assert.equal(compileFilter(`HAS FIELD ${name}.name`).matches(JSON.parse("{}")), false, name);
    assert.equal(compileFilter(`${name} = 5`).matches(JSON.parse(`{"${name}":5}`)), true, name);
  }
  assert.equal(compileFilter("a = 1").matches(Object.assign(Object.create(null), { a: 1 })), true);
});

test("a compiled filter matches any number of records, in any order", () => {
  const filter = compileFilter("city GLOB '*a*b*' AND n NOT IN (1, 2)");
  const rows: readonly (readonly [Json, boolean])[] = [
    [{ city: "xaxbx", n: 3 }, true],
    [{ city: "xbxax", n: 3 }, false],
    [{ city: "ab", n: 2 }, false],
  ];
  for (let round = 0; round < 3; round += 1)
    for (const [metadata, expected] of rows) assert.equal(filter.matches(metadata), expected);
});

test("B-04: the work of a long text and of a long array is counted", () => {
  const start = filterWork.steps;
  compileFilter("a GLOB '*b'").matches({ a: "a".repeat(1_000) });
  const afterText = filterWork.steps;
  compileFilter("a CONTAINS 'b'").matches({ a: Array.from({ length: 1_000 }, () => "a") });

  assert.ok(afterText - start >= 1_000 && afterText - start <= 3_000, `${afterText - start}`);
  assert.equal(filterWork.steps - afterText, 1_000);
});
