import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CommandError } from "../../errors.ts";
import type { FieldType, IndexDefinition } from "../definition.ts";
import { compileTokenPattern } from "../index/token-pattern.ts";
import { analyzerFor } from "../text/analyzer.ts";
import { type Clause, ClauseFilter } from "./clauses.ts";
import { FILTER_BYTES_MAX, makeFilterParser } from "./filter-parser.ts";
import { plainAnalyzer } from "./naive-reader.virtual.ts";

const definition: IndexDefinition = {
  dataType: "JSON",
  prefixes: [""],
  language: "english",
  fields: (["TEXT", "KEYWORD", "U64", "I64", "F64", "BOOL", "DATE", "FACET"] as const).map((type: FieldType) => ({
    name: type.toLowerCase(),
    type,
    isTokenized: true,
    isStemmed: true,
    isFast: true,
    path: undefined,
  })),
};

const pattern = { matches: () => false };
const parse = makeFilterParser({
  analyzerFor: plainAnalyzer((word) => (word.endsWith("s") ? word.slice(0, -1) : word)),
  compilePattern: (text) => {
    if (text === "(") throw { reason: "unclosed (" };
    return pattern;
  },
});

function clauseOf(text: string): Clause {
  const filter = parse(text, definition);
  assert.ok(filter instanceof ClauseFilter);
  return filter.clause;
}

const any = (...optional: Clause[]): Clause => ({ kind: "group", required: [], optional, excluded: [] });
const all = (...required: Clause[]): Clause => ({ kind: "group", required, optional: [], excluded: [] });
const boosted = (boost: number, clause: Clause): Clause => ({ kind: "boosted", clause, boost });
const term = (token: string): Clause => ({ kind: "term", field: 0, token });
const phrase = (slop: number, ...tokens: string[]): Clause => ({ kind: "phrase", field: 0, tokens, slop });
const fuzzy = (token: string, options = {}): Clause => ({
  kind: "fuzzy",
  field: 0,
  token,
  distance: 1,
  transpositionCostOne: true,
  isPrefix: false,
  ...options,
});
const equal = (field: number, ...values: (number | bigint)[]): Clause => ({
  kind: "numbers",
  field,
  test: { kind: "equals", values },
});
const ranged = (field: number, comparison: "$gt" | "$gte" | "$lt" | "$lte", bound: number | bigint): Clause => ({
  kind: "numbers",
  field,
  test: { kind: "range", comparison, bound },
});
const keyword = (...words: string[]): Clause => ({ kind: "words", field: 1, test: { kind: "equals", words } });
const facet = (...paths: string[]): Clause => ({ kind: "words", field: 7, test: { kind: "below", paths } });
const every: Clause = { kind: "all" };
const nothing: Clause = { kind: "nothing" };

const read: [text: string, clause: Clause][] = [
  // Nodes.
  ["{}", every],
  ['{"$boost":3}', boosted(3, every)],
  ['{"$must":[]}', every],
  ['{"$should":[]}', nothing],
  ['{"$mustNot":[{"u64":1}]}', nothing],
  ['{"$mustNot":[{"u64":1}],"$and":[]}', { kind: "group", required: [every], optional: [], excluded: [equal(2, 1)] }],
  ['{"u64":1,"i64":-1}', all(equal(2, 1), equal(3, -1))],
  ['{"$must":{"u64":1,"i64":-1}}', all(equal(2, 1), equal(3, -1))],
  ['{"$and":[{"u64":1}],"$must":[{"i64":-1}]}', all(equal(2, 1), equal(3, -1))],
  ['{"$should":[{"u64":1},{"u64":2}]}', any(equal(2, 1), equal(2, 2))],
  ['{"$or":{"u64":1,"i64":2}}', any(equal(2, 1), equal(3, 2))],
  ['{"$or":[{"u64":1,"i64":2}]}', any(all(equal(2, 1), equal(3, 2)))],
  ['{"$or":{"u64":1,"$boost":2,"i64":2}}', any(boosted(2, equal(2, 1)), boosted(2, equal(3, 2)))],
  [
    '{"keyword":"x","$or":[{"u64":1}],"$should":[{"u64":2}]}',
    { kind: "group", required: [keyword("x")], optional: [equal(2, 1), equal(2, 2)], excluded: [] },
  ],
  [
    '{"$or":[{"u64":1}],"$mustNot":{"u64":2},"$boost":-1}',
    boosted(-1, { kind: "group", required: [], optional: [equal(2, 1)], excluded: [equal(2, 2)] }),
  ],
  ['{"u64":1,"u64":2}', equal(2, 2)],
  // Every operator with every type that it fits.
  ['{"text":{"$eq":"Cats"}}', term("cat")],
  ['{"text":{"$eq":"two cats"}}', phrase(0, "two", "cat")],
  ['{"text":{"$eq":" ,"}}', nothing],
  ['{"text":{"$in":["cats","two cats",""]}}', any(term("cat"), phrase(0, "two", "cat"), nothing)],
  ['{"text":{"$in":[]}}', nothing],
  ['{"keyword":{"$eq":"Cats"}}', keyword("Cats")],
  ['{"keyword":"Cats"}', keyword("Cats")],
  ['{"keyword":{"$smart":"Cats"}}', keyword("Cats")],
  ['{"keyword":{"$in":["a","b"]}}', keyword("a", "b")],
  ['{"keyword":{"$in":[]}}', nothing],
  ['{"keyword":{"$gte":"a"}}', { kind: "words", field: 1, test: { kind: "range", comparison: "$gte", bound: "a" } }],
  ['{"u64":{"$eq":2.0}}', equal(2, 2)],
  ['{"u64":2.5}', equal(2, 2.5)],
  ['{"u64":18446744073709551615}', equal(2, 18446744073709551615n)],
  ['{"u64":{"$in":[1,1e19]}}', equal(2, 1, 10_000_000_000_000_000_000n)],
  ['{"i64":{"$smart":-9007199254740993}}', equal(3, -9007199254740993n)],
  ['{"f64":{"$eq":9007199254740993}}', equal(4, 9_007_199_254_740_992)],
  ['{"f64":{"$gt":1,"$lte":2.5}}', all(ranged(4, "$gt", 1), ranged(4, "$lte", 2.5))],
  ['{"u64":{"$lt":3}}', ranged(2, "$lt", 3)],
  ['{"i64":{"$gte":-3}}', ranged(3, "$gte", -3)],
  ['{"bool":true}', equal(5, 1)],
  ['{"bool":{"$in":[false,true]}}', equal(5, 0, 1)],
  ['{"date":"1970-01-02"}', equal(6, 86_400_000)],
  ['{"date":{"$lt":"1970-01-01T00:00:01Z"}}', ranged(6, "$lt", 1000)],
  ['{"facet":"/a/b"}', facet("/a/b")],
  ['{"facet":{"$in":["/","/a"]}}', facet("/", "/a")],
  // Texts.
  ['{"text":{"$phrase":"two cats"}}', phrase(0, "two", "cat")],
  ['{"text":{"$phrase":{"value":"two cats","slop":3}}}', phrase(3, "two", "cat")],
  ['{"text":{"$phrase":{"value":"cats","slop":3}}}', term("cat")],
  ['{"text":{"$phrase":{"value":"two cats","prefix":false}}}', phrase(0, "two", "cat")],
  [
    '{"text":{"$phrase":{"value":"two cats","prefix":true}}}',
    { kind: "phrasePrefix", field: 0, tokens: ["two"], last: { lower: "cats", term: "cat" } },
  ],
  [
    '{"text":{"$phrase":{"value":"cats","prefix":true}}}',
    { kind: "prefix", field: 0, word: { lower: "cats", term: "cat" } },
  ],
  ['{"text":{"$phrase":{"value":"","prefix":true}}}', nothing],
  ['{"text":{"$fuzzy":"two cats"}}', all(fuzzy("two"), fuzzy("cat"))],
  ['{"text":{"$fuzzy":""}}', nothing],
  [
    '{"text":{"$fuzzy":{"value":"cats","distance":2,"transpositionCostOne":false,"prefix":true}}}',
    fuzzy("cat", { distance: 2, transpositionCostOne: false, isPrefix: true }),
  ],
  ['{"text":{"$regex":"C.*"}}', { kind: "regex", field: 0, pattern }],
  ['{"text":"Cats"}', { kind: "smartWord", field: 0, token: "cat" }],
  [
    '{"text":{"$smart":"two cats"}}',
    any(
      boosted(3, phrase(0, "two", "cat")),
      boosted(2, phrase(2, "two", "cat")),
      boosted(2, any(term("two"), term("cat"))),
      any(fuzzy("two"), fuzzy("cat")),
      fuzzy("cat", { isPrefix: true }),
    ),
  ],
  ['{"text":"\\"two cats\\""}', phrase(0, "two", "cat")],
  ['{"text":" \\"cats\\" "}', term("cat")],
  ['{"text":""}', nothing],
  ['{"text":{"$eq":"cats","$boost":2}}', boosted(2, term("cat"))],
];

test("filters are read into clauses", () => {
  for (const [text, clause] of read) assert.deepEqual(clauseOf(text), clause, text);
});

const refused: [text: string, error: string][] = [
  ["", "ERR Invalid JSON at character 1: expected a value"],
  ["[]", "ERR the filter must be a JSON object"],
  ['"x"', "ERR the filter must be a JSON object"],
  ['{"$not":[]}', "ERR Unknown operator: $not"],
  ['{"other":1}', "ERR Unknown field: other"],
  [`{"${"x".repeat(200)}":1}`, `ERR Unknown field: ${"x".repeat(128)}...`],
  ['{"$must":1}', "ERR the value of $must must be an array of objects, or an object"],
  ['{"$or":[1]}', "ERR the value of $or must be an array of objects, or an object"],
  ['{"$mustNot":null}', "ERR the value of $mustNot must be an array of objects, or an object"],
  ['{"$must":{"$should":[2]}}', "ERR the value of $should must be an array of objects, or an object"],
  ['{"$boost":"2"}', "ERR $boost must be a number from -1000000000 to 1000000000"],
  ['{"u64":{"$eq":1,"$boost":1e10}}', "ERR $boost must be a number from -1000000000 to 1000000000"],
  ['{"$or":{"u64":1,"$boost":null}}', "ERR $boost must be a number from -1000000000 to 1000000000"],
  ['{"u64":{}}', "ERR the condition of field u64 has no operator"],
  ['{"u64":{"$boost":1}}', "ERR the condition of field u64 has no operator"],
  ['{"u64":{"$not":1}}', "ERR Unknown field operator: $not"],
  ['{"u64":{"$ne":1}}', "ERR Unknown field operator: $ne"],
  ['{"keyword":{"$contains":"a"}}', "ERR Unknown field operator: $contains"],
  ['{"text":{"value":"a"}}', "ERR Unknown field operator: value"],
  ['{"text":{"$eq":1}}', "ERR the value of $eq for field text must be a string"],
  ['{"text":1}', "ERR the value of $smart for field text must be a string"],
  ['{"text":["a"]}', "ERR the value of $smart for field text must be a string"],
  ['{"text":{"$in":"a"}}', "ERR the value of $in for field text must be an array"],
  ['{"text":{"$in":["a",null]}}', "ERR the value of $in for field text must be a string"],
  ['{"keyword":true}', "ERR the value of $smart for field keyword must be a string"],
  ['{"keyword":{"$gt":1}}', "ERR the value of $gt for field keyword must be a string"],
  ['{"u64":"1"}', "ERR the value of $smart for field u64 must be a number"],
  ['{"i64":{"$lt":"1"}}', "ERR the value of $lt for field i64 must be a number"],
  ['{"f64":{"$in":[1,"2"]}}', "ERR the value of $in for field f64 must be a number"],
  ['{"bool":1}', "ERR the value of $smart for field bool must be true or false"],
  ['{"date":5}', "ERR the value of $smart for field date must be a date as text: RFC 3339, or YYYY-MM-DD"],
  ['{"date":{"$gt":"soon"}}', "ERR the value of $gt for field date must be a date as text: RFC 3339, or YYYY-MM-DD"],
  ['{"facet":"a/b"}', "ERR the value of $smart for field facet must be a string that begins with /"],
  ['{"text":{"$phrase":1}}', "ERR the value of $phrase for field text must be a string or an object"],
  ['{"text":{"$phrase":{}}}', "ERR value of $phrase must be a string"],
  ['{"text":{"$phrase":{"term":"a"}}}', "ERR $phrase has no parameter term"],
  ['{"text":{"$phrase":{"value":"a","slop":1,"prefix":true}}}', "ERR $phrase takes slop or prefix, not both"],
  ['{"text":{"$phrase":{"value":"a","slop":-1}}}', "ERR slop of $phrase must be a whole number from 0 to 1000000"],
  ['{"text":{"$phrase":{"value":"a","slop":1.5}}}', "ERR slop of $phrase must be a whole number from 0 to 1000000"],
  ['{"text":{"$phrase":{"value":"a","prefix":null}}}', "ERR prefix of $phrase must be true or false"],
  ['{"text":{"$fuzzy":{"value":"a","distance":3}}}', "ERR distance of $fuzzy must be a whole number from 0 to 2"],
  ['{"text":{"$fuzzy":{"value":"a","slop":1}}}', "ERR $fuzzy has no parameter slop"],
  ['{"text":{"$fuzzy":{"value":1}}}', "ERR value of $fuzzy must be a string"],
  [
    '{"text":{"$fuzzy":{"value":"a","transpositionCostOne":1}}}',
    "ERR transpositionCostOne of $fuzzy must be true or false",
  ],
  ['{"text":{"$regex":1}}', "ERR the value of $regex for field text must be a string"],
  ['{"text":{"$regex":"("}}', "ERR $regex of field text is not a valid pattern: unclosed ("],
];

function assertRefused(text: string, error: string): void {
  assert.throws(
    () => parse(text, definition),
    (thrown) => {
      assert.ok(thrown instanceof CommandError, text);
      assert.equal(thrown.text, error, text);
      return true;
    },
  );
}

test("filters that are wrong get an error that names the field or operator", () => {
  for (const [text, error] of refused) assertRefused(text, error);
});

const ordered = ["$gt", "$gte", "$lt", "$lte"];
const ofTexts = ["$phrase", "$fuzzy", "$regex"];

test("any JSON is read, or refused with an error for the client, and a part of it is refused", () => {
  const parseReal = makeFilterParser({ analyzerFor, compilePattern: compileTokenPattern });
  const operators = fc.constantFrom(...["$eq", "$in", "$smart", "$boost", "$other", ...ordered, ...ofTexts]);
  const scalars = fc.oneof(
    fc.constantFrom("2025-01-01", "/a/b", "(a|b)*", "((", '"a b"', -1, 1.5, 1e300, true, null),
    fc.string({ maxLength: 4 }),
  );
  const parameters = fc.dictionary(fc.constantFrom("value", "slop", "prefix", "distance", "term"), scalars);
  const values = fc.oneof(scalars, fc.array(scalars, { maxLength: 3 }), parameters, fc.jsonValue({ maxDepth: 2 }));
  const fields = fc.constantFrom("text", "keyword", "u64", "i64", "f64", "bool", "date", "facet", "other", "$boost");
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.dictionary(fields, fc.oneof(values, fc.dictionary(operators, values, { maxKeys: 2 })), { maxKeys: 2 }),
      fc.dictionary(
        fc.constantFrom("$must", "$and", "$should", "$or", "$mustNot", "$not"),
        fc.oneof(fc.array(tie("node"), { maxLength: 3 }), tie("node")),
        { maxKeys: 2 },
      ),
    ),
  }));
  const errorOf = (text: string): unknown => {
    try {
      parseReal(text, definition);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  fc.assert(
    fc.property(node, fc.nat(), (filter, cut) => {
      const text = Buffer.from(JSON.stringify(filter)).latin1Slice();
      const error = errorOf(text);
      assert.ok(error === undefined || error instanceof CommandError, `${text}: ${String(error)}`);
      assert.ok(errorOf(text.slice(0, cut % text.length)) instanceof CommandError, `${text} to ${cut % text.length}`);
    }),
    { numRuns: 500 },
  );
});
const misfits: [field: string, operators: readonly string[]][] = [
  ["text", ordered],
  ["keyword", ofTexts],
  ["u64", ofTexts],
  ["i64", ofTexts],
  ["f64", ofTexts],
  ["date", ofTexts],
  ["bool", [...ordered, ...ofTexts]],
  ["facet", [...ordered, ...ofTexts]],
];

test("operators that do not fit the type of a field get an error", () => {
  for (const [field, operators] of misfits)
    for (const operator of operators)
      assertRefused(
        `{"${field}":{"${operator}":"x"}}`,
        `ERR operator ${operator} is not for fields of type ${field.toUpperCase()}: ${field}`,
      );
});

/** JSON of a node that is in `depth` nodes, itself included. */
const nested = (depth: number): string => `${'{"$and":['.repeat(depth - 1)}{"u64":1}${"]}".repeat(depth - 1)}`;
const listOf = (count: number, element: string): string => Array(count).fill(element).join(",");

test("filters have bounds, each with an error", () => {
  clauseOf(nested(32));
  assertRefused(nested(33), "ERR the filter is nested deeper than 32 levels");
  const filler = " ".repeat(FILTER_BYTES_MAX - 2);
  assert.deepEqual(clauseOf(`{${filler}}`), every);
  assertRefused(`{${filler} }`, "ERR the filter is larger than 1048576 bytes");
  // The outer node, and two for each node with a condition.
  clauseOf(`{"$or":[${listOf(2047, '{"u64":1}')}]}`);
  assertRefused(`{"$or":[${listOf(2048, '{"u64":1}')}]}`, "ERR the filter has more than 4096 clauses");
  clauseOf(`{"u64":{"$in":[${listOf(10_000, "1")}]}}`);
  assertRefused(`{"u64":{"$in":[${listOf(10_001, "1")}]}}`, "ERR $in of field u64 has more than 10000 values");
  assertRefused(`{"text":{"$in":[${listOf(10_001, '"a"')}]}}`, "ERR $in of field text has more than 10000 values");
  clauseOf(`{"text":{"$regex":"${"a".repeat(1024)}"}}`);
  assertRefused(`{"text":{"$regex":"${"a".repeat(1025)}"}}`, "ERR $regex of field text is longer than 1024 bytes");
  assertRefused(
    `{"text":{"$phrase":"${"a ".repeat(20_001)}"}}`,
    "ERR the texts of the filter have more than 20000 words",
  );
});

test("terms are highlighted, but no fuzzy words, patterns, beginnings and excluded ones", () => {
  const highlighted = (text: string): string[] => [...(parse(text, definition).highlighted.get(0) ?? [])].sort();
  assert.deepEqual(highlighted('{"text":{"$eq":"Two cats"}}'), ["cat", "two"]);
  assert.deepEqual(highlighted('{"text":{"$in":["cats","dogs"]}}'), ["cat", "dog"]);
  assert.deepEqual(highlighted('{"text":"some cats"}'), ["cat", "some"]);
  assert.deepEqual(highlighted('{"text":{"$phrase":{"value":"two cats","prefix":true}}}'), ["two"]);
  assert.deepEqual(highlighted('{"text":{"$phrase":{"value":"cats","prefix":true}}}'), []);
  assert.deepEqual(highlighted('{"text":{"$fuzzy":"cats"}}'), []);
  assert.deepEqual(highlighted('{"text":{"$regex":"cats"}}'), []);
  assert.deepEqual(highlighted('{"$or":[{"text":{"$eq":"a"}}],"$mustNot":[{"$or":{"text":"b"}}]}'), ["a"]);
  assert.deepEqual([...parse('{"keyword":"cats"}', definition).highlighted], []);
});
