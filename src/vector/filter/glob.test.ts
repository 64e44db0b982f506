/** Patterns by hand, random ones compared with the store's matcher, and known exponential ones with counted steps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { matchesGlob } from "../../store/structures/glob.ts";
import { compileGlob } from "./glob.ts";
import { filterWork } from "./work.ts";

const matches: readonly (readonly [pattern: string, subject: string, expected: boolean])[] = [
  ["", "", true],
  ["", "a", false],
  ["*", "", true],
  ["**", "", true],
  ["?", "", false],
  ["*", "a", true],
  ["a*", "a", true],
  ["*a*", "bab", true],
  ["h?llo", "hello", true],
  ["h?llo", "hllo", false],
  ["hello", "hello", true],
  ["hello", "hello!", false],
  ["hello!", "hello", false],
  ["A*", "ankara", false],
  ["?[sz]*[^m-z]", "Istanbul", true],
  ["?[sz]*[^m-z]", "Izmir", false],
  ["?[sz]*[^m-z]", "Ankara", false],
  ["h[b-a]llo", "hallo", true],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["a\\", "a\\", true],
  ["[\\]]", "]", true],
  ["[]a]", "a", false],
  ["[abc", "b", true],
  ["[^abc", "d", true],
  ["[", "[", false],
  ["[^", "x", true],
  ["[a-", "-", true],
  ["[a-]", "^", true],
  ["a*b*c", "aXbXbXc", true],
  ["a*b*c", "aXbXbXcd", false],
  ["*ab", "aab", true],
  ["?*?", "a", false],
  ["?*?", "ab", true],
  ["ab*ba", "aba", false],
  ["ab*ba", "abba", true],
  ["*ab*b", "ab", false],
  ["*ab*b", "abb", true],
  ["*a*a*", "ab", false],
  ["*\ude00", "😀", false],
  ["*\ude00", "x\ude00", true],
  ["?", "😀", true],
  ["??", "😀", false],
  ["*?é", "😀é", true],
  ["[😀-😂]x", "😁x", true],
  ["[^a]", "😀", true],
  ["Ö[ä-ü]*", "Öö!", true],
];

test("a pattern matches whole strings of characters", () => {
  for (const [pattern, subject, expected] of matches)
    assert.equal(compileGlob(pattern)(subject), expected, `${JSON.stringify(pattern)} on ${JSON.stringify(subject)}`);
});

test("on ASCII a pattern matches as in the store, except for the empty string", () => {
  const piece = fc.constantFrom("*", "?", "[", "]", "^", "-", "\\", "a", "b", "c", "B", "[a-c]", "[^b]");
  const pattern = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const subject = fc.string({
    unit: fc.constantFrom("a", "b", "c", "B", "-", "]", "[", "^", "\\", "*"),
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(pattern, subject, (text, value) => compileGlob(text)(value) === matchesGlob(text, value)),
    { numRuns: 5_000 },
  );
});

test("A-07, B-04: patterns that explode with backtracking take at most pattern times subject steps", () => {
  const subject = "a".repeat(2_000);
  for (const pattern of [
    `${"a*".repeat(30)}b`,
    `${"*a".repeat(30)}*b`,
    `${"*?".repeat(30)}b`,
    `${"*[a-z]".repeat(20)}b`,
    `*${"a".repeat(40)}b`,
    `${"*".repeat(500)}b`,
    "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*[^a]",
  ]) {
    const before = filterWork.steps;
    assert.equal(compileGlob(pattern)(subject), false, pattern);
    const steps = filterWork.steps - before;
    assert.ok(steps <= pattern.length * subject.length, `${pattern}: ${steps} steps`);
  }
});
