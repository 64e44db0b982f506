/** Requests that are refused, each with the error that a client sees. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CommandError } from "../../errors.ts";
import { atOnce } from "../slices.ts";
import { aggregate } from "./aggregate.ts";
import { AGGREGATIONS_BYTES_MAX, parseAggregations } from "./parse.ts";
import { definitionOf, fieldOf, indexOf } from "./slow/index-reader.virtual.ts";

const definition = definitionOf([
  fieldOf("n", "F64"),
  fieldOf("slow", "F64", false),
  fieldOf("k", "KEYWORD", false),
  fieldOf("text", "TEXT"),
  fieldOf("d", "DATE"),
  fieldOf("b", "BOOL"),
  fieldOf("path", "FACET", false),
]);

function errorOf(text: string): string | undefined {
  try {
    parseAggregations(text, definition);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof CommandError, String(error));
    return error.text;
  }
}

const of = (operator: string, parameters: string, rest = ""): string => `{"a":{"${operator}":{${parameters}}${rest}}}`;

const table: readonly [string, string | undefined][] = [
  ["{", "ERR Invalid JSON at character 2: expected a name in double quotes"],
  ["[]", "ERR Aggregations must be a JSON object"],
  ['"$avg"', "ERR Aggregations must be a JSON object"],
  ['{"a":1}', "ERR Aggregation 'a' must be a JSON object"],
  ['{"a":{}}', "ERR Aggregation 'a' must have exactly one operator"],
  ['{"a":{"$aggs":{}}}', "ERR Aggregation 'a' must have exactly one operator"],
  ['{"a":{"$avg":{"field":"n"},"$sum":{"field":"n"}}}', "ERR Aggregation 'a' must have exactly one operator"],
  ['{"a":{"$median":{"field":"n"}}}', "ERR Aggregation 'a' has an unknown operator: $median"],
  ['{"a":{"avg":{"field":"n"}}}', "ERR Aggregation 'a' has an unknown operator: avg"],
  ['{"a":{"$avg":"n"}}', "ERR Aggregation 'a' operator '$avg' must be a JSON object"],
  [of("$avg", ""), "ERR Aggregation 'a' is missing required 'field' property"],
  [of("$avg", '"field":1'), "ERR Aggregation 'a' property 'field' must be a string"],
  [of("$avg", '"field":"x"'), "ERR Aggregation 'a' has an unknown field: x"],
  [of("$avg", '"field":"slow"'), "ERR Aggregation 'a' operator '$avg' requires field 'slow' to be FAST"],
  [of("$avg", '"field":"text"'), "ERR Aggregation 'a' operator '$avg' does not support field 'text' of type TEXT"],
  [of("$avg", '"field":"k"'), "ERR Aggregation 'a' operator '$avg' does not support field 'k' of type KEYWORD"],
  [of("$count", '"field":"k"'), undefined],
  [
    of("$extendedStats", '"field":"b"'),
    "ERR Aggregation 'a' operator '$extendedStats' does not support field 'b' of type BOOL",
  ],
  [
    of("$percentiles", '"field":"b"'),
    "ERR Aggregation 'a' operator '$percentiles' does not support field 'b' of type BOOL",
  ],
  [of("$terms", '"field":"path"'), "ERR Aggregation 'a' operator '$terms' does not support field 'path' of type FACET"],
  [
    of("$facet", '"field":"k","path":"/"'),
    "ERR Aggregation 'a' operator '$facet' does not support field 'k' of type KEYWORD",
  ],
  [of("$avg", '"field":"n","size":1'), "ERR Aggregation 'a' operator '$avg' has no property 'size'"],
  [of("$avg", '"field":"n","missing":"0"'), "ERR Aggregation 'a' property 'missing' must be a number"],
  [of("$avg", '"field":"n","missing":null'), undefined],
  [of("$avg", '"field":"b","missing":2'), "ERR Aggregation 'a' property 'missing' must be true or false"],
  [of("$avg", '"field":"b","missing":true'), undefined],
  [
    of("$avg", '"field":"d","missing":"2020-01-01"'),
    "ERR Aggregation 'a' property 'missing' must be a number of milliseconds",
  ],
  [
    of("$terms", '"field":"k","missing":1'),
    "ERR Aggregation 'a' property 'missing' must be a string for a field of type KEYWORD",
  ],
  [of("$terms", '"field":"k","size":0'), "ERR Aggregation 'a' property 'size' must be an integer of at least 1"],
  [of("$terms", '"field":"k","size":2.5'), "ERR Aggregation 'a' property 'size' must be an integer of at least 1"],
  [of("$terms", '"field":"k","size":5.0'), undefined],
  [
    of("$terms", '"field":"k","minDocCount":-1'),
    "ERR Aggregation 'a' property 'minDocCount' must be an integer of at least 0",
  ],
  [
    of("$terms", '"field":"k","order":"asc"'),
    `ERR Aggregation 'a' property 'order' must be an object with one member, whose value is "asc" or "desc"`,
  ],
  [
    of("$terms", '"field":"k","order":{"key":"up"}'),
    `ERR Aggregation 'a' property 'order' must be an object with one member, whose value is "asc" or "desc"`,
  ],
  [of("$terms", '"field":"k","order":{"m":"asc"}'), "ERR Aggregation 'a' property 'order' names no metric of $aggs: m"],
  [
    of("$terms", '"field":"k","order":{"m":"asc"}', ',"$aggs":{"m":{"$stats":{"field":"n"}}}'),
    "ERR Aggregation 'a' property 'order' names no metric of $aggs: m",
  ],
  [of("$terms", '"field":"k","order":{"m.avg":"asc"}', ',"$aggs":{"m":{"$stats":{"field":"n"}}}'), undefined],
  [
    of("$terms", '"field":"k","order":{"m":"asc"}', ',"$aggs":{"m":{"$terms":{"field":"n"}}}'),
    "ERR Aggregation 'a' property 'order' names no metric of $aggs: m",
  ],
  [
    of("$terms", '"field":"k","include":"("'),
    "ERR Aggregation 'a' property 'include' is not a valid pattern: unclosed (",
  ],
  [
    of("$terms", '"field":"k","exclude":[1]'),
    "ERR Aggregation 'a' property 'exclude' must be a pattern or an array of at most 10000 strings",
  ],
  [of("$terms", '"field":"n","include":"1"'), "ERR Aggregation 'a' operator '$terms' has no property 'include'"],
  [
    of("$terms", `"field":"k","include":"${"a".repeat(1_025)}"`),
    "ERR Aggregation 'a' property 'include' must be at most 1024 bytes",
  ],
  [of("$range", '"field":"n"'), "ERR Aggregation 'a' is missing required 'ranges' property"],
  [
    of("$range", '"field":"n","ranges":[]'),
    "ERR Aggregation 'a' property 'ranges' must be an array of 1 to 1000 elements",
  ],
  [
    of("$range", '"field":"n","ranges":[{"from":2,"to":2}]'),
    "ERR Aggregation 'a' property 'ranges' must be an array of objects with from, to and key, from below to",
  ],
  [
    of("$range", '"field":"n","ranges":[{"start":2}]'),
    "ERR Aggregation 'a' property 'ranges' must be an array of objects with from, to and key, from below to",
  ],
  [of("$range", '"field":"n","ranges":[{"from":"2"}]'), "ERR Aggregation 'a' property 'ranges.from' must be a number"],
  [of("$range", '"field":"n","ranges":[{"key":1}]'), "ERR Aggregation 'a' property 'ranges.key' must be a string"],
  [of("$range", '"field":"n","ranges":[{"to":5},{"from":4}]'), "ERR Aggregation 'a' has overlapping ranges"],
  [of("$range", '"field":"n","ranges":[{},{"from":4}]'), "ERR Aggregation 'a' has overlapping ranges"],
  [of("$range", '"field":"n","ranges":[{"from":1},{"from":1}]'), "ERR Aggregation 'a' has overlapping ranges"],
  [
    of("$range", '"field":"n","ranges":[{"to":5},{"from":5}],"keyed":1'),
    "ERR Aggregation 'a' property 'keyed' must be true or false",
  ],
  [of("$histogram", '"field":"n"'), "ERR Aggregation 'a' is missing required 'interval' property"],
  [of("$histogram", '"field":"n","interval":0'), "ERR Aggregation 'a' property 'interval' must be greater than 0"],
  [of("$histogram", '"field":"n","interval":"1d"'), "ERR Aggregation 'a' property 'interval' must be a number"],
  [
    of("$histogram", '"field":"n","interval":1,"hardBounds":{"min":2,"max":1}'),
    "ERR Aggregation 'a' property 'hardBounds' must be an object with the numbers min and max, min not above max",
  ],
  [
    of("$histogram", '"field":"n","interval":1,"extendedBounds":{"min":2,"max":3},"minDocCount":1'),
    "ERR Aggregation 'a' property 'extendedBounds' needs a minDocCount of 0",
  ],
  [
    of("$histogram", '"field":"n","interval":1,"extendedBounds":{"min":2,"max":4},"hardBounds":{"min":2,"max":3}'),
    "ERR Aggregation 'a' property 'extendedBounds' must be inside hardBounds",
  ],
  [
    of("$dateHistogram", '"field":"n","fixedInterval":"1d"'),
    "ERR Aggregation 'a' operator '$dateHistogram' does not support field 'n' of type F64",
  ],
  [of("$dateHistogram", '"field":"d"'), "ERR Aggregation 'a' is missing required 'fixedInterval' property"],
  ...["1M", "month", "0d", "1.5h", "-1d", "", "99999999999999999d"].map((interval): [string, string] => [
    of("$dateHistogram", `"field":"d","fixedInterval":"${interval}"`),
    "ERR Aggregation 'a' property 'fixedInterval' must be a positive integer and one of the units ms, s, m, h, d",
  ]),
  [
    of("$dateHistogram", '"field":"d","fixedInterval":"1d","offset":"6"'),
    "ERR Aggregation 'a' property 'offset' must be an integer and one of the units ms, s, m, h, d, with + or - before it",
  ],
  [
    of("$dateHistogram", '"field":"d","calendarInterval":"month","fixedInterval":"1d"'),
    "ERR Aggregation 'a' operator '$dateHistogram' has no property 'calendarInterval'",
  ],
  [
    of("$percentiles", '"field":"n","percents":[101]'),
    "ERR Aggregation 'a' property 'percents' must be numbers from 0 to 100",
  ],
  [of("$percentiles", '"field":"n","percents":["5"]'), "ERR Aggregation 'a' property 'percents' must be a number"],
  [
    of("$percentiles", '"field":"n","percents":[]'),
    "ERR Aggregation 'a' property 'percents' must be an array of 1 to 1000 elements",
  ],
  [of("$extendedStats", '"field":"n","sigma":-1'), "ERR Aggregation 'a' property 'sigma' must not be negative"],
  [of("$facet", '"field":"path"'), "ERR Aggregation 'a' is missing required 'path' property"],
  [
    of("$facet", '"field":"path","path":"a"'),
    "ERR Aggregation 'a' property 'path' must be a string that begins with /",
  ],
  [
    of("$facet", '"field":"path","path":"/","depth":0'),
    "ERR Aggregation 'a' property 'depth' must be an integer of at least 1",
  ],
  [of("$facet", '"field":"path","path":"/","depth":65'), "ERR Aggregation 'a' property 'depth' must be at most 64"],
  [
    of("$facet", '"field":"path","path":"/","order":{"key":"asc"}'),
    `ERR Aggregation 'a' property 'order' must be an object with the member count or path, which is "asc" or "desc"`,
  ],
  [of("$avg", '"field":"n"', ',"$aggs":{}'), "ERR Aggregation 'a' operator '$avg' cannot have $aggs"],
  [of("$facet", '"field":"path","path":"/"', ',"$aggs":{}'), "ERR Aggregation 'a' operator '$facet' cannot have $aggs"],
  [of("$terms", '"field":"k"', ',"$aggs":[]'), "ERR Aggregation 'a' property '$aggs' must be a JSON object"],
  [
    of("$terms", '"field":"k"', ',"$aggs":{"below":{"$facet":{"field":"path","path":"/"}}}'),
    "ERR Aggregation 'below' operator '$facet' cannot be inside $aggs",
  ],
  [
    of("$terms", '"field":"k"', ',"$aggs":{"below":{"$avg":{}}}'),
    "ERR Aggregation 'below' is missing required 'field' property",
  ],
];

test("a request that does not fit the index is refused by the name of its aggregation", () => {
  for (const [text, error] of table) assert.equal(errorOf(text), error, text);
});

test("names, levels and bytes of a request have limits", () => {
  const many = (count: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, { $avg: { field: "n" } }])));
  assert.equal(errorOf(many(100)), undefined);
  assert.equal(errorOf(many(101)), "ERR Aggregations must have at most 100 names, those in $aggs included");
  const nested = (levels: number): string =>
    `{"a":{"$terms":{"field":"k"}${levels > 1 ? `,"$aggs":${nested(levels - 1)}` : ""}}}`;
  assert.equal(errorOf(nested(8)), undefined);
  assert.equal(errorOf(nested(9)), "ERR Aggregation 'a' is nested deeper than 8 levels");
  assert.equal(errorOf(`{"${"a".repeat(513)}":{}}`), "ERR The name of an aggregation must be at most 512 bytes");
  assert.equal(errorOf(" ".repeat(AGGREGATIONS_BYTES_MAX + 1)), "ERR Aggregations must be at most 1048576 bytes");
});

/** The error of an aggregation that runs over these numbers. */
function errorOver(values: readonly number[], text: string): string | undefined {
  const aggregations = parseAggregations(text, definition);
  const index = indexOf(
    definition,
    values.map((value) => [[value]]),
  );
  try {
    atOnce(aggregate(index, Uint32Array.from(values.keys()), { aggregations, spend: () => false }));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof CommandError, String(error));
    return error.text;
  }
}

const TOO_MANY = "ERR Aggregations have more than 65000 buckets: use a smaller size or a larger interval";

test("an answer has at most 65,000 buckets", () => {
  const histogram = (rest: string): string => of("$histogram", `"field":"n",${rest}`);
  assert.equal(errorOver([0, 64_999], histogram('"interval":1')), undefined);
  assert.equal(errorOver([0, 65_000], histogram('"interval":1')), TOO_MANY);
  assert.equal(errorOver([1], histogram('"interval":1e-300')), TOO_MANY);
  assert.equal(errorOver([], histogram('"interval":1,"extendedBounds":{"min":1e300,"max":1e300}')), TOO_MANY);
  assert.equal(errorOver([], histogram('"interval":1,"extendedBounds":{"min":-1e300,"max":1e300}')), TOO_MANY);
  const inside = ',"$aggs":{"h":{"$histogram":{"field":"n","interval":1,"extendedBounds":{"min":0,"max":4999}}}}';
  // 13 empty buckets of 5,000 each, and 2 with documents.
  assert.equal(errorOver([0, 11], `{"a":{"$histogram":{"field":"n","interval":1}${inside}}}`), undefined);
  assert.equal(errorOver([0, 13], `{"a":{"$histogram":{"field":"n","interval":1}${inside}}}`), TOO_MANY);
});

test("work above the limit of a command is refused", () => {
  const aggregations = parseAggregations('{"a":{"$avg":{"field":"n"}}}', definition);
  const index = indexOf(definition, [[[1]]]);
  const limit = new CommandError("ERR too much work");
  assert.throws(
    () =>
      atOnce(
        aggregate(index, Uint32Array.of(0), {
          aggregations,
          spend: () => {
            throw limit;
          },
        }),
      ),
    (error) => error === limit,
  );
});

test("any JSON is read, or refused with an error for the client", () => {
  const fields = fc.constantFrom("n", "slow", "k", "text", "d", "b", "path", "x", 1);
  const names = fc.constantFrom(
    ...["missing", "size", "minDocCount", "order", "include", "exclude", "ranges", "keyed", "interval", "offset"],
    ...["fixedInterval", "hardBounds", "extendedBounds", "percents", "sigma", "path", "depth", "other"],
  );
  const values = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("1d", "/", 1, 0, -1, 1e300, true, { key: "asc" }, { min: 0, max: 9 }, [1, 99.9], [{ from: 1 }]),
  );
  const operators = fc.constantFrom(
    ...["$avg", "$count", "$cardinality", "$stats", "$extendedStats", "$percentiles", "$terms", "$range"],
    ...["$histogram", "$dateHistogram", "$facet", "$other"],
  );
  const request = fc.tuple(operators, fields, fc.array(fc.tuple(names, values), { maxLength: 3 }));
  const index = indexOf(definition, [[[1.5], [2], ["a"], undefined, [86_400_000], [1], ["/a/b"]], []]);
  fc.assert(
    fc.property(request, fc.boolean(), ([operator, field, parameters], isNested) => {
      const plain = { [operator]: { ...Object.fromEntries(parameters), field } };
      const text = JSON.stringify({ a: isNested ? { $terms: { field: "k" }, $aggs: { b: plain } } : plain });
      try {
        const aggregations = parseAggregations(text, definition);
        atOnce(aggregate(index, Uint32Array.of(0, 1), { aggregations, spend: () => false }));
      } catch (error) {
        assert.ok(error instanceof CommandError, `${text}: ${String(error)}`);
      }
    }),
    { numRuns: 1_000 },
  );
});
