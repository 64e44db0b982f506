import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfigText } from "./config-text.ts";

/** The value, or the problems as `line:column text`. */
function readingOf(text: string): unknown {
  const { value, problems } = readConfigText(text);
  return problems.length === 0 ? value : problems.map((each) => `${placeOf(each.position)} ${each.text}`);
}

function placeOf({ line, column }: { line: number; column: number }): string {
  return `${line}:${column}`;
}

const texts: readonly (readonly [name: string, text: string, reading: unknown])[] = [
  ["line comments", '// first\n{"a": 1} // last', { a: 1 }],
  ["block comments", '/* first\n */ {"a": /* one */ 1}', { a: 1 }],
  ["comment marks in a text", '{"a": "http://b/*c*/"}', { a: "http://b/*c*/" }],
  ["trailing commas", '{"a": [1, 2,], "b": {"c": null,},}', { a: [1, 2], b: { c: null } }],
  ["a byte order mark", '\uFEFF{"a": 1}', { a: 1 }],
  ["a value without an object", "true", true],
  ["an empty text", "", ["1:1 is not JSON: a value is missing"]],
  ["a comment alone", "// nothing", ["1:11 is not JSON: a value is missing"]],
  ["an open comment", '{"a": 1} /* secret', ["1:10 is not JSON: the comment is not closed"]],
  ["an open text", '{\r\n  "a": "secret\r\n}', ["2:8 is not JSON: the closing quote is missing"]],
  ["a key without quotes", "{\n\n a: 1}", ["3:2 is not JSON: unknown word; keys and texts are in double quotes"]],
  ["single quotes", "{'a': 1}", ["1:2 is not JSON: unknown word; keys and texts are in double quotes"]],
  ["a missing comma", '{"a": 1\n "b": 2}', ["2:2 is not JSON: a comma is missing"]],
  ["two commas", "[1,,]", ["1:4 is not JSON: a value is missing"]],
  ["a missing colon", '{"a" 1}', ["1:6 is not JSON: a colon is missing"]],
  ["an open object", '{"a": 1', ["1:8 is not JSON: a closing brace is missing"]],
  ["two values", "{} {}", ["1:4 is not JSON: text after the end of the value"]],
  ["an unknown escape", '{"a": "\\q"}', ["1:7 is not JSON: invalid escape in a text"]],
  ["the 65th level", `${"[".repeat(65)}${"]".repeat(65)}`, ["1:65 is not JSON: more than 64 levels of nesting"]],
  ["brackets in texts, which are no levels", `["${"[".repeat(100)}"]`, ["[".repeat(100)]],
  ["a duplicate key", '{"a": 1,\n "b": 2,\n "a": 3}', ["3:2 a is given twice, first in line 1"]],
  ["a duplicate key with an escape", '{"a": 1, "\\u0061": 3}', ["1:10 a is given twice, first in line 1"]],
  ["a duplicate key in a list", '{"a": [{"b": 1, "b": 1}]}', ["1:17 a[0].b is given twice, first in line 1"]],
  ["a control character in a key", '{"\\u001b": 1, "\\u001b": 1}', ["1:15 \\x1b is given twice, first in line 1"]],
];

for (const [name, text, reading] of texts)
  test(`reads ${name}`, () => {
    assert.deepEqual(readingOf(text), reading);
  });

test("reads the key __proto__ as a key like any other", () => {
  const { value } = readConfigText('{"__proto__": {"isAdmin": true}, "constructor": 1}');
  assert.deepEqual(Object.entries(value as object), [
    ["__proto__", { isAdmin: true }],
    ["constructor", 1],
  ]);
  assert.equal((value as { isAdmin?: boolean }).isAdmin, undefined);
  assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
});

test("finds the position of a field, or of the nearest object around it", () => {
  const text = '{\n  "a": [\n    { "b.c": { "d": 1 } },\n    2\n  ]\n}';
  const { positionOf } = readConfigText(text);
  const places = ["", "a", "a[0]", "a[0].b.c", "a[0].b.c.d", "a[0].b.c.missing", "a[1]", "a[2]", "b"];
  assert.deepEqual(
    places.map((path) => placeOf(positionOf(path))),
    ["1:1", "2:3", "3:5", "3:7", "3:16", "3:7", "4:5", "2:3", "1:1"],
  );
});
