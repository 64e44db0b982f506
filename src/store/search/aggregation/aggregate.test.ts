/** Aggregations of known documents, with the replies as clients get them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reply } from "../../reply/reply.ts";
import type { FieldType, FieldValue, SearchDocument } from "../definition.ts";
import { atOnce } from "../slices.ts";
import { aggregate } from "./aggregate.ts";
import { parseAggregations } from "./parse.ts";
import { definitionOf, fieldOf, indexOf } from "./slow/index-reader.virtual.ts";

type Flat = null | string | number | bigint | Flat[];

/** A reply as JSON and RESP2 print it: maps are flat arrays. */
function flat(reply: Reply): Flat {
  if (reply === null || typeof reply === "string" || typeof reply === "number" || typeof reply === "bigint")
    return reply;
  if (Array.isArray(reply)) return reply.map((each: Reply) => flat(each));
  assert.ok(typeof reply === "object" && "kind" in reply && reply.kind === "map");
  return reply.pairs.flatMap(([name, value]) => [flat(name), flat(value)]);
}

type Row = Readonly<Record<string, FieldValue | readonly FieldValue[]>>;

/** What aggregations of rows answer; `fields` are the types by name. */
function answer(fields: Readonly<Record<string, FieldType>>, rows: readonly Row[], aggregations: unknown): Flat {
  const definition = definitionOf(Object.entries(fields).map(([name, type]) => fieldOf(name, type)));
  const documents = rows.map(
    (row): SearchDocument =>
      definition.fields.map(({ name }) => {
        const value = row[name];
        return value === undefined ? undefined : Array.isArray(value) ? value : [value as FieldValue];
      }),
  );
  const text = typeof aggregations === "string" ? aggregations : JSON.stringify(aggregations);
  const parsed = parseAggregations(text, definition);
  const all = Uint32Array.from(documents.keys());
  return flat(atOnce(aggregate(indexOf(definition, documents), all, { aggregations: parsed, spend: () => false })));
}

const reefFields = { note: "TEXT", depth: "F64", zone: "KEYWORD", taxon: "FACET" } as const;
const reef: readonly Row[] = [
  { depth: 12.5, zone: "slope", taxon: "/mollusc/octopus" },
  { depth: 3, zone: "flat", taxon: "/cnidaria/coral" },
  { depth: 30, zone: "slope", taxon: "/mollusc/octopus" },
  { depth: 200, zone: "deep", taxon: "/mollusc" },
  { zone: "flat", taxon: "/plant/grass" },
];

/** The result of one aggregation of the reef. */
const ofReef = (operator: string, parameters: object, below?: object): Flat => {
  const [, result] = answer(reefFields, reef, {
    a: { [operator]: parameters, ...(below === undefined ? {} : { $aggs: below }) },
  }) as Flat[];
  return result as Flat;
};

/** The result of one aggregation of the field `n`. */
const ofValues = (
  type: FieldType,
  values: readonly (FieldValue | readonly FieldValue[])[],
  aggregation: object,
): Flat => {
  const [, result] = answer(
    { n: type },
    values.map((n) => ({ n })),
    { a: aggregation },
  ) as Flat[];
  return result as Flat;
};

test("the aggregations of the reef answer in the order of the request", () => {
  const request = {
    z: { $terms: { field: "zone" }, $aggs: { d: { $avg: { field: "depth" } } } },
    r: { $range: { field: "depth", ranges: [{ from: 5, to: 50 }] } },
    h: { $histogram: { field: "depth", interval: 100 } },
    p: { $percentiles: { field: "depth", percents: [50, 99.9] } },
    f: { $facet: { field: "taxon", path: "/mollusc" } },
  };
  const actual = answer(reefFields, reef, request) as Flat[];
  const percentiles = (actual[7] as Flat[])[1] as Flat[];
  assert.ok(Math.abs(Number(percentiles[3]) - 199.49) < 1e-9);
  percentiles[3] = "199.49";
  assert.deepEqual(actual, [
    "z",
    [
      "buckets",
      [
        ["key", "slope", "docCount", 2, "d", ["value", "21.25"]],
        ["key", "flat", "docCount", 2, "d", ["value", "3"]],
        ["key", "deep", "docCount", 1, "d", ["value", "200"]],
      ],
      "sumOtherDocCount",
      0,
      "docCountErrorUpperBound",
      0,
    ],
    "r",
    [
      "buckets",
      [
        ["key", "*-5", "docCount", 1, "to", "5"],
        ["key", "5-50", "docCount", 2, "from", "5", "to", "50"],
        ["key", "50-*", "docCount", 1, "from", "50"],
      ],
    ],
    "h",
    [
      "buckets",
      [
        ["key", 0, "docCount", 3],
        ["key", 100, "docCount", 0],
        ["key", 200, "docCount", 1],
      ],
    ],
    "p",
    ["values", ["50.0", "21.25", "99.9", "199.49"]],
    "f",
    [
      "path",
      "/mollusc",
      "sumOtherDocCount",
      0,
      "children",
      [["path", "/mollusc/octopus", "docCount", 2, "sumOtherDocCount", 0]],
    ],
  ]);
});

test("no aggregations have an empty answer", () => {
  assert.deepEqual(answer(reefFields, reef, {}), []);
});

test("metrics of the reef", () => {
  assert.deepEqual(ofReef("$avg", { field: "depth" }), ["value", "61.375"]);
  assert.deepEqual(ofReef("$sum", { field: "depth" }), ["value", "245.5"]);
  assert.deepEqual(ofReef("$min", { field: "depth" }), ["value", "3"]);
  assert.deepEqual(ofReef("$max", { field: "depth", missing: 1_000 }), ["value", "1000"]);
  assert.deepEqual(ofReef("$avg", { field: "depth", missing: 4.5 }), ["value", "50"]);
  assert.deepEqual(ofReef("$count", { field: "depth" }), ["value", "4"]);
  assert.deepEqual(ofReef("$count", { field: "depth", missing: 0 }), ["value", "5"]);
  assert.deepEqual(ofReef("$count", { field: "zone" }), ["value", "5"]);
  assert.deepEqual(ofReef("$cardinality", { field: "zone" }), ["value", "3"]);
  assert.deepEqual(ofReef("$cardinality", { field: "depth", missing: 3 }), ["value", "4"]);
  assert.deepEqual(ofReef("$cardinality", { field: "depth", missing: -1 }), ["value", "5"]);
  assert.deepEqual(ofReef("$stats", { field: "depth" }), [
    ...["count", 4, "min", "3", "max", "200", "sum", "245.5", "avg", "61.375"],
  ]);
});

test("metrics without values are null, and their counts are 0", () => {
  const empty = (operator: string, type: FieldType = "F64"): Flat => ofValues(type, [], { [operator]: { field: "n" } });
  for (const operator of ["$avg", "$sum", "$min", "$max"]) assert.deepEqual(empty(operator), ["value", null], operator);
  assert.deepEqual(empty("$count"), ["value", "0"]);
  assert.deepEqual(empty("$cardinality"), ["value", "0"]);
  assert.deepEqual(empty("$stats"), ["count", 0, "min", null, "max", null, "sum", "0", "avg", null]);
  assert.deepEqual(empty("$percentiles"), [
    "values",
    ["1.0", null, "5.0", null, "25.0", null, "50.0", null, "75.0", null, "95.0", null, "99.0", null],
  ]);
  assert.deepEqual(empty("$terms"), ["buckets", [], "sumOtherDocCount", 0, "docCountErrorUpperBound", 0]);
  assert.deepEqual(ofValues("F64", [], { $histogram: { field: "n", interval: 1 } }), ["buckets", []]);
  assert.deepEqual(ofValues("F64", [], { $range: { field: "n", ranges: [{ to: 1 }] } }), [
    "buckets",
    [
      ["key", "*-1", "docCount", 0, "to", "1"],
      ["key", "1-*", "docCount", 0, "from", "1"],
    ],
  ]);
  assert.deepEqual(ofValues("FACET", [], { $facet: { field: "n", path: "/a" } }), [
    ...["path", "/a", "sumOtherDocCount", 0, "children", []],
  ]);
});

test("extended statistics are those of the population and of a sample", () => {
  assert.deepEqual(ofValues("I64", [2, 4, 4, 4, 5, 5, 7, 9], { $extendedStats: { field: "n", sigma: 3 } }), [
    ...["count", 8, "min", "2", "max", "9", "sum", "40", "avg", "5", "sumOfSquares", "232"],
    ...["variance", "4", "variancePopulation", "4", "varianceSampling", "4.571428571428571"],
    ...["stdDeviation", "2", "stdDeviationPopulation", "2", "stdDeviationSampling", "2.138089935299395"],
    "stdDeviationBounds",
    [
      ...["upper", "11", "lower", "-1", "upperSampling", "11.414269805898186", "lowerSampling", "-1.4142698058981855"],
      ...["upperPopulation", "11", "lowerPopulation", "-1"],
    ],
  ]);
  assert.deepEqual(ofValues("F64", [3], { $extendedStats: { field: "n" } }), [
    ...["count", 1, "min", "3", "max", "3", "sum", "3", "avg", "3", "sumOfSquares", "9", "variance", null],
    ...["variancePopulation", null, "varianceSampling", null, "stdDeviation", null, "stdDeviationPopulation", null],
    ...["stdDeviationSampling", null, "stdDeviationBounds", null],
  ]);
});

test("the variance of large values that are close together keeps its digits", () => {
  const stats = ofValues("F64", [1e9 + 1, 1e9 + 2, 1e9 + 3], { $extendedStats: { field: "n" } }) as Flat[];
  assert.equal(stats[stats.indexOf("varianceSampling") + 1], "1");
});

test("integers beyond 2^53 are exact where a value is shown", () => {
  const values = [2n ** 53n + 1n, 5, 2n ** 64n - 1n, 2n ** 53n + 1n];
  assert.deepEqual(ofValues("U64", values, { $max: { field: "n" } }), ["value", "18446744073709551615"]);
  assert.deepEqual(ofValues("U64", values, { $min: { field: "n" } }), ["value", "5"]);
  assert.deepEqual(ofValues("U64", values, { $cardinality: { field: "n" } }), ["value", "3"]);
  assert.deepEqual((ofValues("U64", values, { $terms: { field: "n", order: { key: "asc" } } }) as Flat[])[1], [
    ["key", 5, "docCount", 1],
    ["key", 2n ** 53n + 1n, "docCount", 2],
    ["key", "18446744073709551615", "docCount", 1],
  ]);
  assert.deepEqual(ofValues("I64", [-(2n ** 63n), 0], { $stats: { field: "n" } }), [
    ...["count", 2, "min", "-9223372036854775808", "max", "0", "sum", "-9223372036854776000"],
    ...["avg", "-4611686018427388000"],
  ]);
  const text = `{"a":{"$range":{"field":"n","ranges":[{"from":9007199254740993}]}}}`;
  assert.deepEqual(answer({ n: "U64" }, [{ n: 2n ** 53n + 1n }, { n: 2 ** 53 - 1 }], text), [
    "a",
    [
      "buckets",
      [
        ["key", "*-9007199254740993", "docCount", 1, "to", "9007199254740993"],
        ["key", "9007199254740993-*", "docCount", 1, "from", "9007199254740993"],
      ],
    ],
  ]);
});

test("negative zero is zero", () => {
  assert.deepEqual(ofValues("F64", [-0, 0], { $terms: { field: "n" } }), [
    ...["buckets", [["key", 0, "docCount", 2]], "sumOtherDocCount", 0, "docCountErrorUpperBound", 0],
  ]);
  assert.deepEqual(ofValues("F64", [-0], { $min: { field: "n" } }), ["value", "0"]);
});

test("a sum beyond all doubles is null", () => {
  assert.deepEqual(ofValues("F64", [1e308, 1e308], { $sum: { field: "n" } }), ["value", null]);
});

test("keys have the form of their type", () => {
  const bucketsOf = (type: FieldType, values: readonly FieldValue[]): Flat =>
    (ofValues(type, values, { $terms: { field: "n" } }) as Flat[])[1] as Flat;
  assert.deepEqual(bucketsOf("F64", [0.5, 1e21, 30]), [
    ["key", "0.5", "docCount", 1],
    ["key", "1e+21", "docCount", 1],
    ["key", 30, "docCount", 1],
  ]);
  assert.deepEqual(bucketsOf("BOOL", [1, 0, 1]), [
    ["key", 1, "keyAsString", "true", "docCount", 2],
    ["key", 0, "keyAsString", "false", "docCount", 1],
  ]);
  assert.deepEqual(bucketsOf("DATE", [0, 1_700_000_000_500, -1]), [
    ["key", "1970-01-01T00:00:00Z", "docCount", 1],
    ["key", "2023-11-14T22:13:20.5Z", "docCount", 1],
    ["key", "1969-12-31T23:59:59.999Z", "docCount", 1],
  ]);
  assert.deepEqual(bucketsOf("KEYWORD", ["10", "", "10"]), [
    ["key", "10", "docCount", 2],
    ["key", "", "docCount", 1],
  ]);
});

const keysOf = (result: Flat): Flat[] => ((result as Flat[])[1] as Flat[][]).map((bucket) => bucket[1] as Flat);

test("terms with equal counts are in the order of the engine's table", () => {
  const keysFor = (values: readonly number[]): Flat[] => keysOf(ofValues("I64", values, { $terms: { field: "n" } }));
  assert.deepEqual(keysFor([10, 20, 30]), [20, 30, 10]);
  assert.deepEqual(keysFor([1, 2, 3, 4, 5]), [5, 2, 1, 3, 4]);
  assert.deepEqual(keysFor([10, 20, 30, 10]), [10, 20, 30]);
  assert.deepEqual(keysOf(ofValues("F64", [0.5, 2.5, 1.5], { $terms: { field: "n" } })), ["0.5", "2.5", "1.5"]);
  assert.deepEqual(keysOf(ofValues("KEYWORD", ["b", "c", "a"], { $terms: { field: "n" } })), ["b", "c", "a"]);
});

test("terms are ordered by count, key and metrics", () => {
  const zonesBy = (order: object, below?: object): Flat[] => keysOf(ofReef("$terms", { field: "zone", order }, below));
  assert.deepEqual(zonesBy({ count: "asc" }), ["deep", "slope", "flat"]);
  assert.deepEqual(zonesBy({ key: "asc" }), ["deep", "flat", "slope"]);
  assert.deepEqual(zonesBy({ key: "desc" }), ["slope", "flat", "deep"]);
  const below = { d: { $avg: { field: "depth" } }, s: { $stats: { field: "depth" } } };
  assert.deepEqual(zonesBy({ d: "asc" }, below), ["flat", "slope", "deep"]);
  assert.deepEqual(zonesBy({ "d.value": "desc" }, below), ["deep", "slope", "flat"]);
  assert.deepEqual(zonesBy({ "s.count": "desc" }, below), ["slope", "deep", "flat"]);
  assert.deepEqual(ofReef("$terms", { field: "zone", size: 1, order: { d: "desc" } }, below), [
    "buckets",
    [
      [
        ...["key", "deep", "docCount", 1, "d", ["value", "200"], "s"],
        ["count", 1, "min", "200", "max", "200", "sum", "200", "avg", "200"],
      ],
    ],
    "sumOtherDocCount",
    4,
  ]);
});

test("buckets whose metric has no value come last in both directions", () => {
  const fields = { k: "KEYWORD", n: "F64" } as const;
  const rows: Row[] = [{ k: "none" }, { k: "two", n: 2 }, { k: "one", n: 1 }];
  const keysBy = (direction: string): Flat[] => {
    const below = { m: { $max: { field: "n" } } };
    const [, result] = answer(fields, rows, {
      a: { $terms: { field: "k", order: { m: direction } }, $aggs: below },
    }) as Flat[];
    return keysOf(result as Flat);
  };
  assert.deepEqual(keysBy("asc"), ["one", "two", "none"]);
  assert.deepEqual(keysBy("desc"), ["two", "one", "none"]);
});

test("the size of terms leaves others out, and their documents are counted", () => {
  assert.deepEqual(ofReef("$terms", { field: "zone", size: 1 }), [
    ...["buckets", [["key", "slope", "docCount", 2]], "sumOtherDocCount", 3, "docCountErrorUpperBound", 0],
  ]);
  assert.deepEqual(ofReef("$terms", { field: "zone", minDocCount: 2, size: 1, order: { key: "asc" } }), [
    ...["buckets", [["key", "flat", "docCount", 2]], "sumOtherDocCount", 2],
  ]);
  assert.deepEqual(ofReef("$terms", { field: "zone", order: { key: "asc" }, size: 3, showTermDocCountError: true }), [
    "buckets",
    [
      ["key", "deep", "docCount", 1],
      ["key", "flat", "docCount", 2],
      ["key", "slope", "docCount", 2],
    ],
    ...["sumOtherDocCount", 0, "docCountErrorUpperBound", 0],
  ]);
});

test("terms take and leave words by a pattern or a list", () => {
  const zones = (parameters: object): Flat[] => keysOf(ofReef("$terms", { field: "zone", ...parameters }));
  assert.deepEqual(zones({ include: "s.*" }), ["slope"]);
  assert.deepEqual(zones({ include: "lop" }), []);
  assert.deepEqual(zones({ exclude: "s.*|flat" }), ["deep"]);
  assert.deepEqual(zones({ include: ["deep", "flat", "absent"] }), ["flat", "deep"]);
  assert.deepEqual(zones({ include: [".*"] }), []);
  assert.deepEqual(zones({ include: ".*", exclude: ["flat"] }), ["slope", "deep"]);
});

test("documents without a value have the missing key", () => {
  const rows: Row[] = [{}, { k: "a" }, {}];
  const [, result] = answer({ k: "KEYWORD" }, rows, { a: { $terms: { field: "k", missing: "none" } } }) as Flat[];
  assert.deepEqual((result as Flat[])[1], [
    ["key", "none", "docCount", 2],
    ["key", "a", "docCount", 1],
  ]);
  const [, joined] = answer({ k: "KEYWORD" }, rows, { a: { $terms: { field: "k", missing: "a" } } }) as Flat[];
  assert.deepEqual((joined as Flat[])[1], [["key", "a", "docCount", 3]]);
  const [, numbers] = answer({ n: "BOOL" }, [{}, { n: 0 }], { a: { $terms: { field: "n", missing: true } } }) as Flat[];
  assert.deepEqual(keysOf(numbers as Flat).toSorted(), [0, 1]);
});

test("a minDocCount of 0 shows words that no document of the filter has", () => {
  const definition = definitionOf([fieldOf("k", "KEYWORD")]);
  const index = indexOf(definition, [[["a"]], [["b"]], undefined, [["c"]]]);
  const aggregations = parseAggregations(
    '{"t":{"$terms":{"field":"k","minDocCount":0,"exclude":["c"]},"$aggs":{"n":{"$count":{"field":"k"}}}}}',
    definition,
  );
  assert.deepEqual(flat(atOnce(aggregate(index, Uint32Array.of(1), { aggregations, spend: () => false }))), [
    "t",
    [
      "buckets",
      [
        ["key", "b", "docCount", 1, "n", ["value", "1"]],
        ["key", "a", "docCount", 0, "n", ["value", "0"]],
      ],
      ...["sumOtherDocCount", 0, "docCountErrorUpperBound", 0],
    ],
  ]);
});

test("a document counts once for each distinct value", () => {
  const values = [["a", "b", "a"], ["b"]];
  assert.deepEqual((ofValues("KEYWORD", values, { $terms: { field: "n" } }) as Flat[])[1], [
    ["key", "b", "docCount", 2],
    ["key", "a", "docCount", 1],
  ]);
  assert.deepEqual(ofValues("KEYWORD", values, { $count: { field: "n" } }), ["value", "4"]);
  assert.deepEqual(ofValues("F64", [[1, 2, 11]], { $histogram: { field: "n", interval: 10 } }), [
    "buckets",
    [
      ["key", 0, "docCount", 1],
      ["key", 10, "docCount", 1],
    ],
  ]);
});

test("ranges are sorted, and gaps between them are filled", () => {
  const ranges = [
    { from: 100, key: "deep" },
    { from: 0, to: 10 },
    { from: 20, to: 50.5 },
  ];
  assert.deepEqual(ofReef("$range", { field: "depth", ranges }), [
    "buckets",
    [
      ["key", "*-0", "docCount", 0, "to", "0"],
      ["key", "0-10", "docCount", 1, "from", "0", "to", "10"],
      ["key", "10-20", "docCount", 1, "from", "10", "to", "20"],
      ["key", "20-50.5", "docCount", 1, "from", "20", "to", "50.5"],
      ["key", "50.5-100", "docCount", 0, "from", "50.5", "to", "100"],
      ["key", "deep", "docCount", 1, "from", "100"],
    ],
  ]);
  assert.deepEqual(ofReef("$range", { field: "depth", ranges: [{}], keyed: true }), [
    ...["buckets", ["*-*", ["key", "*-*", "docCount", 4]]],
  ]);
});

test("a bound belongs to the range that it begins", () => {
  const result = ofValues("I64", [9, 10, 19, 20], { $range: { field: "n", ranges: [{ from: 10, to: 20 }] } }) as Flat[];
  assert.deepEqual(
    (result[1] as Flat[][]).map((bucket) => bucket[3]),
    [1, 2, 1],
  );
});

test("ranges of times have their bounds as text too", () => {
  const ranges = [{ from: 0, to: 86_400_000 }];
  assert.deepEqual(ofValues("DATE", [5], { $range: { field: "n", ranges } }), [
    "buckets",
    [
      ["key", "*-0", "docCount", 0, "to", "0", "toAsString", "1970-01-01T00:00:00Z"],
      [
        ...["key", "0-86400000", "docCount", 1, "from", "0", "to", "86400000"],
        ...["fromAsString", "1970-01-01T00:00:00Z", "toAsString", "1970-01-02T00:00:00Z"],
      ],
      ["key", "86400000-*", "docCount", 0, "from", "86400000", "fromAsString", "1970-01-02T00:00:00Z"],
    ],
  ]);
});

test("histograms have an offset, bounds and a least count", () => {
  const keysFor = (parameters: object): Flat[] =>
    keysOf(ofValues("F64", [-7, 3, 12, 14], { $histogram: { field: "n", interval: 5, ...parameters } }));
  assert.deepEqual(keysFor({}), [-10, -5, 0, 5, 10]);
  assert.deepEqual(keysFor({ offset: 2.5 }), ["-7.5", "-2.5", "2.5", "7.5", "12.5"]);
  assert.deepEqual(keysFor({ minDocCount: 1 }), [-10, 0, 10]);
  assert.deepEqual(keysFor({ minDocCount: 2 }), [10]);
  assert.deepEqual(keysFor({ hardBounds: { min: 0, max: 12 } }), [0, 5, 10]);
  assert.deepEqual(keysFor({ extendedBounds: { min: -11, max: 20 } }), [-15, -10, -5, 0, 5, 10, 15, 20]);
  assert.deepEqual(ofValues("F64", [1], { $histogram: { field: "n", interval: 0.5, keyed: true } }), [
    ...["buckets", ["1", ["key", 1, "docCount", 1]]],
  ]);
  assert.deepEqual(
    keysOf(ofValues("F64", [], { $histogram: { field: "n", interval: 1, extendedBounds: { min: 1, max: 2 } } })),
    [1, 2],
  );
});

test("empty buckets have the empty results of their sub-aggregations", () => {
  const below = { t: { $terms: { field: "zone" } }, m: { $max: { field: "depth" } } };
  const result = ofReef("$histogram", { field: "depth", interval: 100 }, below) as Flat[];
  assert.deepEqual((result[1] as Flat[])[1], [
    ...["key", 100, "docCount", 0, "t"],
    ["buckets", [], "sumOtherDocCount", 0, "docCountErrorUpperBound", 0],
    ...["m", ["value", null]],
  ]);
});

test("date histograms count their buckets from 1970", () => {
  const day = 86_400_000;
  const result = (parameters: object): Flat =>
    ofValues("DATE", [day + 1, 3 * day], { $dateHistogram: { field: "n", ...parameters } });
  assert.deepEqual(result({ fixedInterval: "1d" }), [
    "buckets",
    [
      ["key", 86_400_000, "keyAsString", "1970-01-02T00:00:00Z", "docCount", 1],
      ["key", 172_800_000, "keyAsString", "1970-01-03T00:00:00Z", "docCount", 0],
      ["key", 259_200_000, "keyAsString", "1970-01-04T00:00:00Z", "docCount", 1],
    ],
  ]);
  assert.deepEqual(keysOf(result({ fixedInterval: "48h", offset: "-1h" })), [-3_600_000, 169_200_000]);
  assert.deepEqual(keysOf(result({ fixedInterval: "48h", offset: "+1h" })), [3_600_000, 176_400_000]);
  assert.deepEqual(keysOf(result({ fixedInterval: "30d", minDocCount: 1 })), [0]);
  assert.deepEqual(keysOf(result({ fixedInterval: "1500ms", hardBounds: { min: 0, max: 90_000_000 } })), [86_400_000]);
});

test("percentiles lie between the nearest values", () => {
  const percentiles = (parameters: object): Flat =>
    ofValues("F64", [1, 2, 3, 4], { $percentiles: { field: "n", ...parameters } });
  assert.deepEqual(percentiles({ percents: [0, 50, 75, 100] }), [
    "values",
    ["0.0", "1", "50.0", "2.5", "75.0", "3.25", "100.0", "4"],
  ]);
  assert.deepEqual(percentiles({ percents: [25, 12.5], keyed: false }), [
    "values",
    [
      ["key", "25", "value", "1.75"],
      ["key", "12.5", "value", "1.375"],
    ],
  ]);
});

const shelves: readonly Row[] = [
  { f: "/a/x/1" },
  { f: "/a/x/2" },
  { f: "/a/y" },
  { f: ["/a/x/1", "/a/y", "/b"] },
  { f: "/a" },
  { f: "/ab/c" },
];

test("facets count documents below each path, once each", () => {
  const facet = (parameters: object): Flat => {
    const [, result] = answer({ f: "FACET" }, shelves, { a: { $facet: { field: "f", ...parameters } } }) as Flat[];
    return result as Flat;
  };
  assert.deepEqual(facet({ path: "/a" }), [
    ...["path", "/a", "sumOtherDocCount", 0, "children"],
    [
      ["path", "/a/x", "docCount", 3, "sumOtherDocCount", 0],
      ["path", "/a/y", "docCount", 2, "sumOtherDocCount", 0],
    ],
  ]);
  assert.deepEqual(facet({ path: "/", depth: 3, size: 1 }), [
    ...["path", "/", "sumOtherDocCount", 2, "children"],
    [
      [
        ...["path", "/a", "docCount", 5, "sumOtherDocCount", 2, "children"],
        [
          [
            ...["path", "/a/x", "docCount", 3, "sumOtherDocCount", 1, "children"],
            [["path", "/a/x/1", "docCount", 2, "sumOtherDocCount", 0]],
          ],
        ],
      ],
    ],
  ]);
  assert.deepEqual(facet({ path: "/", order: { count: "asc" }, minDocCount: 1 }), [
    ...["path", "/", "sumOtherDocCount", 0, "children"],
    [
      ["path", "/ab", "docCount", 1, "sumOtherDocCount", 0],
      ["path", "/b", "docCount", 1, "sumOtherDocCount", 0],
      ["path", "/a", "docCount", 5, "sumOtherDocCount", 0],
    ],
  ]);
  assert.deepEqual(facet({ path: "/", order: { path: "desc" }, minDocCount: 2 }), [
    ...["path", "/", "sumOtherDocCount", 0, "children", [["path", "/a", "docCount", 5, "sumOtherDocCount", 0]]],
  ]);
  assert.deepEqual(facet({ path: "/nobody" }), ["path", "/nobody", "sumOtherDocCount", 0, "children", []]);
  assert.deepEqual(facet({ path: "/a/y/" }), ["path", "/a/y/", "sumOtherDocCount", 0, "children", []]);
});

test("work is spent in proportion to the values", () => {
  const definition = definitionOf([fieldOf("n", "F64")]);
  const documents = Array.from({ length: 10_000 }, (_, at): SearchDocument => [[at % 7]]);
  const aggregations = parseAggregations(
    '{"t":{"$terms":{"field":"n"},"$aggs":{"a":{"$avg":{"field":"n"}}}}}',
    definition,
  );
  let steps = 0;
  atOnce(
    aggregate(indexOf(definition, documents), Uint32Array.from(documents.keys()), {
      aggregations,
      spend: (count) => {
        steps += count;
        return true;
      },
    }),
  );
  assert.ok(steps >= 20_000 && steps <= 100_000, `${steps} steps`);
});
