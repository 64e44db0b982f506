/** What an index takes of a value: each type of field, and values that do not fit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bytes } from "../../kernel/bytes.ts";
import { parseJson } from "../json/parse.ts";
import { HashValue } from "../values/hash.ts";
import { JsonValue } from "../values/json.ts";
import { ListValue } from "../values/list.ts";
import { stringFrom } from "../values/string.ts";
import type { Value } from "../values/table.ts";
import type { DataType, FieldType, FieldValue, SearchDocument } from "./definition.ts";
import { documentReader } from "./document.ts";

function field(name: Bytes, type: FieldType, path?: Bytes) {
  return { name, type, isTokenized: true, isStemmed: true, isFast: false, path };
}

function hashOf(pairs: Readonly<Record<string, string>>): HashValue {
  const hash = new HashValue(new Uint8Array(8));
  for (const [name, value] of Object.entries(pairs)) hash.set(name, value);
  return hash;
}

function readOne(dataType: DataType, type: FieldType, value: Value): readonly FieldValue[] | undefined {
  const read = documentReader({ dataType, prefixes: [""], language: "english", fields: [field("v", type)] });
  return read(value, 0)?.[0];
}

/** A value as JSON text, and what a field of the type takes of it. */
const jsonRows: readonly (readonly [type: FieldType, text: string, taken: readonly FieldValue[] | undefined])[] = [
  ["TEXT", '"words"', ["words"]],
  ["TEXT", '""', [""]],
  ["TEXT", "5", undefined],
  ["TEXT", "null", undefined],
  ["TEXT", '["a",1,"b",null,["c"],{"d":"e"}]', ["a", "b"]],
  ["TEXT", "[]", undefined],
  ["TEXT", "[1,2]", undefined],
  ["KEYWORD", '"a b"', ["a b"]],
  ["KEYWORD", "true", undefined],
  ["U64", "18446744073709551615", [18446744073709551615n]],
  ["U64", "9007199254740993", [9007199254740993n]],
  ["U64", "9007199254740991", [9007199254740991]],
  ["U64", "18446744073709551616", undefined],
  ["U64", "-1", undefined],
  ["U64", "1.0", [1]],
  ["U64", "1e3", [1000]],
  ["U64", "1.5", undefined],
  ["U64", '"1"', undefined],
  ["U64", "-0", [0]],
  ["I64", "-9223372036854775808", [-9223372036854775808n]],
  ["I64", "9223372036854775807", [9223372036854775807n]],
  ["I64", "9223372036854775808", undefined],
  ["I64", "[1,-2,2.5]", [1, -2]],
  ["F64", "2.5", [2.5]],
  ["F64", "18446744073709551615", [18446744073709552000]],
  ["F64", '"2.5"', undefined],
  ["BOOL", "true", [1]],
  ["BOOL", "false", [0]],
  ["BOOL", "1", undefined],
  ["BOOL", '"true"', undefined],
  ["DATE", '"1970-01-02"', [86_400_000]],
  ["DATE", '"1970-01-01T00:00:01.5Z"', [1_500]],
  ["DATE", "86400000", undefined],
  ["DATE", '"yesterday"', undefined],
  ["FACET", '"/a/b"', ["/a/b"]],
  ["FACET", '"a/b"', undefined],
  ["FACET", '["/a","b","/c"]', ["/a", "/c"]],
];

test("a field of a JSON document takes values of its type, and of arrays the elements that fit", () => {
  for (const [type, text, taken] of jsonRows) {
    const document = `{"v":${text},"other":1}`;
    assert.deepEqual(readOne("JSON", type, new JsonValue(parseJson(document).node)), taken, `${type} ${text}`);
    assert.deepEqual(readOne("STRING", type, stringFrom(document)), taken, `${type} ${text} in a string`);
  }
});

const hashRows: readonly (readonly [type: FieldType, text: string, taken: readonly FieldValue[] | undefined])[] = [
  ["TEXT", "words", ["words"]],
  ["TEXT", "", [""]],
  ["KEYWORD", "5", ["5"]],
  ["U64", "18446744073709551615", [18446744073709551615n]],
  ["U64", "007", [7]],
  ["U64", "18446744073709551616", undefined],
  ["U64", "-1", undefined],
  ["U64", "+1", undefined],
  ["U64", "1.0", undefined],
  ["U64", " 1", undefined],
  ["U64", "9".repeat(100), undefined],
  ["I64", "-9223372036854775808", [-9223372036854775808n]],
  ["I64", "+5", [5]],
  ["I64", "-", undefined],
  ["F64", "-2.5e3", [-2500]],
  ["F64", ".5", [0.5]],
  ["F64", "5.", [5]],
  ["F64", "1e999", undefined],
  ["F64", "Infinity", undefined],
  ["F64", "nan", undefined],
  ["F64", "0x10", undefined],
  ["F64", "", undefined],
  ["BOOL", "true", [1]],
  ["BOOL", "false", [0]],
  ["BOOL", "1", undefined],
  ["DATE", "1970-01-02", [86_400_000]],
  ["DATE", "0", undefined],
  ["FACET", "/a", ["/a"]],
  ["FACET", "a", undefined],
];

test("a field of a hash takes texts that spell its type", () => {
  for (const [type, text, taken] of hashRows)
    assert.deepEqual(readOne("HASH", type, hashOf({ v: text })), taken, `${type} ${text}`);
});

test("names and FROM are paths of members in documents, and names of fields in hashes", () => {
  const fields = [field("a.b", "KEYWORD"), field("x", "KEYWORD", "a.c.d"), field("y", "KEYWORD", "a.c.d.e")];
  const read = (dataType: DataType, value: Value): SearchDocument | undefined =>
    documentReader({ dataType, prefixes: [""], language: "english", fields })(value, 0);
  const nested = '{"a":{"b":"1","c":{"d":"2"}},"a.b":"no"}';
  assert.deepEqual(read("JSON", new JsonValue(parseJson(nested).node)), [["1"], ["2"], undefined]);
  assert.deepEqual(read("HASH", hashOf({ "a.b": "1", "a.c.d": "2" })), [["1"], ["2"], undefined]);
  assert.deepEqual(read("JSON", new JsonValue(parseJson('{"__proto__":{"b":"1"}}').node)), [
    undefined,
    undefined,
    undefined,
  ]);
});

test("only values of the type of the index are documents, and only objects", () => {
  const read = (dataType: DataType, value: Value) =>
    documentReader({ dataType, prefixes: [""], language: "english", fields: [field("v", "TEXT")] })(value, 0);
  const none = [undefined];
  const list = ListValue.from(["a"]);
  assert.deepEqual(read("HASH", hashOf({ other: "1" })), none);
  for (const value of [list, stringFrom("{}"), new JsonValue(parseJson("{}").node)])
    assert.equal(read("HASH", value), undefined);
  assert.deepEqual(read("JSON", new JsonValue(parseJson("{}").node)), none);
  for (const text of ["[{}]", "5", "null", '"text"'])
    assert.equal(read("JSON", new JsonValue(parseJson(text).node)), undefined, text);
  for (const text of ["{}", ' \n\t{"a":1}', `{"long":"${"x".repeat(10_000)}"}`])
    assert.deepEqual(read("STRING", stringFrom(text)), none, text);
  for (const text of [
    "",
    "text",
    "{",
    "[{}]",
    '{"a":1}x',
    "{}{}",
    '{"\xff":1}',
    `${"[".repeat(300)}`,
    `{"a":`.repeat(200),
  ])
    assert.equal(read("STRING", stringFrom(text)), undefined, text);
  for (const value of [list, hashOf({ v: "1" })]) assert.equal(read("STRING", value), undefined);
});

test("fields that have expired are missing, and a hash of such fields is no document", () => {
  const { v } = { v: hashOf({ v: "1", w: "2" }) };
  v.setExpiry("v", 1_000);
  const read = documentReader({
    ...{ dataType: "HASH", prefixes: [""], language: "english" },
    fields: [field("v", "TEXT"), field("w", "TEXT")],
  });
  assert.deepEqual(read(v, 1_000), [["1"], ["2"]]);
  assert.deepEqual(read(v, 1_001), [undefined, ["2"]]);
  v.setExpiry("w", 1_000);
  assert.equal(read(v, 1_001), undefined);
});
