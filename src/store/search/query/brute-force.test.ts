/**
 * Queries over an index find what a search through all documents finds.
 *
 * Run again:  LARDER_BRUTE_FORCE_SEED=… npm run t -- src/store/search/query/brute-force.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../../../test/budget.ts";
import { seedFrom } from "../../../../test/harness/seed.ts";
import { type Random, seededRandom } from "../../../kernel/random.ts";
import type { IndexDefinition, SearchDocument } from "../definition.ts";
import { atOnce } from "../slices.ts";
import { BruteForce } from "./brute-force.virtual.ts";
import type { Ranking } from "./contract.ts";
import { makeFilterParser } from "./filter-parser.ts";
import { faultOfHits } from "./hit-comparison.virtual.ts";
import { naiveReader, plainAnalyzer } from "./naive-reader.virtual.ts";
import { Draw } from "./random-filters.virtual.ts";
import { countMatches, findHits, matchingDocuments } from "./search.ts";

const firstSeed = seedFrom("LARDER_BRUTE_FORCE_SEED");
const allowance = allowanceOf("search-brute-force");

/** Calls `compare` with one seed after the other until the allowance of a test is spent. */
function withSeeds(compare: (seed: number) => void): void {
  const isSpent = spending(allowance);
  for (let count = 0; !isSpent(count); count += 1) {
    try {
      compare(firstSeed + count);
    } catch (error) {
      throw new Error(`LARDER_BRUTE_FORCE_SEED=${firstSeed + count}`, { cause: error });
    }
  }
}

const spend = (): boolean => false;
/** The slice is over whenever somebody asks. */
const spendAll = (): boolean => true;
const analyzerFor = plainAnalyzer((word) => (word.endsWith("s") ? word.slice(0, -1) : word));
const matchesPattern = (pattern: string, token: string): boolean => new RegExp(`^(?:${pattern})$`, "i").test(token);
const parse = makeFilterParser({
  analyzerFor,
  compilePattern: (pattern) => ({ matches: (token) => matchesPattern(pattern, token) }),
});

const byScore: Ranking = { orderBy: undefined, scoreFunction: undefined };

function compareOnce(draw: Draw, { documentCount, filterCount }: { documentCount: number; filterCount: number }): void {
  const definition = draw.definition();
  const documents = draw.documents(definition, documentCount);
  const index = naiveReader({ definition, documents, analyzerFor });
  const slow = new BruteForce({ definition, documents, analyzerFor, matchesPattern });
  for (let i = 0; i < filterCount; i += 1) {
    const text = draw.filter(definition, 4);
    const filter = parse(text, definition);
    const ranking = draw.ranking(definition);
    const limit = 1 + draw.below(draw.chance(0.5) ? 5 : 100);
    const offset = draw.chance(0.3) ? draw.below(10) : 0;
    const message = `${text}\n${JSON.stringify({ ranking, limit, offset })}`;
    const expected = slow.hits(text, ranking);
    const numbers = expected.map(({ document }) => document).sort((one, other) => one - other);
    assert.equal(atOnce(countMatches(index, filter, spend)), numbers.length, message);
    assert.deepEqual([...atOnce(matchingDocuments(index, filter, spend))], numbers, message);
    const found = atOnce(findHits(index, filter, { ranking, offset, limit, spend }));
    assert.equal(faultOfHits(found, { expected, ranking, offset, limit }), undefined, message);
    assert.equal(atOnce(countMatches(index, filter, spendAll)), numbers.length, message);
    assert.deepEqual([...atOnce(matchingDocuments(index, filter, spendAll))], numbers, message);
    const inSlices = atOnce(findHits(index, filter, { ranking, offset, limit, spend: spendAll }));
    assert.deepEqual(inSlices, found, message);
  }
}

test("random filters over small indexes find, count, score and order as a search through all documents, in slices too", () => {
  withSeeds((seed) => {
    // Several for each index of the other tests, which are larger.
    const draw = new Draw(seededRandom(seed));
    for (let i = 0; i < 10; i += 1) compareOnce(draw, { documentCount: draw.below(40), filterCount: 20 });
  });
});

test("random filters over an index of several windows agree with a search through all documents", () => {
  withSeeds((seed) => compareOnce(new Draw(seededRandom(seed)), { documentCount: 5_000, filterCount: 10 }));
});

const oneText: IndexDefinition = {
  dataType: "HASH",
  prefixes: [""],
  language: "english",
  fields: [{ name: "t", type: "TEXT", isTokenized: true, isStemmed: false, isFast: false, path: undefined }],
};

/** Words of Zipf's distribution: w0 is in most texts, w90 in few. */
function zipfTexts(random: Random, count: number): (SearchDocument | undefined)[] {
  const word = (): string => `w${Math.floor(100 ** random.unit()) - 1}`;
  return Array.from({ length: count }, () => {
    if (random.below(20) === 0) return undefined;
    return [[Array.from({ length: 1 + random.below(60) }, word).join(" ")]];
  });
}

test("skipping of low scores leaves out no hit, with sums of frequent and rare words and boosts of any sign", () => {
  withSeeds((seed) => {
    const random = seededRandom(seed);
    const documents = zipfTexts(random, 800);
    const index = naiveReader({ definition: oneText, documents, analyzerFor, blockLength: 8 });
    const slow = new BruteForce({ definition: oneText, documents, analyzerFor, matchesPattern });
    for (let i = 0; i < 15; i += 1) {
      const clauses = Array.from({ length: 1 + random.below(5) }, () => {
        const text = `w${random.below(random.below(100) + 1)}${random.below(4) === 0 ? " w1" : ""}`;
        const boost = random.below(3) === 0 ? random.below(5) - 1 : 1;
        return random.below(3) === 0 ? { t: text } : { t: { $eq: text, $boost: boost } };
      });
      const text = JSON.stringify(random.below(2) === 0 ? { $and: clauses.slice(0, 2) } : { $or: clauses });
      const options = { ranking: byScore, offset: 0, limit: 1 + random.below(12) };
      const found = atOnce(findHits(index, parse(text, oneText), { ...options, spend }));
      const fault = faultOfHits(found, { ...options, expected: slow.hits(text, byScore) });
      assert.equal(fault, undefined, text);
      assert.deepEqual(atOnce(findHits(index, parse(text, oneText), { ...options, spend: spendAll })), found, text);
    }
  });
});
