import assert from "node:assert/strict";
import { test } from "node:test";
import { stopWords } from "./stop-words.ts";
import { countTokens, tokenOf, wordsOf } from "./tokens.ts";

const words: readonly [string, readonly string[]][] = [
  ["", []],
  [" \n\t.,;!?–—()…", []],
  ["Hello, world!", ["hello", "world"]],
  ["state-of-the-art snake_case a/b", ["state", "of", "the", "art", "snake", "case", "a", "b"]],
  ["version 3.14, 2nd try", ["version", "3", "14", "2nd", "try"]],
  ["don't DON’T donʼt", ["don't", "don't", "don't"]],
  ["'quoted' dogs' rock'n'roll", ["quoted", "dogs", "rock'n'roll"]],
  ["café CAFÉ cafe\u0301", ["café", "café", "café"]],
  ["ＡＢＣ ﬁnd Ⅳ", ["abc", "find", "iv"]],
  ["東京 हिन्दी Ёлка", ["東京", "हिन्दी", "ёлка"]],
  ["a😀b", ["a", "b"]],
  ["lone \ud800 half", ["lone", "half"]],
];

for (const [text, wanted] of words)
  test(`words of ${JSON.stringify(text)}`, () => {
    assert.deepEqual(wordsOf(text), wanted);
  });

// Ids are stored with every document, so never change a row here.
const ids: readonly [string, number][] = [
  ["", -2_128_831_035],
  ["a", -468_965_076],
  ["foobar", -1_080_231_576],
  ["connect", -1_428_108_039],
  ["vector", -1_886_787_582],
  ["café", -1_473_556_407],
];

test("ids of stems never change", () => {
  for (const [stem, id] of ids) assert.equal(tokenOf(stem), id, stem);
});

test("tokens are counted by stem, in order of first occurrence, without stop words", () => {
  const { counts, length } = countTokens("The connection is vector, and connected vectors don't connect");
  assert.equal(length, 5);
  assert.deepEqual(
    [...counts],
    [
      [-1_428_108_039, 3],
      [-1_886_787_582, 2],
    ],
  );
});

test("stop words have the form of the words that are looked up", () => {
  for (const word of stopWords) assert.deepEqual(wordsOf(word), [word]);
  assert.equal(stopWords.size, 174);
});

test("a word of a megabyte is a word", () => {
  assert.deepEqual(wordsOf("x".repeat(1_000_000)), ["x".repeat(1_000_000)]);
  assert.equal(countTokens("running".repeat(100_000)).length, 1);
});
