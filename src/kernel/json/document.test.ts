import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkJson, JsonTooLarge, parseJson } from "./document.ts";
import { parseJsonText } from "./parse.ts";

const limits = { depthMax: 3, containersMax: 5, valuesMax: 6 };

const rows: readonly [text: string, fault: string | undefined][] = [
  ["[[[]]]", undefined],
  ["[[[[]]]]", "nests deeper than 3 levels"],
  ['{"a":{"b":[{}]}}', "nests deeper than 3 levels"],
  ["[[],[],[],[]]", undefined],
  ["[[],[],[],[],[]]", "has more than 5 objects and lists"],
  ["[1,2,3,4,5,6,7]", undefined],
  ["[1,2,3,4,5,6,7,8]", "has more than 6 values"],
  ['["[[[[[[[[[,,,,,,,,,,,,"]', undefined],
  ['["\\"[[[[[[[[[", "\\\\", "]]]]\\\\\\"[[[[,,,,,,"]', undefined],
  ['["a string of some length\\\\\\\\", [[["too deep"]]]]', "nests deeper than 3 levels"],
  ['["a string of some length \\" [[[[ \\\\"]', undefined],
  ["[[[[", "nests deeper than 3 levels"],
  ['"[[[[', undefined],
  ["", undefined],
];

for (const [text, fault] of rows)
  test(`A-14: ${text} ${fault ?? "may be parsed"}`, () => {
    let found: string | undefined;
    try {
      checkJson(Buffer.from(text), limits);
    } catch (thrown) {
      assert.ok(thrown instanceof JsonTooLarge);
      found = thrown.message;
    }
    assert.equal(found, fault);
  });

test("A-14: rejects JSON that nests too deep without parsing it", () => {
  assert.throws(() => parseJson(Buffer.from("[".repeat(10_000_000))), JsonTooLarge);
  assert.throws(() => parseJson(Buffer.from("[[")), SyntaxError);
});

test("parses any JSON of few levels as its text", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      assert.deepEqual(parseJson(Buffer.from(text)), parseJsonText(text));
    }),
  );
});

test("skips strings with any contents", () => {
  const part = fc.constantFrom('\\"', "\\\\", "[", "{", ",", ":", "a", "\u00e9", "\\u005b");
  fc.assert(
    fc.property(fc.array(fc.array(part, { maxLength: 40 }), { maxLength: 3 }), (strings) => {
      const text = `[${strings.map((parts) => `"${parts.join("")}"`).join(",")}]`;
      checkJson(Buffer.from(text), { depthMax: 1, containersMax: 1, valuesMax: 2 });
    }),
  );
});
