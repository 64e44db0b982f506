/** Walks over sorted terms against loops over all of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../../../test/harness/seed.ts";
import { bytesFromText } from "../../../../kernel/bytes.ts";
import { type Random, seededRandom } from "../../../../kernel/random.ts";
import { atOnce } from "../../slices.ts";
import { codePointsOf } from "./code-points.ts";
import { LevenshteinAutomaton } from "./levenshtein.ts";
import { SortedTerms } from "./sorted-terms.ts";
import { matchesToken, walkPrefix, walkTerms } from "./term-walk.ts";

const seed = seedFrom("LARDER_TERM_WALK_SEED");
const isProof = process.env["LARDER_TEST_SIZE"] === "proof";

const modes = [0, 1, 2].flatMap((distance) =>
  [false, true].flatMap((transpositionCostOne) =>
    [false, true].map((isPrefix) => ({ distance, transpositionCostOne, isPrefix })),
  ),
);

/** The whole table of distances of the beginnings of two words. */
function distances(word: readonly number[], other: readonly number[], transpositionCostOne: boolean): number[][] {
  const table: number[][] = [];
  for (let i = 0; i <= other.length; i += 1) {
    const row: number[] = [];
    table.push(row);
    for (let j = 0; j <= word.length; j += 1) {
      const choices: number[] = [];
      if (i === 0) choices.push(j);
      if (j === 0) choices.push(i);
      if (i > 0 && j > 0) choices.push((table[i - 1]?.[j - 1] as number) + (other[i - 1] === word[j - 1] ? 0 : 1));
      if (i > 0) choices.push((table[i - 1]?.[j] as number) + 1);
      if (j > 0) choices.push((row[j - 1] as number) + 1);
      const isSwap = i > 1 && j > 1 && other[i - 1] === word[j - 2] && other[i - 2] === word[j - 1];
      if (isSwap && transpositionCostOne) choices.push((table[i - 2]?.[j - 2] as number) + 1);
      row.push(Math.min(...choices));
    }
  }
  return table;
}

function isNear(word: string, other: string, mode: (typeof modes)[number]): boolean {
  const last = distances(codePointsOf(word), codePointsOf(other), mode.transpositionCostOne).map(
    (row) => row.at(-1) as number,
  );
  return (mode.isPrefix ? Math.min(...last) : (last.at(-1) as number)) <= mode.distance;
}

function sortedOf(tokens: readonly string[]): SortedTerms {
  const sorted = new SortedTerms(tokens);
  for (let term = 0; term < tokens.length; term += 1) sorted.insert(term);
  return sorted;
}

function near(dictionary: { sorted: SortedTerms; tokens: string[] }, word: string, mode: (typeof modes)[number]) {
  const found: string[] = [];
  atOnce(
    walkTerms(new LevenshteinAutomaton(codePointsOf(word), mode), dictionary, {
      take: (term) => found.push(dictionary.tokens[term] as string),
      spend: () => true,
    }),
  );
  return found;
}

function draw(random: Random, letters: readonly string[], lengthMax: number): string {
  return Array.from({ length: random.below(lengthMax + 1) }, () => letters[random.below(letters.length)]).join("");
}

test("known distances", () => {
  const table: readonly (readonly [word: string, token: string, distance: number, swaps: boolean, prefix: boolean])[] =
    [
      ["octopu", "octopus", 1, true, false],
      ["ab", "ba", 1, true, false],
      ["abcd", "badc", 2, true, false],
      ["abc", "abcdef", 0, true, true],
      ["abd", "abcdef", 1, true, true],
      ["x", "anything", 1, true, true],
      ["", "a", 1, false, false],
    ];
  for (const [word, token, distance, transpositionCostOne, isPrefix] of table) {
    const automaton = (limit: number) =>
      new LevenshteinAutomaton(codePointsOf(word), { distance: limit, transpositionCostOne, isPrefix });
    assert.equal(
      matchesToken(automaton(distance), token, () => false),
      true,
      `${word} ${token}`,
    );
    if (distance > 0)
      assert.equal(
        matchesToken(automaton(distance - 1), token, () => false),
        false,
        `${word} ${token}`,
      );
  }
  const swapped = new LevenshteinAutomaton(codePointsOf("ab"), {
    distance: 1,
    transpositionCostOne: false,
    isPrefix: false,
  });
  assert.equal(
    matchesToken(swapped, "ba", () => false),
    false,
  );
});

test("a change of an astral character is one, whatever its bytes", () => {
  const tokens = ["a😀c", "a😁c", "ac", "a𝒳𝒳c"].map(bytesFromText);
  const dictionary = { tokens, sorted: sortedOf(tokens) };
  const mode = { distance: 1, transpositionCostOne: true, isPrefix: false };
  assert.deepEqual(near(dictionary, bytesFromText("a😀c"), mode), ["ac", "a😀c", "a😁c"].map(bytesFromText));
});

test(`words near a word are those of the table of distances (seed ${seed})`, () => {
  const alphabets = [
    ["a", "b"],
    ["a", "b", "é", "😀", "😁"],
    ["a", "\xc3", "\xa9", "\xf0", "b"],
  ];
  for (let i = 0; i < (isProof ? 2_000 : 24); i += 1) {
    const random = seededRandom(seed + i);
    const letters = alphabets[i % 3] as readonly string[];
    // Bytes that are no UTF-8 come from the last alphabet.
    const convert = i % 3 === 2 ? (text: string) => text : bytesFromText;
    const tokens = [...new Set(Array.from({ length: 80 }, () => convert(draw(random, letters, 7))))];
    const dictionary = { tokens, sorted: sortedOf(tokens) };
    for (const mode of modes) {
      const word = convert(draw(random, letters, 6));
      const expected = tokens.filter((token) => isNear(word, token, mode)).sort();
      assert.deepEqual(near(dictionary, word, mode), expected, `${i} ${JSON.stringify({ word, mode, tokens })}`);
    }
  }
});

test(`prefixes and order are those of a sorted list, across blocks and long common beginnings (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const starts = ["", "a", "b".repeat(254), "b".repeat(255), "b".repeat(256), "b".repeat(600)];
  const tokens = [
    ...new Set(
      Array.from({ length: 2_000 }, () => `${starts[random.below(starts.length)]}${draw(random, ["a", "b", "c"], 8)}`),
    ),
  ];
  const dictionary = { tokens, sorted: sortedOf(tokens) };
  const all = tokens.toSorted();
  assert.ok(dictionary.sorted.blocks.length > 4);
  const stored = dictionary.sorted.blocks.flatMap(({ commons, count }) => [...commons.subarray(0, count)]);
  const compared = all.map((token, i) => {
    let count = 0;
    while (i > 0 && count < Math.min(255, token.length) && all[i - 1]?.[count] === token[count]) count += 1;
    return count;
  });
  assert.deepEqual(stored, compared);
  for (const prefix of ["", "a", "ab", "b", "b".repeat(255), `${"b".repeat(300)}a`, "c", "cc", "d", "ÿ"]) {
    const found: string[] = [];
    atOnce(
      walkPrefix(prefix, dictionary, {
        take: (term) => {
          found.push(tokens[term] as string);
          return true;
        },
        spend: () => true,
      }),
    );
    assert.deepEqual(
      found,
      all.filter((token) => token.startsWith(prefix)),
      prefix.length > 20 ? `${prefix.length}` : prefix,
    );
  }
  for (const word of ["b".repeat(256), `${"b".repeat(599)}ac`, "abc"]) {
    for (const mode of modes) {
      const expected = all.filter((token) => {
        const read = mode.isPrefix ? token.slice(0, word.length + 2) : token;
        if (Math.abs(read.length - word.length) > 2) return false;
        // A common beginning costs nothing, so the quadratic table is without most of it.
        let common = 0;
        while (common < word.length && word[common] === read[common]) common += 1;
        const start = Math.max(0, common - 5);
        return isNear(word.slice(start), read.slice(start), mode);
      });
      assert.deepEqual(near(dictionary, word, mode), expected, `${word.length} ${JSON.stringify(mode)}`);
    }
  }
});
