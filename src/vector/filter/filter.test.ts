/** The records that pass a filter: operators, types, missing fields, paths, AND and OR. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFilter } from "./filter.ts";
import type { Json } from "./json.ts";
import { operators } from "./operators.ts";
import { filterWork } from "./work.ts";

const record: Json = JSON.parse(`{
  "city": "Istanbul", "country": "Turkey", "population": 15460000, "half": 0.5, "is_capital": false, "old": true,
  "größe": "élan", "first name": "Ada", "x\`y": "odd", "": "no name",
  "items": [{ "price": 5, "tags": ["new", "red"] }, { "price": 20, "a.b": [{ "c": "deep" }] }, 7, null],
  "mark": "\\uffee", "face": "😀", "faces": "😀😁",
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
  "city > 'Ankara'",
  "city >= 'Istanbul' AND city <= 'Istanbul'",
  "city < 'Istanbul '",
  "city > 'Istanbu'",
  "city < 'a'",
  "empty < 'a'",
  "empty <= ''",
  "digits < '50' AND digits > '45'",
  "`größe` > 'z'",
  "mark < '😀'",
  "face > '\\uffee' AND face >= '\\ue000' AND face > '\\ud7ff'",
  "faces > '😀' AND faces < '😀😂' AND faces > '😀\\uffee' AND faces <= '😀😁'",
  "`a.b` = 'dotted'",
  "HAS FIELD `a.b`",
  "`first name` = 'Ada'",
  "`x\\`y` = 'odd'",
  "`` = 'no name'",
  "`geography`.`continent` = 'Asia'",
  "items[1].`a.b`[0].c = 'deep'",
  "items[*].price = 20",
  "items[*].price IN (4, 5)",
  "items[*].price > 5 AND items[*].price < 20",
  "items[*].price != 5",
  "items[*].price NOT IN (5)",
  "items[*] = 7",
  "items[*] != 8",
  "items[*].tags[*] = 'red'",
  "items[*].tags[*] GLOB 'n*'",
  "items[*].tags[*] NOT GLOB 'n*'",
  "items[*].tags[*] >= 'red'",
  "items[*].tags[#-1] = 'red'",
  "items[*].tags CONTAINS 'new'",
  "items[*].tags NOT CONTAINS 'old'",
  "items[*].`a.b`[*].c = 'deep'",
  "tags[*] = 'mammal' AND tags[*] = 5 AND tags[*] = 1 AND tags[*][*] = 'deep' AND tags[*].name = 'inner'",
  "HAS FIELD items[*]",
  "HAS FIELD items[*].tags",
  "HAS NOT FIELD items[*].color",
  "HAS NOT FIELD items[*].price[*]",
  "HAS NOT FIELD bare[*]",
  "HAS NOT FIELD city[*]",
  "HAS NOT FIELD geography[*]",
  "HAS NOT FIELD missing[*].x",
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
  "city < 'Ankara'",
  "city > 'Istanbul' OR city < 'Istanbul'",
  "city > 'a'",
  "digits < 6 OR digits > 4 OR digits <= 5 OR digits >= 5",
  "population < '2' OR population > '1' OR population <= '15460000'",
  "old < 'z' OR old > '' OR nothing < 'z' OR nothing >= '' OR tags > ''",
  "city < true OR city > false",
  "zero < true OR one > false OR one <= true",
  "mark > '😀'",
  "face < '\\uffee'",
  "faces < '😀' OR faces > '😀😂' OR faces < '😀\\uffee'",
  "items[*].price > 20",
  "items[*].price IN (6, 7)",
  "items[*].price < 'a'",
  "items[*].tags = 'red'",
  "items[*].tags != 'x'",
  "items[*].tags CONTAINS 'old'",
  "items[*].color != 'red'",
  "items[*].color NOT IN ('red')",
  "items[*].tags[*] NOT CONTAINS 'x'",
  "bare[*] != 1",
  "city[*] != 1",
  "city[*] GLOB '*'",
  "HAS FIELD bare[*]",
  "HAS FIELD items[*].color",
  "HAS NOT FIELD items[*]",
  "HAS NOT FIELD items[*].tags",
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

test("B2.filter.any: a path with [*] passes if one of its fields passes, and is missing if it has none", () => {
  // Each row: a condition, then the values of `a` that pass and those that do not.
  const rows: readonly (readonly [filter: string, passing: readonly Json[], failing: readonly Json[]])[] = [
    ["a[*] = 1", [[1], [2, 1], [true]], [[2], [], 1, null, [[1]], { b: 1 }]],
    ["a[*] != 1", [[2], [1, 2], ["1"]], [[1], [], [null], [{}], [[2]], 2, "x"]],
    ["a[*] IN (1, 2)", [[3, 2]], [[3], []]],
    ["a[*] NOT IN (1, 2)", [[3], [1, 3]], [[1, 2], [], [null], 3]],
    ["a[*] GLOB 'x*'", [["y", "xy"]], [["y"], [1], [], "xy"]],
    ["a[*] NOT GLOB 'x*'", [["y"], ["x", "y"]], [["x"], [1], [], "y"]],
    ["a[*] CONTAINS 1", [[[2], [1]]], [[1], [[2]], []]],
    ["a[*] NOT CONTAINS 1", [[[2]], [[1], [2]], [[]]], [[[1]], [2], []]],
    ["a[*] < 2", [[3, 1]], [[2], [true], ["1"], []]],
    ["a[*] < 'b'", [["c", "a"]], [["b"], [1], []]],
    ["HAS FIELD a[*]", [[null], [{}]], [[], {}, null, "x"]],
    ["HAS NOT FIELD a[*]", [[], {}, null, "x"], [[null], [1]]],
    ["HAS FIELD a[*].b", [[{ b: null }], [1, { b: 1 }]], [[{}], [], { b: 1 }]],
    ["HAS NOT FIELD a[*].b", [[{}], [], { b: 1 }], [[{}, { b: 1 }]]],
    ["a[*].b[*] = 1", [[{ b: [2] }, { b: [1] }]], [[{ b: [2] }], [{ b: 1 }], [[1]]]],
    ["a[*][1] = 1", [[[0], [0, 1]]], [[[1]], [0, 1]]],
  ];
  for (const [text, passing, failing] of rows) {
    const filter = compileFilter(text);
    for (const a of passing) assert.equal(filter.matches({ a }), true, `${text} on ${JSON.stringify(a)}`);
    for (const a of failing) assert.equal(filter.matches({ a }), false, `${text} on ${JSON.stringify(a)}`);
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
  const afterArray = filterWork.steps;
  compileFilter("a[*][*] = 'b'").matches({
    a: Array.from({ length: 10 }, () => Array.from({ length: 100 }, () => "a")),
  });
  assert.equal(filterWork.steps - afterArray, 1_010);
});
