import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RequestFailure } from "../errors.ts";
import { percentDecode } from "./percent.ts";

function decode(text: string, part: "path" | "query"): string {
  return percentDecode(text, { start: 0, end: text.length, part });
}

test("A-18: percent-encoding gives bytes, not characters", () => {
  const rows: [string, string][] = [
    ["plain", "plain"],
    ["", ""],
    ["%2F", "/"],
    ["%00%FF%ff", "\x00\xff\xff"],
    ["a%20b", "a b"],
    ["%C3%A9", "\xc3\xa9"],
    ["%25%32%46", "%2F"],
    ["tail%41", "tailA"],
    ["a+b", "a+b"],
    ["\xe9", "\xe9"],
  ];
  for (const [text, bytes] of rows) assert.equal(decode(text, "path"), bytes, text);
});

test("a plus is a space in a query and a plus in a path", () => {
  assert.equal(decode("a+b%2Bc", "query"), "a b+c");
  assert.equal(decode("a+b%2Bc", "path"), "a+b+c");
});

test("A-18: rejects a percent sign without two hex digits", () => {
  for (const text of ["%", "%1", "a%", "%zz", "%G0", "%0G", "%%41", "% 1", "%-1", "%+1"])
    for (const part of ["path", "query"] as const)
      assert.throws(() => decode(text, part), RequestFailure, `${part} ${text}`);
});

test("a part is decoded within its bounds", () => {
  assert.equal(percentDecode("/a%41b/c", { start: 1, end: 6, part: "path" }), "aAb");
  assert.throws(() => percentDecode("%41", { start: 0, end: 2, part: "path" }), RequestFailure);
});

test("decodes any bytes, encoded in any mixture", () => {
  const unreserved = /[A-Za-z0-9_.~-]/;
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.infiniteStream(fc.boolean()), (bytes, upper) => {
      let text = "";
      for (const byte of bytes) {
        const unit = String.fromCharCode(byte);
        const hex = byte.toString(16).padStart(2, "0");
        if (unreserved.test(unit) && upper.next().value) text += unit;
        else text += `%${upper.next().value ? hex.toUpperCase() : hex}`;
      }
      assert.equal(decode(text, "path"), Buffer.from(bytes).latin1Slice());
      assert.equal(decode(text, "query"), Buffer.from(bytes).latin1Slice());
    }),
  );
});
