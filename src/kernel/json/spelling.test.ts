import assert from "node:assert/strict";
import { test } from "node:test";
import { isSpelledNumber, parseSpelled } from "./spelling.ts";

test("prints numbers with their original spelling", () => {
  const rows: [string, string][] = [
    ["12345678901234567890", "12345678901234567890"],
    ["-0", "-0"],
    [
      '{ "a": [9007199254740993, 1.0, 1.50, 1E+2, 7], "b": "1.0" }',
      '{"a":[9007199254740993,1.0,1.50,1E+2,7],"b":"1.0"}',
    ],
    ['{"a":1.0,"a":2.0}', '{"a":2.0}'],
    ['{"__proto__":1.0,"b":{"__proto__":2.0}}', '{"__proto__":1.0,"b":{"__proto__":2.0}}'],
  ];
  for (const [text, printed] of rows) assert.equal(JSON.stringify(parseSpelled(text)), printed, text);
});

test("only a number with another spelling than JavaScript's is an object", () => {
  assert.equal(parseSpelled("0.25"), 0.25);
  assert.equal(isSpelledNumber(parseSpelled("0.250")), true);
  assert.equal(isSpelledNumber(parseSpelled('{"rawJSON":"1"}')), false);
  assert.throws(() => parseSpelled("01"), SyntaxError);
});
