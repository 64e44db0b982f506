import assert from "node:assert/strict";
import { test } from "node:test";
import { monitorLine } from "./monitor.ts";

test("A5: a line has the time in microseconds, the address and the words, escaped as Redis does", () => {
  const rows: [string[], string][] = [
    [["GET", "k"], '"GET" "k"'],
    [["set", "", "a b"], '"set" "" "a b"'],
    [['"\\'], '"\\"\\\\"'],
    [["\n\r\t\x07\b"], '"\\n\\r\\t\\a\\b"'],
    [["\0\x1b\x7f\xff"], '"\\x00\\x1b\\x7f\\xff"'],
    [["\xc3\xa9"], '"\\xc3\\xa9"'],
  ];
  for (const [words, printed] of rows)
    assert.equal(
      monitorLine({ words, address: "10.0.0.7:4000", nowMs: 1_721_284_005_042 }),
      `1721284005.042000 [0 10.0.0.7:4000] ${printed}`,
    );
});

test("a line shows a megabyte of its words and counts the rest", () => {
  const line = monitorLine({
    words: ["SET", "\xff".repeat(1_048_572), "ab", "c", "d"],
    address: "10.0.0.7:4000",
    nowMs: 1_721_284_005_042,
  });
  assert.ok(line.endsWith(String.raw`\xff\xff" "a... (1 more bytes)" "... (2 more arguments)"`));
  assert.equal(line.length, 4_194_379);
});
