/** Slicing JSON texts, compared with the parser of the kernel. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { elementTexts, memberTexts } from "./slices.ts";

test("elements and members are the original texts", () => {
  assert.deepEqual(elementTexts(' [ {"a":[1,2]} , "]\\\\\\"," ,-1e-7,[[]],null ] '), [
    '{"a":[1,2]}',
    '"]\\\\\\","',
    "-1e-7",
    "[[]]",
    "null",
  ]);
  assert.deepEqual(elementTexts("[]"), []);
  assert.deepEqual(
    [...memberTexts('{"result" : {"nextCursor":"5","vectors":[]}, "\\u0061":1,"a":{"b":"}"} }')],
    [
      ["result", '{"nextCursor":"5","vectors":[]}'],
      ["a", '{"b":"}"}'],
    ],
  );
  assert.deepEqual([...memberTexts("{}")], []);
});

test("slices any array and any object into the parts that a parser finds", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (list, object) => {
      const elements = elementTexts(JSON.stringify(list, undefined, 1));
      assert.deepEqual(
        elements.map((text) => parseJsonText(text)),
        parseJsonText(JSON.stringify(list)),
      );
      const members = [...memberTexts(JSON.stringify(object))].map(([name, text]) => [name, parseJsonText(text)]);
      assert.deepEqual(members, Object.entries(parseJsonText(JSON.stringify(object)) ?? {}));
    }),
    { numRuns: 200 },
  );
});

test("rejects truncated and other texts", () => {
  for (const text of ["", "{", "[1", "[1,]", "[,1]", '["a', "[[1]", '{"a":1}', "7"])
    assert.throws(() => elementTexts(text), SyntaxError, text);
  for (const text of ["", "[", '{"a"', '{"a":', '{"a":1', "{1:2}", '{"a":1,}', "[]"])
    assert.throws(() => memberTexts(text), SyntaxError, text);
});
