/**
 * The slow, obvious aggregations that tests compare with: plain loops over the documents of each bucket, and random
 * requests. All requests are over the fields of `definition`.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Reply } from "../../../reply/reply.ts";
import type { FieldValue, SearchDocument } from "../../definition.ts";
import { tiePlaces } from "../terms/tie-order.ts";
import { definitionOf, fieldOf } from "./index-reader.virtual.ts";

const names = ["u", "f", "b", "d", "k"] as const;
type Name = (typeof names)[number];
const types = { u: "U64", f: "F64", b: "BOOL", d: "DATE", k: "KEYWORD" } as const;
/** U64, F64, BOOL, DATE, KEYWORD and FACET, in this order. */
export const definition = definitionOf([...names.map((name) => fieldOf(name, types[name])), fieldOf("t", "FACET")]);

type Scalar = string | number | bigint;
export type Row = SearchDocument;
interface Request {
  readonly [operator: string]: { readonly field: Name; readonly [parameter: string]: unknown };
}
/** A request: operators by their aliases. */
export type Nested = { readonly [alias: string]: { readonly $aggs?: Nested; readonly [operator: string]: unknown } };
/** A reply in plain arrays. */
export type Flat = null | Scalar | Flat[];

export function flat(reply: Reply): Flat {
  if (reply === null || typeof reply !== "object") return reply;
  if (Array.isArray(reply)) return reply.map((each: Reply) => flat(each));
  assert.ok("kind" in reply && reply.kind === "map");
  return reply.pairs.flatMap(([name, value]) => [flat(name), flat(value)]);
}

/* The slow rules. */

const valuesIn = (row: Row, name: Name | "t"): readonly Scalar[] => row[[...names, "t"].indexOf(name)] ?? [];
const text = (value: number | bigint | null): Flat =>
  value === null || (typeof value === "number" && !Number.isFinite(value)) ? null : `${value}`;
const wholeOrText = (value: number | bigint): Flat =>
  typeof value === "bigint"
    ? value < 2n ** 63n
      ? value
      : `${value}`
    : Number.isSafeInteger(value)
      ? value
      : `${value}`;
const iso = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace(".000Z", "Z")
    .replace(/(\.\d+?)0+Z$/, "$1Z");

interface Parameters {
  readonly field: Name;
  readonly missing?: Scalar | boolean;
  readonly [name: string]: unknown;
}

/** All values of the documents, in order. */
function valuesOf(rows: readonly Row[], { field, missing }: Parameters): Scalar[] {
  const instead = missing === undefined ? [] : [typeof missing === "boolean" ? Number(missing) : missing];
  return rows.flatMap((row) => {
    const values = valuesIn(row, field);
    return values.length === 0 ? instead : values;
  });
}

function statsOf(rows: readonly Row[], parameters: Parameters) {
  const values = valuesOf(rows, parameters) as (number | bigint)[];
  const sum = values.reduce<number>((total, value) => total + Number(value), 0);
  const sorted = values.toSorted((one, other) => (one < other ? -1 : Number(one > other)));
  const count = values.length;
  const average = count === 0 ? null : sum / count;
  return { values, count, sum, average, min: sorted[0] ?? null, max: sorted.at(-1) ?? null };
}

const statsMembers = ({ count, min, max, sum, average }: ReturnType<typeof statsOf>): Flat[] => [
  ...["count", count, "min", text(min), "max", text(max), "sum", text(sum), "avg", text(average)],
];

/** The documents of each distinct key, in the order of first occurrence. */
function groupsOf<Key>(rows: readonly Row[], keysOf: (row: Row) => readonly Key[]): [Key, Row[]][] {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) for (const key of new Set(keysOf(row))) groups.set(key, [...(groups.get(key) ?? []), row]);
  return [...groups];
}

/** A bucket: its members, and its documents. */
type SlowBucket = readonly [Flat[], readonly Row[]];

const slowOperators: Record<string, (rows: readonly Row[], parameters: Parameters, below: Nested) => Flat[]> = {
  $avg: (rows, parameters) => ["value", text(statsOf(rows, parameters).average)],
  $sum: (rows, parameters) => {
    const { count, sum } = statsOf(rows, parameters);
    return ["value", count === 0 ? null : text(sum)];
  },
  $min: (rows, parameters) => ["value", text(statsOf(rows, parameters).min)],
  $max: (rows, parameters) => ["value", text(statsOf(rows, parameters).max)],
  $count: (rows, parameters) => ["value", `${valuesOf(rows, parameters).length}`],
  $cardinality: (rows, parameters) => ["value", `${new Set(valuesOf(rows, parameters)).size}`],
  $stats: (rows, parameters) => statsMembers(statsOf(rows, parameters)),
  $extendedStats: (rows, parameters) => {
    const stats = statsOf(rows, parameters);
    const { values, count, average } = stats;
    const doubles = values.map(Number);
    const squares = doubles.reduce((total, value) => total + value * value, 0);
    const distances = doubles.reduce(
      (total, value) => total + (value - Number(average)) * (value - Number(average)),
      0,
    );
    const population = count < 2 ? null : distances / count;
    const sampling = count < 2 ? null : distances / (count - 1);
    const rootOf = (value: number | null): number | null => (value === null ? null : Math.sqrt(value));
    const bound = (sign: number, variance: number): Flat => text(Number(average) + sign * 2 * Math.sqrt(variance));
    return [
      ...statsMembers(stats),
      ...["sumOfSquares", count === 0 ? null : text(squares), "variance", text(population)],
      ...["variancePopulation", text(population), "varianceSampling", text(sampling), "stdDeviation"],
      ...[text(rootOf(population)), "stdDeviationPopulation", text(rootOf(population)), "stdDeviationSampling"],
      ...[text(rootOf(sampling)), "stdDeviationBounds"],
      population === null || sampling === null
        ? null
        : [
            ...["upper", bound(1, population), "lower", bound(-1, population)],
            ...["upperSampling", bound(1, sampling), "lowerSampling", bound(-1, sampling)],
            ...["upperPopulation", bound(1, population), "lowerPopulation", bound(-1, population)],
          ],
    ];
  },
  $percentiles: (rows, parameters) => {
    const sorted = (valuesOf(rows, parameters) as (number | bigint)[])
      .map(Number)
      .toSorted((one, other) => one - other);
    const at = (percent: number): number | null => {
      if (sorted.length === 0) return null;
      const rank = (percent / 100) * (sorted.length - 1);
      const low = sorted[Math.floor(rank)] as number;
      const high = sorted[Math.min(Math.floor(rank) + 1, sorted.length - 1)] as number;
      return low + (high - low) * (rank - Math.floor(rank));
    };
    const percents = parameters["percents"] as number[];
    return [
      "values",
      parameters["keyed"] === false
        ? percents.map((percent) => ["key", `${percent}`, "value", text(at(percent))])
        : percents.flatMap((percent) => [Number.isInteger(percent) ? `${percent}.0` : `${percent}`, text(at(percent))]),
    ];
  },
  $terms: (rows, parameters, below) => {
    const {
      field,
      missing,
      size = 10,
      order,
      minDocCount = 1,
    } = parameters as Parameters & {
      size?: number;
      minDocCount?: number;
      order?: Record<string, string>;
    };
    const instead = missing === undefined ? [] : [typeof missing === "boolean" ? Number(missing) : missing];
    const groups = groupsOf(rows, (row) => {
      const values = valuesIn(row, field);
      return values.length === 0 ? instead : values;
    }).filter(([, docs]) => docs.length >= minDocCount);
    const [by = "count", direction = "desc"] = Object.entries(order ?? {})[0] ?? [];
    const sign = direction === "asc" ? 1 : -1;
    const byKey = ([one]: [Scalar, Row[]], [other]: [Scalar, Row[]]): number =>
      one < other ? -1 : Number(one > other);
    let sorted: [Scalar, Row[]][];
    if (by === "count") {
      const byCount = ([, one]: [Scalar, Row[]], [, other]: [Scalar, Row[]]): number =>
        sign * (one.length - other.length);
      sorted = groups.toSorted(byCount);
      if (field === "u" || field === "f") {
        const places = tiePlaces(sorted.map(([key]) => key as number | bigint));
        sorted = sorted
          .map((group, at) => ({ group, place: places[at] as number }))
          .toSorted((one, other) => byCount(one.group, other.group) || one.place - other.place)
          .map(({ group }) => group);
      }
    } else if (by === "key") sorted = groups.toSorted((one, other) => sign * byKey(one, other));
    else {
      const metrics = new Map(groups.map(([key, docs]) => [key, statsOf(docs, { field: "f" }).average]));
      sorted = groups.toSorted((one, other) => {
        const [left, right] = [metrics.get(one[0]) ?? null, metrics.get(other[0]) ?? null];
        if (left === null || right === null) return Number(left === null) - Number(right === null) || byKey(one, other);
        return sign * (left - right) || byKey(one, other);
      });
    }
    const membersOf = (key: Scalar): Flat[] => {
      if (field === "b") return ["key", key, "keyAsString", key === 0 ? "false" : "true"];
      if (field === "d") return ["key", iso(Number(key))];
      return ["key", typeof key === "string" ? key : wholeOrText(key)];
    };
    const shown = sorted.slice(0, size);
    const countOf = (list: [Scalar, Row[]][]): number => list.reduce((total, [, docs]) => total + docs.length, 0);
    return [
      "buckets",
      bucketsOf(
        shown.map(([key, docs]) => [[...membersOf(key), "docCount", docs.length], docs]),
        below,
      ),
      ...["sumOtherDocCount", countOf(sorted) - countOf(shown)],
      ...(by === "count" && direction === "desc" ? ["docCountErrorUpperBound", 0] : []),
    ];
  },
  $range: (rows, parameters, below) => {
    const cuts = (parameters["ranges"] as { from: number; to: number }[])
      .flatMap(({ from, to }) => [from, to])
      .toSorted((one, other) => one - other);
    const bounds = [undefined, ...new Set(cuts), undefined];
    const buckets = bounds.slice(1).map((to, at): SlowBucket => {
      const from = bounds[at];
      const docs = rows.filter((row) =>
        (valuesIn(row, parameters.field) as readonly (number | bigint)[]).some(
          (value) => (from === undefined || value >= from) && (to === undefined || value < to),
        ),
      );
      const members: Flat[] = ["key", `${from ?? "*"}-${to ?? "*"}`, "docCount", docs.length];
      if (from !== undefined) members.push("from", `${from}`);
      if (to !== undefined) members.push("to", `${to}`);
      if (parameters.field === "d" && from !== undefined) members.push("fromAsString", iso(from));
      if (parameters.field === "d" && to !== undefined) members.push("toAsString", iso(to));
      return [members, docs];
    });
    return ["buckets", bucketsOf(buckets, below)];
  },
  $histogram: (rows, parameters, below) => ["buckets", histogramOf(rows, parameters, below)],
  $dateHistogram: (rows, parameters, below) => [
    "buckets",
    histogramOf(
      rows,
      { ...parameters, interval: Number.parseInt(String(parameters["fixedInterval"]), 10), isTime: true },
      below,
    ),
  ],
  $facet: (rows, parameters) => {
    const { path, depth, size } = parameters as unknown as { path: string; depth: number; size: number };
    const childrenOf = (above: string, left: number): { children: Flat[]; other: number } => {
      const groups = groupsOf(rows, (row) =>
        valuesIn(row, "t")
          .map(String)
          .filter((value) => value.startsWith(`${above}/`))
          .map((value) => `${above}/${value.slice(above.length + 1).split("/")[0]}`),
      ).toSorted(([one, left], [other, right]) => right.length - left.length || (one < other ? -1 : 1));
      const children = left === 0 ? [] : groups.slice(0, size);
      const other = left === 0 ? 0 : groups.slice(size).reduce((total, [, docs]) => total + docs.length, 0);
      return {
        other,
        children: children.map(([child, docs]) => {
          const below = childrenOf(child, left - 1);
          const members: Flat[] = ["path", child, "docCount", docs.length, "sumOtherDocCount", below.other];
          return below.children.length === 0 ? members : [...members, "children", below.children];
        }),
      };
    };
    const { children, other } = childrenOf(path === "/" ? "" : path, depth);
    return ["path", path, "sumOtherDocCount", other, "children", children];
  },
};

function histogramOf(rows: readonly Row[], parameters: Parameters, below: Nested): Flat {
  const { interval, minDocCount = 0, isTime } = parameters as unknown as Record<string, number>;
  const width = interval as number;
  const groups = new Map(
    groupsOf(rows, (row) => valuesIn(row, parameters.field).map((value) => Math.floor(Number(value) / width))),
  );
  const found = [...groups.keys()].sort((one, other) => one - other);
  const [first = 0] = found;
  // Empty buckets are left out, and may be very many.
  const places =
    (minDocCount as number) > 0
      ? found
      : Array.from({ length: groups.size === 0 ? 0 : (found.at(-1) as number) - first + 1 }, (_, at) => first + at);
  const buckets: SlowBucket[] = [];
  for (const place of places) {
    const docs = groups.get(place) ?? [];
    if (docs.length < (minDocCount as number)) continue;
    const key = place * width;
    const members: Flat[] = isTime ? ["key", key, "keyAsString", iso(key)] : ["key", wholeOrText(key)];
    buckets.push([[...members, "docCount", docs.length], docs]);
  }
  return bucketsOf(buckets, below);
}

function bucketsOf(buckets: readonly SlowBucket[], below: Nested): Flat {
  return buckets.map(([members, docs]) => [...members, ...slowAnswer(docs, below)]);
}

/** The reply to a request over these documents. */
export function slowAnswer(rows: readonly Row[], request: Nested): Flat[] {
  return Object.entries(request).flatMap(([alias, { $aggs = {}, ...rest }]) => {
    const [operator = "", parameters] = Object.entries(rest)[0] ?? [];
    return [alias, slowOperators[operator]?.(rows, parameters as Parameters, $aggs) ?? null];
  });
}

/* Random documents and requests. */

const some = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<readonly Value[] | undefined> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 6, arbitrary: value.map((one) => [one]) },
    { weight: 2, arbitrary: fc.array(value, { minLength: 2, maxLength: 4 }) },
  );

const scalars: Record<Name, fc.Arbitrary<FieldValue>> = {
  u: fc.oneof(fc.nat(12), fc.constantFrom(2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 64n - 1n)),
  f: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.constantFrom(0.5, -2.25, 1e-7, 7.75)),
  b: fc.nat(1),
  d: fc.integer({ min: -5_000, max: 5_000 }),
  k: fc.constantFrom("a", "b", "c", "", "10", "\xc3\xa9"),
};
const paths = fc.constantFrom("/a", "/a/x", "/a/x/1", "/a/x/2", "/a/y", "/b", "/b/z", "/ab");

export const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.tuple(...names.map((name) => some(scalars[name])), some(paths)) as fc.Arbitrary<Row>,
  { maxLength: 30 },
);

const fieldAmong = (...fields: Name[]): fc.Arbitrary<Name> => fc.constantFrom(...fields);

/** Metrics of fields, with and without a value for missing ones. */
const metric = fc
  .tuple(
    fc.constantFrom(
      "$avg",
      "$sum",
      "$min",
      "$max",
      "$count",
      "$cardinality",
      "$stats",
      "$extendedStats",
      "$percentiles",
    ),
    fc.boolean(),
  )
  .chain(([operator, hasMissing]) => {
    const fields: Name[] = ["f", "d"];
    // The large integers of u are not exact in sums, but the same in both.
    fields.push("u");
    if (operator !== "$extendedStats" && operator !== "$percentiles") fields.push("b");
    if (operator === "$count" || operator === "$cardinality") fields.push("k");
    return fieldAmong(...fields).map((field): Request => {
      const missing = hasMissing ? { missing: field === "k" ? "a" : field === "b" ? true : 3 } : {};
      const percents = operator === "$percentiles" ? { percents: [0, 12.5, 50, 100], keyed: hasMissing } : {};
      return { [operator]: { field, ...missing, ...percents } };
    });
  });

const bucketed: fc.Arbitrary<Request> = fc.oneof(
  fc
    .record({
      field: fieldAmong("u", "f", "b", "d", "k"),
      size: fc.constantFrom(1, 3, 10),
      minDocCount: fc.constantFrom(1, 2),
      order: fc.constantFrom<Record<string, string> | undefined>(
        undefined,
        { count: "asc" },
        { key: "asc" },
        { key: "desc" },
        { m: "asc" },
        { m: "desc" },
      ),
    })
    .map(({ order, ...rest }): Request => ({ $terms: order === undefined ? rest : { ...rest, order } })),
  fc
    .record({
      field: fieldAmong("u", "f", "d"),
      ranges: fc.constantFrom(
        [{ from: 0, to: 5 }],
        [
          { from: 2, to: 3 },
          { from: -4, to: 0.5 },
        ],
        [{ from: 0, to: 4_000_000_000_000_000 }],
      ),
    })
    .map((parameters): Request => ({ $range: parameters })),
  fc
    .record({ field: fieldAmong("f", "d"), interval: fc.constantFrom(500, 1_000), minDocCount: fc.nat(1) })
    .map((parameters): Request => ({ $histogram: parameters })),
  fc
    .record({ field: fc.constant("f" as const), interval: fc.constantFrom(0.5, 2, 3) })
    .map((parameters): Request => ({ $histogram: parameters })),
  fc
    .record({
      field: fc.constant("d" as const),
      fixedInterval: fc.constantFrom("700ms", "2000ms"),
      minDocCount: fc.nat(1),
    })
    .map((parameters): Request => ({ $dateHistogram: parameters })),
);

/** Aggregations to a depth. `m` is always there, for `order`. */
function nested(depth: number): fc.Arbitrary<Nested> {
  const inside = depth === 0 ? metric : fc.oneof(metric, fc.tuple(bucketed, nested(depth - 1)).map(withBelow));
  return fc
    .tuple(inside, inside)
    .map(([one, other]): Nested => ({ m: { $avg: { field: "f" } }, one, other }) as Nested);
}

function withBelow([request, below]: [Request, Nested]): Request {
  return { ...request, $aggs: below } as unknown as Request;
}

const facet = fc
  .record({
    path: fc.constantFrom("/", "/a", "/a/x", "/q"),
    depth: fc.constantFrom(1, 2, 3),
    size: fc.constantFrom(1, 10),
  })
  .map((parameters) => ({ $facet: { field: "t", ...parameters } }));

export const requests = fc
  .tuple(fc.tuple(bucketed, nested(2)).map(withBelow), metric, facet)
  .map(([buckets, metrics, facets]) => ({ buckets, metrics, facets }) as unknown as Nested);
