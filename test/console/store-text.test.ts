/** The text side of the console's store pages: bytes, lines of the command line, JSON as written, the tree of prefixes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOfLine } from "../../console/src/pages/store/command-line/words.ts";
import { prefixTree, sortedChildren } from "../../console/src/pages/store/keys/prefix-tree.ts";
import {
  arrayOfBytes,
  bytesOfArray,
  bytesOfHex,
  bytesOfText,
  globOfBytes,
  hexOfBytes,
  quoted,
  shownBytes,
  textOfBytes,
  textOfPart,
} from "../../console/src/pages/store/values/bytes.ts";
import { indentJson } from "../../console/src/parts/json-text.ts";

test("all bytes pass through the byte strings of the console", () => {
  const all = Uint8Array.from({ length: 20_000 }, (_, at) => at % 256);
  const bytes = bytesOfArray(all);
  assert.deepEqual(arrayOfBytes(bytes), all);
  assert.equal(bytesOfHex(hexOfBytes(bytes)), bytes);
  assert.equal(bytesOfHex("0"), undefined);
  assert.equal(bytesOfHex("zz"), undefined);
  assert.throws(() => arrayOfBytes("€"));
});

test("text is told from other bytes, also in a part that cuts a character", () => {
  assert.equal(bytesOfText("é€"), "\xc3\xa9\xe2\x82\xac");
  assert.equal(textOfBytes("\xc3\xa9\xe2\x82\xac"), "é€");
  assert.equal(textOfBytes("\xff"), undefined);
  assert.equal(textOfPart("\xa9a\xe2\x82"), "a");
  assert.equal(textOfPart("a\xffb"), undefined);
  assert.equal(shownBytes("a\nb"), "a\\nb");
  assert.equal(shownBytes("k\xff"), '"k\\xff"');
  assert.equal(shownBytes("abcdef", 3), "abc…");
  assert.equal(globOfBytes("a*[b]?\\"), "a\\*\\[b\\]\\?\\\\");
  assert.equal(quoted('a"\\\x07\n\xe9'), '"a\\"\\\\\\a\\n\\xe9"');
});

test("a line becomes words as in redis-cli", () => {
  const lines: [line: string, words: string[] | undefined][] = [
    ["", []],
    ["  get  a ", ["get", "a"]],
    ['set k "a b\\n\\x00\\xFF\\q"', ["set", "k", "a b\n\x00\xffq"]],
    ["set k 'it\\'s \\n'", ["set", "k", "it's \\n"]],
    ['set é ""', ["set", "\xc3\xa9", ""]],
    ['pre"fix"', ["prefix"]],
    ['get "a', undefined],
    ["get 'a", undefined],
    ['get "a"b', undefined],
    ['get "a\\', undefined],
  ];
  for (const [line, words] of lines) assert.deepEqual(wordsOfLine(line), words, line);
});

test("JSON is indented without changing its numbers, names or strings", () => {
  assert.equal(
    indentJson('{"a":[12345678901234567890,1.0],"a":{},"b":[],"c":"{\\"x\\":[1,2]}"}'),
    [
      "{",
      '  "a": [',
      "    12345678901234567890,",
      "    1.0",
      "  ],",
      '  "a": {},',
      '  "b": [],',
      '  "c": "{\\"x\\":[1,2]}"',
      "}",
    ].join("\n"),
  );
  assert.equal(indentJson("{"), undefined);
});

test("the tree of prefixes counts the keys below each prefix, most first", () => {
  const tree = prefixTree(["a:1", "b:x:1", "b:x:2", "b:", "plain"], ":");
  assert.equal(tree.count, 5);
  const children = sortedChildren(tree).map(({ prefix, count }) => [prefix, count]);
  assert.deepEqual(children, [
    ["b:", 3],
    ["a:", 1],
  ]);
  assert.deepEqual(
    sortedChildren(tree).flatMap((child) => sortedChildren(child).map(({ prefix, count }) => [prefix, count])),
    [["b:x:", 2]],
  );
});
