/** Patterns by hand, the known exponential ones by counted steps, and random ones against the real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisMissing, startRedis } from "../../../test/differential/redis-process.ts";
import { seededRandom } from "../../kernel/random.ts";
import { globWork, matchesGlob } from "./glob.ts";

const matches: readonly (readonly [pattern: string, subject: string, expected: boolean])[] = [
  ["", "", true],
  ["*", "", false],
  ["**", "", false],
  ["", "a", false],
  ["*", "a", true],
  ["a*", "a", true],
  ["*a*", "a", true],
  ["a**", "abc", true],
  ["h?llo", "hello", true],
  ["h?llo", "hllo", false],
  ["h*llo", "heeeello", true],
  ["h[ae]llo", "hallo", true],
  ["h[ae]llo", "hillo", false],
  ["h[^e]llo", "hello", false],
  ["h[^e]llo", "hbllo", true],
  ["h[a-b]llo", "hbllo", true],
  ["h[b-a]llo", "hallo", true],
  ["h[a-b]llo", "hcllo", false],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["a\\", "a\\", true],
  ["[\\]]", "]", true],
  ["[]a]", "a", false],
  ["[abc", "b", true],
  ["[abc", "d", false],
  ["[^abc", "d", true],
  ["[", "[", false],
  ["[^", "x", true],
  ["[^", "", false],
  ["[a-", "-", true],
  ["[a-]", "b", false],
  ["[a-]", "^", true],
  ["[a-\xff]", "\xff", true],
  ["[a-\xff]", "b", false],
  ["[a-\xff]", "A", true],
  ["a*b*c", "aXbXbXc", true],
  ["a*b*c", "aXbXbXcd", false],
  ["*ab", "aab", true],
  ["?*?", "a", false],
  ["?*?", "ab", true],
  ["A", "a", false],
  ["\x00*\xff", "\x00\x00\xff", true],
];

const matchesIgnoringCase: readonly (readonly [pattern: string, subject: string, expected: boolean])[] = [
  ["A*c", "aBC", true],
  ["[A-C]", "b", true],
  ["[abc]", "B", true],
  ["[\\b]", "B", false],
  ["\\B", "b", true],
  ["\xc4", "\xe4", false],
];

test("a pattern matches as in Redis", () => {
  for (const [pattern, subject, expected] of matches)
    assert.equal(matchesGlob(pattern, subject), expected, `${JSON.stringify(pattern)} on ${JSON.stringify(subject)}`);
  for (const [pattern, subject, expected] of matchesIgnoringCase)
    assert.equal(
      matchesGlob(pattern, subject, { ignoreCase: true }),
      expected,
      `${JSON.stringify(pattern)} on ${JSON.stringify(subject)}, case ignored`,
    );
});

test("A-07: patterns that are exponential with backtracking take at most pattern times subject steps", () => {
  const subject = "a".repeat(2_000);
  for (const pattern of [
    `${"a*".repeat(30)}b`,
    `${"*a".repeat(30)}*b`,
    `${"*?".repeat(30)}b`,
    `${"*[a-z]".repeat(20)}b`,
    `${"*".repeat(1_000)}b`,
    "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*[^a]",
  ]) {
    const before = globWork.steps;
    assert.equal(matchesGlob(pattern, subject), false, pattern);
    const steps = globWork.steps - before;
    assert.ok(steps <= 2 * pattern.length * subject.length, `${pattern}: ${steps} steps`);
    assert.ok(steps <= 150_000, `${pattern}: ${steps} steps`);
  }
});

test("random patterns match the same keys as in redis-server", { skip: redisMissing }, async () => {
  const seed = Number(process.env["GLOB_SEED"] ?? 20_260_101);
  const random = seededRandom(seed);
  const alphabet = ["a", "b", "c", "B", "-", "]", "[", "^", "\\", "*", "?", "\x00", "\x80", "\xff"];
  const text = (lengthMax: number, count: number): string =>
    Array.from({ length: random.below(lengthMax + 1) }, () => alphabet[random.below(count)]).join("");
  const redis = await startRedis();
  try {
    const keys = new Set(Array.from({ length: 150 }, () => text(5, alphabet.length)));
    await redis.pipeline([...keys].map((key) => ["SET", key, ""]));
    const patterns = Array.from({ length: 6_000 }, () => text(8, alphabet.length)).filter((pattern) => pattern !== "*");

    const replies = await redis.pipeline(patterns.map((pattern) => ["KEYS", pattern]));

    for (const [i, pattern] of patterns.entries()) {
      const ours = [...keys].filter((key) => matchesGlob(pattern, key));
      const theirs = replies[i];
      assert.ok(Array.isArray(theirs));
      assert.deepEqual(ours.sort(), theirs.sort(), `pattern ${JSON.stringify(pattern)}; replay with GLOB_SEED=${seed}`);
    }
  } finally {
    await redis.stop();
  }
});

test("random patterns that ignore case match the same settings as redis-server", { skip: redisMissing }, async () => {
  const seed = Number(process.env["GLOB_SEED"] ?? 20_260_101);
  const random = seededRandom(seed);
  const pieces = [
    "*",
    "*",
    "?",
    "[A-M]",
    "[^a-f]",
    "[m-C]",
    "[\\S]",
    "\\S",
    "S",
    "a",
    "e",
    "-",
    "max",
    "LIST",
    "[b-",
    "ve",
  ];
  const redis = await startRedis();
  try {
    const all = await redis.call(["CONFIG", "GET", "*"]);
    assert.ok(Array.isArray(all));
    const names: string[] = all.filter((_, i) => i % 2 === 0);
    assert.ok(names.length > 100);
    const patterns = Array.from({ length: 2_000 }, () =>
      Array.from({ length: 1 + random.below(6) }, () => pieces[random.below(pieces.length)]).join(""),
    ).filter((pattern) => /[[*?]/.test(pattern));

    const replies = await redis.pipeline(patterns.map((pattern) => ["CONFIG", "GET", pattern]));

    for (const [i, pattern] of patterns.entries()) {
      const ours = names.filter((name) => matchesGlob(pattern, name, { ignoreCase: true }));
      const reply = replies[i];
      assert.ok(Array.isArray(reply));
      const theirs = reply.filter((_, at) => at % 2 === 0);
      assert.deepEqual(ours.sort(), theirs.sort(), `pattern ${JSON.stringify(pattern)}; replay with GLOB_SEED=${seed}`);
    }
  } finally {
    await redis.stop();
  }
});
