import assert from "node:assert/strict";
import { test } from "node:test";
import { splitLine } from "./inline-words.ts";

const lines: readonly (readonly [line: string, words: readonly string[] | undefined])[] = [
  ["", []],
  ["  \t ", []],
  ["PING", ["PING"]],
  [" SET  k\tv ", ["SET", "k", "v"]],
  ["SET k 'a b'", ["SET", "k", "a b"]],
  ['SET k "a\\n\\r\\t\\b\\a\\q\\"\\\\"', ["SET", "k", 'a\n\r\t\b\x07q"\\']],
  ['"\\x00\\xfF\\xg0"', ["\x00\xffxg0"]],
  ["'it\\'s' 'a\\nb'", ["it's", "a\\nb"]],
  ["pre'fix' pre\"fix\"", ["prefix", "prefix"]],
  ["''", [""]],
  ['"" x', ["", "x"]],
  ['"open', undefined],
  ["'open", undefined],
  ['"a"b', undefined],
  ["'a'b", undefined],
  ['"a\\', undefined],
  ["a\vb \vc", ["a\vb", "c"]],
  ["k\xe9y", ["k\xe9y"]],
];

test("splits a line into words as Redis does", () => {
  for (const [line, words] of lines) assert.deepEqual(splitLine(line), words, JSON.stringify(line));
});
