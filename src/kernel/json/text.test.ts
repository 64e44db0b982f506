import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonTooLong, jsonText } from "./text.ts";

test("a value prints as JSON.stringify prints it", () => {
  const rows: [unknown, string][] = [
    [{ a: [1, "x", null], b: { c: true }, d: undefined }, '{"a":[1,"x",null],"b":{"c":true}}'],
    ["\u0100\n", '"\u0100\\n"'],
    [[], "[]"],
  ];
  for (const [value, text] of rows) assert.equal(jsonText(value), text);
});

test("a string of 140,000,000 characters beyond U+00FF prints, which ends the process without a replacer", () => {
  const body = `\u0100${"a".repeat(140_000_000)}`;
  assert.equal(jsonText({ messages: [{ body }] }).length, 140_000_001 + 26);
});

test("a text longer than a string may be is an error of its own", () => {
  assert.throws(() => jsonText({ body: "\0".repeat(90_000_000) }), JsonTooLong);
});
