/** Searches that would take long or much memory are errors that say why, and change nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Session, startSession } from "../../../test/harness/store-harness.ts";
import { findError } from "../reply/reply.ts";

const DOCUMENTS = 300;

function open(): Session {
  const session = startSession();
  session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA t TEXT n F64 FAST k KEYWORD");
  for (let i = 0; i < DOCUMENTS; i += 1)
    session.call("HSET", `d:${i}`, "t", `word${i} ${"a".repeat(i % 50)} text`, "n", `${i}`, "k", `k${i}`);
  return session;
}

function nested(depth: number): string {
  return `${'{"$must":['.repeat(depth)}{}${"]}".repeat(depth)}`;
}

function many(count: number, one: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => one(at)).join(",");
}

const filters: readonly (readonly [name: string, filter: string, text: RegExp])[] = [
  ["nesting", nested(40), /^ERR the filter is nested deeper than 32 levels$/],
  ["nesting of JSON", "[".repeat(100_000), /^ERR /],
  ["clauses", `{"$or":[${many(4_097, () => '{"t":{"$eq":"x"}}')}]}`, /^ERR the filter has more than 4096 clauses$/],
  ["length", `{"t":"${"x".repeat(1024 * 1024)}"}`, /^ERR the filter is larger than 1048576 bytes$/],
  ["values of $in", `{"k":{"$in":[${many(10_001, () => '"x"')}]}}`, /^ERR .* 10000 values$/],
  [
    "length of a pattern",
    `{"t":{"$regex":"${"a?".repeat(600)}"}}`,
    /^ERR \$regex of field t is longer than 1024 bytes$/,
  ],
];

test("A-23: a filter that is too large in some way is refused", () => {
  const { call } = open();
  for (const [name, filter, text] of filters)
    for (const command of ["SEARCH.QUERY", "SEARCH.COUNT"])
      assert.match(findError(call(command, "i", filter))?.text ?? "", text, `${command}, ${name}`);
  assert.equal(call("SEARCH.COUNT", "i", "{}"), DOCUMENTS);
});

const patterns: readonly string[] = [
  "((a*)*)*",
  "(a|aa)+b",
  "(.*)*x",
  "a{0,50}a{0,50}b",
  `${"a?".repeat(200)}`,
  ".*.*.*.*.*.*y",
];

test("A-23: patterns take time in proportion to the words", () => {
  const { call, database } = open();
  call("SEARCH.COUNT", "i", "{}");
  for (const pattern of patterns) {
    const reply = call("SEARCH.COUNT", "i", JSON.stringify({ t: { $regex: pattern } }));
    assert.ok(typeof reply === "number" || findError(reply) !== undefined, pattern);
  }
  assert.equal(database.search.find("i")?.live.index.documentCount, DOCUMENTS);
});

const aggregations: readonly (readonly [request: unknown, text: RegExp])[] = [
  [{ x: { $histogram: { field: "n", interval: 1e-300 } } }, /^ERR /],
  [{ x: { $histogram: { field: "n", interval: 0.001 } } }, /^ERR Aggregations have more than 65000 buckets/],
  [
    {
      x: {
        $range: {
          field: "n",
          ranges: [
            { from: 0, to: 9 },
            { from: 5, to: 20 },
          ],
        },
      },
    },
    /overlapping ranges$/,
  ],
  [
    Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x${at}`, { $sum: { field: "n" } }])),
    /at most 100 names/,
  ],
];

test("A-23: aggregations are bounded", () => {
  const { call } = open();
  for (const [request, text] of aggregations)
    assert.match(findError(call("SEARCH.AGGREGATE", "i", "{}", JSON.stringify(request)))?.text ?? "", text);
});
