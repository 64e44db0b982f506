/**
 * Filters and aggregations that were made to take long. Their work is counted in steps, not timed: it grows with their
 * length and not with its power, stops at a limit, and leaves nothing.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf } from "../../../test/harness/recording-journal.ts";
import { error, plainReply, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { digestOf } from "../../../test/simulation/search/index-digest.ts";
import { findError } from "../reply/reply.ts";
import { compileTokenPattern } from "./index/token-pattern.ts";
import { makeFilterParser } from "./query/filter-parser.ts";
import { countMatches, findHits } from "./query/search.ts";
import { atOnce } from "./slices.ts";
import { analyzerFor } from "./text/analyzer.ts";
import type { LiveIndex } from "./upkeep/live-index.ts";

const DOCUMENTS = 300;

function startWithDocuments(): { session: Session; live: LiveIndex } {
  const session = startSession();
  session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA t TEXT NOSTEM n F64 FAST k KEYWORD d DATE FAST");
  for (let i = 0; i < DOCUMENTS; i += 1) {
    const words = Array.from({ length: 20 }, (_, at) => ((i * 20 + at) * 7919).toString(36).replaceAll(/\d/g, "a"));
    const text = `a aa aaa ${words.join(" ")} ${"a ".repeat(i % 40)}`;
    session.call("HSET", `d:${i}`, "t", text, "n", `${i}`, "k", `word${i}`, "d", "2025-01-01");
  }
  session.run("SEARCH.COUNT i {}");
  const live = session.database.search.find("i")?.live;
  assert.ok(live !== undefined);
  return { session, live };
}

const parse = makeFilterParser({ analyzerFor, compilePattern: compileTokenPattern });
const byScore = { ranking: { orderBy: undefined, scoreFunction: undefined }, offset: 0, limit: 10 };

/** The steps of a search for the best ten. */
function stepsOf({ index }: LiveIndex, filter: unknown): number {
  let steps = 0;
  const spend = (more: number): boolean => {
    steps += more;
    return false;
  };
  atOnce(findHits(index, parse(JSON.stringify(filter), index.definition), { ...byScore, spend }));
  return steps;
}

const clauses = (count: number, clause: (at: number) => unknown): unknown => ({
  $or: Array.from({ length: count }, (_, at) => clause(at)),
});
const letter = (at: number): string => String.fromCharCode(97 + (at % 26));
const regex = (pattern: string): unknown => ({ t: { $regex: pattern } });

/** Filters of a size, and how much more a filter of twice the size may take. */
const growing: readonly (readonly [what: string, filter: (size: number) => unknown, growthMax: number])[] = [
  ["nested stars", (size) => regex(`${"(".repeat(size)}a*${")*".repeat(size)}`), 2.2],
  ["optional letters and as many letters", (size) => regex(`(a?){${size}}a{${size}}`), 2.2],
  ["stars and a letter, many times", (size) => regex(".*a".repeat(size)), 4.4],
  ["fuzzy beginnings of one letter", (size) => clauses(size, (at) => near(letter(at))), 2.2],
  ["a fuzzy word of many letters", (size) => near("ab".repeat(size)), 2.2],
  ["a long phrase", (size) => ({ t: { $phrase: "a ".repeat(size) } }), 2.2],
  ["a long phrase with slop", (size) => ({ t: { $phrase: { value: "a ".repeat(size), slop: 1_000 } } }), 8.8],
  ["many phrases of a beginning", (size) => clauses(size, (at) => beginning(`a ${letter(at)}`)), 2.2],
  ["a text of many words", (size) => ({ t: "a aa ".repeat(size) }), 4.4],
  ["many values of $in", (size) => ({ k: { $in: Array.from({ length: size }, (_, at) => `word${at}`) } }), 2.2],
  ["many ranges", (size) => clauses(size, (at) => ({ n: { $gt: at } })), 2.2],
];

function near(value: string): unknown {
  return { t: { $fuzzy: { value, distance: 2, prefix: true } } };
}

function beginning(value: string): unknown {
  return { t: { $phrase: { value, prefix: true } } };
}

test("twice as much of a hostile filter takes no more than its share of steps more", () => {
  const { live } = startWithDocuments();
  for (const [what, filter, growthMax] of growing) {
    const [some, more] = [12, 24].map((size) => stepsOf(live, filter(size))) as [number, number];
    assert.ok(more <= growthMax * some + 1_000, `${what}: ${some} steps, then ${more}`);
  }
});

test("a search stops soon after its limit", () => {
  const { live } = startWithDocuments();
  const { index } = live;
  const stop = new Error("limit");
  for (const [what, filter] of growing) {
    const parsed = parse(JSON.stringify(filter(60)), index.definition);
    for (const limit of [100, 3_000]) {
      let steps = 0;
      let largest = 0;
      const spend = (more: number): boolean => {
        steps += more;
        largest = Math.max(largest, more);
        if (steps > limit) throw stop;
        return true;
      };
      try {
        atOnce(findHits(index, parsed, { ...byScore, spend }));
        atOnce(countMatches(index, parsed, spend));
      } catch (caught) {
        assert.equal(caught, stop, what);
      }
      assert.ok(steps <= limit + largest && largest < 500_000, `${what}: ${steps} steps, at most ${largest} at once`);
    }
  }
});

const deep = (open: string, depth: number, close: string): string => `${open.repeat(depth)}{}${close.repeat(depth)}`;
const json = (value: unknown): string => JSON.stringify(value);

/** Filters that are refused before anything is searched. */
const refusedFilters: readonly (readonly [filter: string, text: string])[] = [
  [deep('{"$must":[', 33, "]}"), "ERR the filter is nested deeper than 32 levels"],
  ['{"$must":['.repeat(100_000), "ERR Invalid JSON at character 641: nested deeper than 128"],
  [json(clauses(4_096, (at) => near(letter(at)))), "ERR the filter has more than 4096 clauses"],
  [json({ t: { $phrase: "a ".repeat(524_000) } }), "ERR the texts of the filter have more than 20000 words"],
  [json({ t: { $phrase: "a ".repeat(525_000) } }), "ERR the filter is larger than 1048576 bytes"],
  [json({ k: { $in: Array.from({ length: 10_001 }, () => "a") } }), "ERR $in of field k has more than 10000 values"],
  [json({ t: { $regex: "a".repeat(1_025) } }), "ERR $regex of field t is longer than 1024 bytes"],
  [json({ n: { $gt: 1, $boost: 1e300 } }), "ERR $boost must be a number from -1000000000 to 1000000000"],
];

const manyBuckets = "ERR Aggregations have more than 65000 buckets: use a smaller size or a larger interval";
const histogram = (parameters: object): string => json({ a: { $histogram: { field: "n", ...parameters } } });

const refusedAggregations: readonly (readonly [aggregations: string, text: string])[] = [
  [
    json({
      a: {
        $range: {
          field: "n",
          ranges: [
            { from: 0, to: 10 },
            { from: 5, to: 15 },
          ],
        },
      },
    }),
    "ERR Aggregation 'a' has overlapping ranges",
  ],
  [histogram({ interval: 1e-300 }), manyBuckets],
  [histogram({ interval: 5e-324 }), manyBuckets],
  [histogram({ interval: 0 }), "ERR Aggregation 'a' property 'interval' must be greater than 0"],
  [histogram({ interval: 1, extendedBounds: { min: 0, max: 65_000 } }), manyBuckets],
  [histogram({ interval: 1, extendedBounds: { min: -1e308, max: 1e308 } }), manyBuckets],
  [
    json({ a: { $dateHistogram: { field: "d", fixedInterval: "1ms", extendedBounds: { min: 0, max: 1e15 } } } }),
    manyBuckets,
  ],
  [
    `${'{"a":{"$terms":{"field":"k"},"$aggs":'.repeat(9)}{}${"}}".repeat(9)}`,
    "ERR Aggregation 'a' is nested deeper than 8 levels",
  ],
  ['{"a":{"$aggs":'.repeat(50_000), "ERR Invalid JSON at character 897: nested deeper than 128"],
  [
    json(Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`a${at}`, { $avg: { field: "n" } }]))),
    "ERR Aggregations must have at most 100 names, those in $aggs included",
  ],
];

test("what is refused is refused with a text that names it, and leaves nothing", () => {
  const { session, live } = startWithDocuments();
  const before = { content: contentOf(session.store), digest: digestOf(live.index) };
  for (const [filter, text] of refusedFilters) {
    for (const rest of [
      ["SEARCH.QUERY", filter, "NOCONTENT"],
      ["SEARCH.COUNT", filter],
      ["SEARCH.AGGREGATE", filter, "{}"],
    ]) {
      const [command = "", ...words] = rest;
      assert.deepEqual(session.call(command, "i", ...words), error(text), `${command} ${filter.slice(0, 80)}`);
    }
  }
  for (const [aggregations, text] of refusedAggregations)
    assert.deepEqual(session.call("SEARCH.AGGREGATE", "i", "{}", aggregations), error(text), aggregations.slice(0, 80));
  assert.deepEqual({ content: contentOf(session.store), digest: digestOf(live.index) }, before);
});

test("a search that takes too long is an error, and the next one is answered", () => {
  const { session } = startWithDocuments();
  // Each word has as many places as the others.
  const reply = session.call(
    "SEARCH.COUNT",
    "i",
    json({ t: { $phrase: { value: "a ".repeat(9_000), slop: 1_000_000 } } }),
  );
  assert.match(findError(reply)?.text ?? "", /^ERR the search takes more than \d+ steps/);
  assert.equal(plainReply(session.run("SEARCH.COUNT i {}")), DOCUMENTS);
});

test("a histogram may have 65,000 buckets", () => {
  const { session } = startWithDocuments();
  const most = histogram({ interval: 1, extendedBounds: { min: 0, max: 64_999 } });
  assert.equal(findError(session.call("SEARCH.AGGREGATE", "i", "{}", most)), undefined);
});
