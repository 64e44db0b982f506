import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError } from "../../errors.ts";
import type { FieldType, IndexDefinition, SearchDocument } from "../definition.ts";
import type { IndexReader } from "../index/index-reader.ts";
import { atOnce } from "../slices.ts";
import type { Modifier, Ranking, ScoreFunction } from "./contract.ts";
import { makeFilterParser } from "./filter-parser.ts";
import { naiveReader, plainAnalyzer } from "./naive-reader.virtual.ts";
import { countMatches, findHits, matchingDocuments } from "./search.ts";

const field = (name: string, type: FieldType) => ({
  name,
  type,
  isTokenized: true,
  isStemmed: false,
  isFast: true,
  path: undefined,
});

const definition: IndexDefinition = {
  dataType: "JSON",
  prefixes: [""],
  language: "english",
  fields: [
    field("t", "TEXT"),
    field("n", "F64"),
    field("u", "U64"),
    field("k", "KEYWORD"),
    field("b", "BOOL"),
    field("d", "DATE"),
  ],
};

const analyzerFor = plainAnalyzer((word) => word);
const parse = makeFilterParser({
  analyzerFor,
  compilePattern: (pattern) => ({ matches: (token) => new RegExp(`^(?:${pattern})$`, "i").test(token) }),
});
const spend = (): boolean => false;
const byScore: Ranking = { orderBy: undefined, scoreFunction: undefined };

const indexOf = (documents: readonly (SearchDocument | undefined)[]): IndexReader =>
  naiveReader({ definition, documents, analyzerFor });
const texts = (...values: string[]): SearchDocument[] => values.map((value) => [[value]]);

function hitsOf(
  index: IndexReader,
  filter: unknown,
  options: Partial<{ ranking: Ranking; offset: number; limit: number }> = {},
) {
  const hits = atOnce(
    findHits(index, parse(JSON.stringify(filter), definition), {
      ranking: byScore,
      offset: 0,
      limit: 10,
      spend,
      ...options,
    }),
  );
  return hits.map(({ document, score }) => `${document}: ${score}`).join(", ");
}

test("an empty index has no hits", () => {
  const index = indexOf([undefined, undefined]);
  for (const filter of [{}, { t: "a" }, { n: 1 }]) {
    assert.equal(hitsOf(index, filter), "");
    assert.equal(atOnce(countMatches(index, parse(JSON.stringify(filter), definition), spend)), 0);
    assert.equal(atOnce(matchingDocuments(index, parse(JSON.stringify(filter), definition), spend)).length, 0);
  }
});

test("hits are a page of the best ones, ties in order of the documents", () => {
  const index = indexOf(texts("a", "b", "a", "a", "a b", "b a"));
  const filter = { $or: { t: { $regex: "a" } } };
  assert.equal(hitsOf(index, filter, { limit: 2 }), "0: 1, 2: 1");
  assert.equal(hitsOf(index, filter, { limit: 2, offset: 1 }), "2: 1, 3: 1");
  assert.equal(hitsOf(index, filter, { limit: 2, offset: 4 }), "5: 1");
  assert.equal(hitsOf(index, filter, { limit: 2, offset: 5 }), "");
  const scored = { $or: [{ t: { $regex: "a" } }, { t: { $regex: "b", $boost: 2 } }] };
  assert.equal(hitsOf(index, scored, { limit: 4 }), "4: 3, 5: 3, 1: 2, 0: 1");
});

test("negative boosts put documents last, and keep them", () => {
  const index = indexOf(texts("a", "a b", "b", "c"));
  assert.equal(
    hitsOf(index, { $or: [{ t: { $regex: "a" } }, { t: { $regex: "b", $boost: -3 } }] }),
    "0: 1, 1: -2, 2: -3",
  );
  assert.equal(
    hitsOf(index, { $boost: -1, $and: [{}], $should: { t: { $regex: "c" } } }),
    "0: -1, 1: -1, 2: -1, 3: -2",
  );
  assert.equal(hitsOf(index, { $boost: 0, t: { $regex: "a" } }), "0: 0, 1: 0");
});

test("huge scores stay numbers that a float32 can be", () => {
  const index = indexOf(texts("a", "b"));
  let filter: unknown = { t: { $regex: "a", $boost: 1e9 } };
  for (let depth = 0; depth < 5; depth += 1) filter = { $boost: 1e9, $and: [filter] };
  assert.equal(hitsOf(index, filter), "0: 3.4028235e+38");
});

test("the last word of a phrase with prefix has at most 50 expansions, in the order of their bytes", () => {
  const words = Array.from({ length: 60 }, (_, number) => `b${number + 10}`);
  const index = indexOf(texts(...words.map((word) => `a ${word}`)));
  const phrase = (value: string) => ({ t: { $phrase: { value, prefix: true } } });
  const countOf = (value: string): number =>
    atOnce(countMatches(index, parse(JSON.stringify(phrase(value)), definition), spend));
  assert.equal(countOf("a b"), 50);
  assert.equal(countOf("a b6"), 10);
  assert.equal(countOf("a c"), 0);
  assert.equal(countOf("b"), 60);
});

test("a word of a phrase may be an expansion of its last word", () => {
  const index = indexOf(texts("ab ab", "ab abc", "ab x ab"));
  assert.equal(hitsOf(index, { t: { $phrase: { value: "ab a", prefix: true } } }).replaceAll(/: [^,]*/g, ""), "0, 1");
});

test("the last word of a phrase with prefix begins a token as it is written, or as its stem is", () => {
  const stems = plainAnalyzer((word) => (word === "skies" ? "sky" : word === "sees" ? "see" : word));
  const stemmed = { ...definition, fields: [{ ...field("t", "TEXT"), isStemmed: true }] };
  const documents = texts("red sky", "red skyline", "red skiesx", "red sk", "red seen");
  const index = naiveReader({ definition: stemmed, documents, analyzerFor: stems });
  const parseStems = makeFilterParser({ analyzerFor: stems, compilePattern: () => ({ matches: () => false }) });
  const found = (value: string): number[] => {
    const filter = parseStems(JSON.stringify({ t: { $phrase: { value, prefix: true } } }), stemmed);
    return [...atOnce(matchingDocuments(index, filter, spend))];
  };
  assert.deepEqual(found("red skies"), [0, 1, 2]);
  assert.deepEqual(found("skies"), [0, 1, 2]);
  assert.deepEqual(found("red sees"), [4]);
});

test("positions of several texts of a field are apart", () => {
  const index = indexOf([[["a b", "c"]], [["a", "b c"]]]);
  const documents = (value: string, slop: number) =>
    hitsOf(index, { t: { $phrase: { value, slop } } }).replaceAll(/: [^,]*/g, "");
  assert.equal(documents("a b", 0), "0");
  assert.equal(documents("b c", 0), "1");
  assert.equal(documents("b c", 1), "0, 1");
});

const scored: [ScoreFunction["scoreMode"], ScoreFunction["combineMode"], expected: string][] = [
  ["SUM", "SUM", "1: 16, 0: 13, 2: 11"],
  ["SUM", "MULTIPLY", "1: 51, 0: 21, 2: 1"],
  ["MULTIPLY", "SUM", "1: 15, 0: 12, 2: 10"],
  ["MULTIPLY", "MULTIPLY", "1: 50, 0: 20, 2: 0"],
  ["REPLACE", "SUM", "1: 15, 0: 12, 2: 10"],
  ["REPLACE", "MULTIPLY", "1: 50, 0: 20, 2: 0"],
];

test("SCOREFUNC combines the values of fields, and puts them onto the score", () => {
  const index = indexOf([
    [["a"], [2], [1]],
    [["a"], [5, 99], [1]],
    [["a"], undefined, [1]],
  ]);
  for (const [scoreMode, combineMode, expected] of scored) {
    const fields = [
      { field: 1, modifier: "NONE", factor: 1, missing: 0 },
      { field: 2, modifier: "NONE", factor: 10, missing: 0 },
    ] as const;
    const ranking = { orderBy: undefined, scoreFunction: { fields, scoreMode, combineMode } };
    assert.equal(hitsOf(index, { t: { $regex: "a" } }, { ranking }), expected, `${scoreMode} ${combineMode}`);
  }
});

const modified: [Modifier, value: number | undefined, missing: number, score: string][] = [
  ["NONE", 2.5, 0, "2.5"],
  ["NONE", undefined, 7, "7"],
  ["LOG", 1000, 0, "3"],
  ["LOG1P", 99, 0, "2"],
  ["LOG2P", 98, 0, "2"],
  ["LN", 1, 0, "0"],
  ["LN1P", 0, 0, "0"],
  ["LN2P", -1, 0, "0"],
  ["SQUARE", -3, 0, "9"],
  ["SQRT", 2.25, 0, "1.5"],
  ["RECIPROCAL", 4, 0, "0.25"],
  // The modifier of MISSING, where that of the value is not finite.
  ["RECIPROCAL", 0, 8, "0.125"],
  ["SQRT", -1, 9, "3"],
  ["LOG", undefined, 100, "2"],
  ["SQUARE", 1e200, 3, "9"],
  // MISSING itself, where its modifier is not finite either.
  ["LOG", 0, 0, "0"],
  ["LOG", -5, -4, "-4"],
  ["RECIPROCAL", undefined, 0, "0"],
];

test("modifiers of SCOREFUNC fall back on MISSING", () => {
  for (const [modifier, value, missing, score] of modified) {
    const index = indexOf([[["a"], value === undefined ? undefined : [value]]]);
    const fields = [{ field: 1, modifier, factor: 1, missing }];
    const scoreFunction: ScoreFunction = { fields, scoreMode: "REPLACE", combineMode: "MULTIPLY" };
    assert.equal(
      hitsOf(index, {}, { ranking: { orderBy: undefined, scoreFunction } }),
      `0: ${score}`,
      `${modifier} ${value}`,
    );
  }
});

test("scores that are equal as float32 are ties", () => {
  const regex = (word: string, boost: number) => ({ t: { $regex: word, $boost: boost } });
  const either = { $or: [regex("a", 1), regex("b", 1.000_000_000_01)] };
  assert.equal(hitsOf(indexOf(texts("a", "b")), either), "0: 1, 1: 1");
  assert.equal(hitsOf(indexOf(texts("a", "b")), { $and: [either], $or: [regex("b", 1e-9)] }), "0: 1, 1: 1");
});

test("REPLACE prints doubles, the other modes round to float32", () => {
  const index = indexOf([[["a"], [0.1]]]);
  const ranking = (scoreMode: ScoreFunction["scoreMode"]): Ranking => ({
    orderBy: undefined,
    scoreFunction: { fields: [{ field: 1, modifier: "NONE", factor: 3, missing: 0 }], scoreMode, combineMode: "SUM" },
  });
  assert.equal(hitsOf(index, {}, { ranking: ranking("REPLACE") }), "0: 0.30000000000000004");
  assert.equal(hitsOf(index, {}, { ranking: ranking("MULTIPLY") }), "0: 0.3");
});

const orders: [name: string, field: number, isAscending: boolean, hits: string][] = [
  ["U64 beyond 2^53 orders exactly", 2, true, "3: 5, 1: 9007199254740992, 0: 9007199254740992, 2: 0"],
  ["U64 descending", 2, false, "0: 9007199254740992, 1: 9007199254740992, 3: 5, 2: 0"],
  ["KEYWORD by bytes, shown as 0", 3, true, "1: 0, 3: 0, 0: 0, 2: 0"],
  ["BOOL as 1 and 0, ties in order of the documents", 4, false, "1: 1, 2: 1, 0: 0, 3: 0"],
  ["DATE in ms", 5, true, "3: -1, 0: 0, 1: 1740787200000, 2: 0"],
];

test("ORDERBY takes any field with a column; documents without a value come last", () => {
  const index = indexOf([
    [["a"], undefined, [9007199254740993n], ["b"], [0], [0]],
    [["a"], undefined, [9007199254740992n], ["B"], [1], [1_740_787_200_000]],
    [["a"], undefined, undefined, undefined, [1], undefined],
    [["a"], undefined, [5], ["a", "z"], undefined, [-1]],
  ]);
  for (const [name, number, isAscending, hits] of orders) {
    const ranking: Ranking = { orderBy: { field: number, isAscending }, scoreFunction: undefined };
    assert.equal(hitsOf(index, {}, { ranking }), hits, name);
  }
});

test("a frequent word is not scored in all its documents", () => {
  const documents = texts(...Array.from({ length: 4_000 }, (_, number) => (number % 400 === 7 ? "a a a" : "a b c")));
  const index = naiveReader({ definition, documents, analyzerFor, blockLength: 128 });
  const stepsOf = (limit: number): number => {
    let steps = 0;
    atOnce(
      findHits(index, parse('{"t":{"$eq":"a"}}', definition), {
        ranking: byScore,
        offset: 0,
        limit,
        spend: (more) => {
          steps += more;
          return false;
        },
      }),
    );
    return steps;
  };
  assert.ok(stepsOf(4_000) >= 12_000);
  assert.ok(stepsOf(5) < 4_500, `${stepsOf(5)} steps`);
  assert.equal(hitsOf(index, { t: { $eq: "a" } }, { limit: 3 }).replaceAll(/: [^,]*/g, ""), "7, 407, 807");
});

test("a conjunction of sums finds the best documents of a window, not only its first ones", () => {
  const others = new Map([
    [700, "a a c c"],
    [1, "d x x x"],
    [2, "e x x x"],
  ]);
  const index = indexOf(texts(...Array.from({ length: 900 }, (_, number) => others.get(number) ?? "a x c x")));
  const sum = (...words: string[]) => ({ $or: words.map((word) => ({ t: { $eq: word } })) });
  assert.equal(hitsOf(index, { $and: [sum("a", "d"), sum("c", "e")] }, { limit: 1 }), "700: 0.0076410165");
});

const hostile: [name: string, filter: unknown][] = [
  [
    "many beginnings of one letter",
    { $or: Array.from({ length: 1_000 }, (_, n) => ({ t: { $fuzzy: { value: `${n}`, prefix: true } } })) },
  ],
  ["long phrases", { t: "a ".repeat(5_000) }],
  ["many scans", { $or: Array.from({ length: 1_000 }, (_, n) => ({ n: { $gt: n } })) }],
  ["required scans", { $and: Array.from({ length: 1_000 }, (_, n) => ({ n: { $gt: -n } })) }],
  ["excluded scans", { t: { $regex: ".*" }, $mustNot: Array.from({ length: 1_000 }, (_, n) => ({ n: { $lt: -n } })) }],
  ["optional scans", { $and: [], $must: [{}], $or: Array.from({ length: 1_000 }, (_, n) => ({ n: { $gt: n } })) }],
];

test("hostile filters end with the error of the limit of steps", () => {
  const tooLong = new CommandError("ERR too many steps");
  const documents = Array.from({ length: 3_000 }, (_, n): SearchDocument => [[`a b${n % 100} a a`], [n]]);
  const index = indexOf(documents);
  for (const [name, filter] of hostile) {
    let left = 60_000;
    const parsed = parse(JSON.stringify(filter), definition);
    const options = {
      ranking: byScore,
      offset: 0,
      limit: 10_000,
      spend: (steps: number) => {
        left -= steps;
        if (left < 0) throw tooLong;
        return false;
      },
    };
    assert.throws(
      () => atOnce(findHits(index, parsed, options)),
      (error) => error === tooLong,
      name,
    );
  }
});
