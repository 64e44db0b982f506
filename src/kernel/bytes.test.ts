import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesFromText, copyOf, isAscii, textFromBytes, upperCase } from "./bytes.ts";

test("text becomes its UTF-8 bytes and back; a lone surrogate becomes U+FFFD", () => {
  const rows: [string, string][] = [
    ["", ""],
    ["plain", "plain"],
    ["é", "\xc3\xa9"],
    ["😀", "\xf0\x9f\x98\x80"],
    ["\ud800", "\xef\xbf\xbd"],
  ];
  for (const [text, bytes] of rows) assert.equal(bytesFromText(text), bytes);
  assert.equal(textFromBytes("\xf0\x9f\x98\x80"), "😀");
  assert.equal(textFromBytes("a\xffb"), "a\ufffdb");
});

test("upper case is of ASCII letters alone, so that bytes stay bytes", () => {
  const rows: [string, string][] = [
    ["keepTtl", "KEEPTTL"],
    ["stra\xdfe", "STRA\xdfE"],
    ["\xff\xb5x", "\xff\xb5X"],
    ["", ""],
  ];
  for (const [given, upper] of rows) assert.equal(upperCase(given), upper);
});

test("a copy has the bytes of its slice, short or long", () => {
  const bytes = "0123456789abcdefghijklmnopqrstuvwxyz\xff";
  assert.equal(copyOf(bytes, 2, 5), "234");
  assert.equal(copyOf(bytes, 1, 37), bytes.slice(1, 37));
  assert.equal(copyOf(bytes, 0, 37), bytes);
});

test("ASCII ends at 127", () => {
  assert.equal(isAscii("\x00 ~\x7f"), true);
  assert.equal(isAscii("\x80"), false);
});
