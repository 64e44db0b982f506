/** LCS by hand, against the textbook table, and against the real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisMissing, startRedis } from "../../../test/differential/redis-process.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { commonSubsequence, isLcsAllowed, lcsLength } from "./lcs.ts";

test("the subsequence of the manual's example, and its positions", () => {
  const { bytes, ranges } = commonSubsequence("ohmytext", "mynewtext");

  assert.equal(bytes, "mytext");
  assert.deepEqual(ranges, [
    { oneStart: 4, oneEnd: 7, otherStart: 5, otherEnd: 8 },
    { oneStart: 2, oneEnd: 3, otherStart: 0, otherEnd: 1 },
  ]);
  assert.equal(lcsLength("ohmytext", "mynewtext"), 6);
});

const subsequences: readonly (readonly [one: string, other: string, expected: string])[] = [
  ["", "", ""],
  ["", "abc", ""],
  ["abc", "", ""],
  ["a", "a", "a"],
  ["a", "b", ""],
  ["abc", "abc", "abc"],
  ["abcbdab", "bdcaba", "bdab"],
  ["\x00\xff\x80", "\xff\x00\x80", "\xff\x80"],
  ["a".repeat(100), "a".repeat(33), "a".repeat(33)],
  ["xay".repeat(40), "a".repeat(64), "a".repeat(40)],
];

test("the subsequences of small strings", () => {
  for (const [one, other, expected] of subsequences) {
    assert.equal(commonSubsequence(one, other).bytes, expected, `${one} | ${other}`);
    assert.equal(lcsLength(one, other), expected.length, `${one} | ${other}`);
  }
});

test("random strings have the length of the textbook table", () => {
  const random = seededRandom(5);
  for (let i = 0; i < 400; i += 1) {
    const letterCount = 1 + random.below(5);
    const one = word(random, { letterCount, lengthMax: 100 });
    const other = word(random, { letterCount, lengthMax: 100 });
    const length = textbookLength(one, other);
    assert.equal(lcsLength(one, other), length, `${one} | ${other}`);
    assert.equal(commonSubsequence(one, other).bytes.length, length, `${one} | ${other}`);
  }
});

test("A-15: strings whose table would exceed Redis' limit, or with too many rows, are refused; just below is fast", () => {
  assert.equal(isLcsAllowed("x".repeat(11_584), "x".repeat(11_584)), true);
  assert.equal(isLcsAllowed("x".repeat(11_585), "x".repeat(11_585)), false);
  assert.equal(isLcsAllowed("x", "x".repeat(10_000_000)), false);

  assert.equal(lcsLength("ab".repeat(5_792), "ba".repeat(5_792)), 11_583);
});

test("random strings match as in redis-server", { skip: redisMissing }, async () => {
  const seed = Number(process.env["LCS_SEED"] ?? 20_260_101);
  const random = seededRandom(seed);
  const redis = await startRedis();
  try {
    const pairs = Array.from({ length: 1_500 }, () => {
      const letterCount = 1 + random.below(6);
      return [word(random, { letterCount, lengthMax: 80 }), word(random, { letterCount, lengthMax: 80 })] as const;
    });

    const replies = await redis.pipeline(
      pairs.flatMap(([one, other]) => [
        ["MSET", "a", one, "b", other],
        ["LCS", "a", "b"],
        ["LCS", "a", "b", "IDX"],
      ]),
    );

    for (const [i, [one, other]] of pairs.entries()) {
      const { bytes, ranges } = commonSubsequence(one, other);
      const hint = `${one} | ${other}; replay with LCS_SEED=${seed}`;
      assert.equal(bytes, replies[3 * i + 1], hint);
      const listed = ranges.map((range) => [
        [range.oneStart, range.oneEnd],
        [range.otherStart, range.otherEnd],
      ]);
      assert.deepEqual(["matches", listed, "len", bytes.length], replies[3 * i + 2], hint);
    }
  } finally {
    await redis.stop();
  }
});

function word(random: Random, { letterCount, lengthMax }: { letterCount: number; lengthMax: number }): string {
  return Array.from({ length: random.below(lengthMax + 1) }, () => "abcdef"[random.below(letterCount)]).join("");
}

function textbookLength(one: string, other: string): number {
  let row = new Array<number>(other.length + 1).fill(0);
  for (const letter of one) {
    const next = [0];
    for (let j = 1; j <= other.length; j += 1)
      next.push(letter === other[j - 1] ? (row[j - 1] ?? 0) + 1 : Math.max(row[j] ?? 0, next[j - 1] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}
