import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesFromText, copyOf, isAscii, onOneLine, textFromBytes, upperCase, withoutLastBreaks } from "./bytes.ts";

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

test("upper case changes only ASCII letters, so that bytes stay bytes", () => {
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

test("removes any number of line breaks at the end, and replaces others by spaces", () => {
  const rows: [text: string, trimmed: string, line: string][] = [
    ["", "", ""],
    ["a", "a", "a"],
    ["a\r\n", "a", "a  "],
    ["\na\rb\n\n", "\na\rb", " a b  "],
    ["\n\r", "", "  "],
    ["\xe9\n", "\xe9", "\xe9 "],
  ];
  for (const [text, trimmed, line] of rows) {
    assert.equal(withoutLastBreaks(text), trimmed);
    assert.equal(onOneLine(text), line);
  }
  // With a regular expression this would take days.
  const text = `${"\n".repeat(10_000_000)}x`;
  assert.ok(withoutLastBreaks(text) === text);
  assert.ok(onOneLine(text) === `${" ".repeat(10_000_000)}x`);
});

test("capitals next to bytes beyond ASCII", () => {
  assert.equal(upperCase("ab\xe9z{`y"), "AB\xe9Z{`Y");
  assert.ok(upperCase("a\xff".repeat(1_000_000)) === "A\xff".repeat(1_000_000));
});
