/** Patterns of filters: matches, invalid patterns, and bounded time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compilePattern, matches, PatternFailure } from "./pattern.ts";

function count(): { spend: (steps: number) => void; steps: number } {
  const counted = {
    steps: 0,
    spend: (steps: number) => {
      counted.steps += steps;
    },
  };
  return counted;
}

function takes(pattern: string, text: string, isWhole = false): boolean {
  return matches(compilePattern(pattern), text, { isWhole, spend: () => {} });
}

test("a pattern matches a part of a text, or the whole text", () => {
  const table: readonly (readonly [pattern: string, text: string, part: boolean, whole: boolean])[] = [
    ["", "", true, true],
    ["", "a", true, false],
    ["b", "abc", true, false],
    ["abc", "abc", true, true],
    ["a.c", "axc", true, true],
    ["a.c", "a\nc", false, false],
    ["^b", "ab", false, false],
    ["^a", "ab", true, false],
    ["b$", "ab", true, false],
    ["a|bc", "bc", true, true],
    ["(a|b)*c", "ababc", true, true],
    ["a{2,3}", "aaaa", true, false],
    ["a{2}", "a", false, false],
    ["a{2,}", "aaaaa", true, true],
    ["ab?c", "ac", true, true],
    ["[a-c]+", "abcabc", true, true],
    ["[^a-c]", "abc", false, false],
    ["[a\\-]+", "a-a", true, true],
    ["[-a]+", "-a", true, true],
    ["[\\d_]+", "4_2", true, true],
    ["\\d+", "abc123", true, false],
    ["\\w\\s\\w", "a b", true, true],
    ["\\S+", "ab", true, true],
    ["\\.", "a.b", true, false],
    ["\\p{Lu}\\p{Ll}*", "Straße", true, true],
    ["\\P{L}", "abc", false, false],
    ["[\\p{N}x]+", "x٣", true, true],
    ["(?i)straße", "STRAße", true, true],
    ["(?i)[a-f]+", "AbCdEf", true, true],
    ["(?i)\\p{Lu}+", "aB", true, true],
    ["(?i)\\P{Lu}", "aB", false, false],
    ["(?:ab)+", "abab", true, true],
    [".", "😀", true, true],
    ["(a*)*b", "b", true, true],
    ["(|a)+", "aaa", true, true],
    ["a+?", "aaa", true, true],
  ];
  for (const [pattern, text, part, whole] of table) {
    assert.equal(takes(pattern, text), part, `a part of ${text} by ${pattern}`);
    assert.equal(takes(pattern, text, true), whole, `the whole of ${text} by ${pattern}`);
  }
});

test("rejects invalid patterns", () => {
  const bad = ["(", ")", "a)", "[", "[]", "[a", "[b-a]", "*", "a**", "a{", "a{2,1}", "a{x}", "{1}", "\\", "\\q", "\\1"];
  const large = [
    "a{1001}",
    "(a{1000}){1000}",
    "((((){1000}){1000}){1000}){1000}",
    "(".repeat(100_000),
    "(?=a)",
    "(?<a>b)",
  ];
  for (const pattern of [...bad, ...large, "\\p{Xx}", "\\pL", "^*", "]", "}"])
    assert.throws(() => compilePattern(pattern), PatternFailure, pattern);
});

test("A-08: patterns that are exponential in other engines take states times characters", () => {
  const text = `${"a".repeat(5_000)}!`;
  for (const pattern of ["(a+)+", "(a|a)*", "(a*)*", "(a?){50}a{50}", "(.*a){10}", "(a|aa)+", "((a?){9}){9}"]) {
    const counted = count();
    assert.equal(matches(compilePattern(pattern), text, { isWhole: true, spend: counted.spend }), false, pattern);
    assert.ok(counted.steps < 500 * text.length, `${pattern}: ${counted.steps} steps`);
  }
});

test("A-08: a long class counts for its cost", () => {
  const counted = count();
  matches(compilePattern(`[${"ab".repeat(4_000)}]+`), "c".repeat(100), { isWhole: false, spend: counted.spend });
  assert.ok(counted.steps > 50_000, `${counted.steps} steps`);
});

test("agrees with a backtracking matcher on simple patterns", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    "a*",
    "b+",
    "(ab)?",
    "(a|b)",
    "(?:b|aa)*",
    "a{1,2}",
    "^",
    "$",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), fc.stringMatching(/^[abc]{0,8}$/), (pieces, text) => {
      assert.equal(takes(pieces.join(""), text), slow(pieces, text), `${pieces.join("")} in ${text}`);
    }),
    { numRuns: 500 },
  );
});

/** The possible ends of a piece that starts at an index. */
const ends: Readonly<Record<string, (text: string, at: number) => readonly number[]>> = {
  a: (text, at) => one(text[at] === "a", at),
  b: (text, at) => one(text[at] === "b", at),
  ".": (text, at) => one(at < text.length, at),
  "[ab]": (text, at) => one(text[at] === "a" || text[at] === "b", at),
  "[^a]": (text, at) => one(at < text.length && text[at] !== "a", at),
  "a*": (text, at) => run(text, at, ["a"]),
  "b+": (text, at) => run(text, at, ["b"]).filter((end) => end > at),
  "(ab)?": (text, at) => (text.startsWith("ab", at) ? [at, at + 2] : [at]),
  "(a|b)": (text, at) => one(text[at] === "a" || text[at] === "b", at),
  "(?:b|aa)*": (text, at) => run(text, at, ["b", "aa"]),
  "a{1,2}": (text, at) => run(text, at, ["a"]).filter((end) => end === at + 1 || end === at + 2),
  "^": (_, at) => (at === 0 ? [0] : []),
  $: (text, at) => (at === text.length ? [at] : []),
};

function one(holds: boolean, at: number): readonly number[] {
  return holds ? [at + 1] : [];
}

function run(text: string, at: number, words: readonly string[]): readonly number[] {
  const found = new Set([at]);
  for (const place of found) for (const word of words) if (text.startsWith(word, place)) found.add(place + word.length);
  return [...found];
}

function slow(pieces: readonly string[], text: string): boolean {
  let places = new Set(Array.from({ length: text.length + 1 }, (_, at) => at));
  for (const name of pieces) places = new Set([...places].flatMap((at) => ends[name]?.(text, at) ?? []));
  return places.size > 0;
}
