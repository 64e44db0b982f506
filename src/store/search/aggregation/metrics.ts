/** Aggregations that make one or more numbers of the values of each owner: all except percentiles and cardinality. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { map } from "../../reply/reply.ts";
import type { InSlices } from "../slices.ts";
import { inChunks, numbersOf } from "./columns.ts";
import type { AggregationParameters } from "./parameters.ts";
import type { Group, Members, Metric, Outcome, Plan, PlannedField, Run } from "./plan.ts";
import { metricReply } from "./print.ts";

/** Sums and extremes by owner. */
interface Statistics {
  readonly counts: Float64Array;
  readonly sums: Float64Array;
  /** Undefined for owners without values, and without meaning if they were not collected. */
  readonly extremes: Extremes;
}

interface Extremes {
  readonly min: (owner: number) => number | bigint;
  readonly max: (owner: number) => number | bigint;
}

type Missing = number | bigint | undefined;

type SingleValue = "avg" | "sum" | "min" | "max";

/** `$avg`, `$sum`, `$min` or `$max`. */
export function planValue(name: SingleValue): (field: PlannedField, parameters: AggregationParameters) => Plan {
  const hasExtremes = name === "min" || name === "max";
  return ({ field, number }, parameters) => {
    const missing = parameters.missingNumber(field);
    return {
      *run(group, run) {
        const statistics = yield* collectStatistics(group, run, { number, missing, hasExtremes });
        const metricOf = (owner: number): Metric =>
          statistics.counts[owner] === 0 ? null : statisticOf(statistics, owner, name);
        return { metricOf, membersOf: (owner) => [["value", metricReply(metricOf(owner))]] };
      },
    };
  };
}

export function planCount({ field, number }: PlannedField, parameters: AggregationParameters): Plan {
  const missing = parameters.missing(field);
  return {
    *run(group, run) {
      const counts = yield* countValues(group, run, { number, hasMissing: missing !== undefined });
      const metricOf = (owner: number): number => counts[owner] as number;
      return { metricOf, membersOf: (owner) => [["value", metricReply(metricOf(owner))]] };
    },
  };
}

export const statsMetrics = ["count", "min", "max", "sum", "avg"] as const;

type StatsMetric = (typeof statsMetrics)[number];

export function planStats({ field, number }: PlannedField, parameters: AggregationParameters): Plan {
  const missing = parameters.missingNumber(field);
  return {
    *run(group, run) {
      const statistics = yield* collectStatistics(group, run, { number, missing, hasExtremes: true });
      return {
        membersOf: (owner) => statsMembers(statistics, owner),
        metricOf: (owner, name) => statisticOf(statistics, owner, name as StatsMetric),
      };
    },
  };
}

function statsMembers(statistics: Statistics, owner: number): Members {
  return statsMetrics.map((name) => {
    const value = statisticOf(statistics, owner, name);
    return [name, name === "count" ? value : metricReply(value)];
  });
}

/** One number of an owner. The sum and the count of an owner without values are 0. */
function statisticOf({ counts, sums, extremes }: Statistics, owner: number, name: StatsMetric): Metric {
  const count = counts[owner] as number;
  const sum = sums[owner] as number;
  switch (name) {
    case "count":
      return count;
    case "sum":
      return sum;
    case "avg":
      return count === 0 ? null : sum / count;
    default:
      return count === 0 ? null : extremes[name](owner);
  }
}

function* collectStatistics(
  { documents, owners, ownerCount }: Group,
  run: Run,
  { number, missing, hasExtremes }: { number: number; missing: Missing; hasExtremes: boolean },
): InSlices<Statistics> {
  const column = numbersOf(run, number);
  const counts = new Float64Array(ownerCount);
  const sums = new Float64Array(ownerCount);
  const isExact = column.hasBigints || typeof missing === "bigint";
  const extremes = isExact ? new ExactExtremes(ownerCount) : new DoubleExtremes(ownerCount);
  const { singles } = column;
  if (singles !== undefined && !isExact) {
    yield* inChunks(documents.length, run.spend, (start, end) => {
      for (let place = start; place < end; place += 1) {
        const owner = owners === undefined ? 0 : (owners[place] as number);
        const single = singles[documents[place] as number] as number;
        if (Number.isNaN(single) && missing === undefined) continue;
        const value = Number.isNaN(single) ? Number(missing) : single;
        counts[owner] = (counts[owner] as number) + 1;
        sums[owner] = (sums[owner] as number) + value;
        if (hasExtremes) extremes.take(owner, value);
      }
    });
    return { counts, sums, extremes };
  }
  const take = (owner: number, value: number | bigint): void => {
    counts[owner] = (counts[owner] as number) + 1;
    sums[owner] = (sums[owner] as number) + Number(value);
    if (hasExtremes) extremes.take(owner, value);
  };
  yield* inChunks(documents.length, run.spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const document = documents[place] as number;
      const owner = owners === undefined ? 0 : (owners[place] as number);
      const valueCount = column.countOf(document);
      for (let at = 0; at < valueCount; at += 1) take(owner, column.valueOf(document, at));
      if (valueCount > 1) run.spend(valueCount);
      else if (valueCount === 0 && missing !== undefined) take(owner, missing);
    }
  });
  return { counts, sums, extremes };
}

class DoubleExtremes implements Extremes {
  readonly #least: Float64Array;
  readonly #greatest: Float64Array;

  constructor(ownerCount: number) {
    this.#least = new Float64Array(ownerCount).fill(Number.POSITIVE_INFINITY);
    this.#greatest = new Float64Array(ownerCount).fill(Number.NEGATIVE_INFINITY);
  }

  take(owner: number, value: number | bigint): void {
    const double = Number(value);
    if (double < (this.#least[owner] as number)) this.#least[owner] = double;
    if (double > (this.#greatest[owner] as number)) this.#greatest[owner] = double;
  }

  min(owner: number): number {
    return this.#least[owner] as number;
  }

  max(owner: number): number {
    return this.#greatest[owner] as number;
  }
}

/** For fields with integers beyond 2^53, which would be rounded. */
class ExactExtremes implements Extremes {
  readonly #least: (number | bigint)[];
  readonly #greatest: (number | bigint)[];

  constructor(ownerCount: number) {
    this.#least = Array.from({ length: ownerCount }, () => Number.POSITIVE_INFINITY);
    this.#greatest = Array.from({ length: ownerCount }, () => Number.NEGATIVE_INFINITY);
  }

  take(owner: number, value: number | bigint): void {
    if (value < (this.#least[owner] as number | bigint)) this.#least[owner] = value;
    if (value > (this.#greatest[owner] as number | bigint)) this.#greatest[owner] = value;
  }

  min(owner: number): number | bigint {
    return this.#least[owner] as number | bigint;
  }

  max(owner: number): number | bigint {
    return this.#greatest[owner] as number | bigint;
  }
}

function* countValues(
  { documents, owners, ownerCount }: Group,
  run: Run,
  { number, hasMissing }: { number: number; hasMissing: boolean },
): InSlices<Float64Array> {
  const column = run.index.column(number);
  const counts = new Float64Array(ownerCount);
  yield* inChunks(documents.length, run.spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const owner = owners === undefined ? 0 : (owners[place] as number);
      const valueCount = column.countOf(documents[place] as number);
      counts[owner] = (counts[owner] as number) + (valueCount === 0 && hasMissing ? 1 : valueCount);
    }
  });
  return counts;
}

const deviationMetrics = [
  "sumOfSquares",
  "variance",
  "variancePopulation",
  "varianceSampling",
  "stdDeviation",
  "stdDeviationPopulation",
  "stdDeviationSampling",
] as const;

export const extendedStatsMetrics: readonly Bytes[] = [...statsMetrics, ...deviationMetrics];

/** Standard deviations from the average to the bounds, if the request does not say. */
const SIGMA = 2;

export function planExtendedStats({ field, number }: PlannedField, parameters: AggregationParameters): Plan {
  const missing = parameters.missingNumber(field);
  const sigma = parameters.double("sigma", SIGMA);
  if (sigma < 0) throw parameters.invalid("sigma", "must not be negative");
  return {
    *run(group, run): InSlices<Outcome> {
      const statistics = yield* collectStatistics(group, run, { number, missing, hasExtremes: true });
      const squares = yield* collectSquares(group, run, { number, missing, statistics });
      const deviationsOf = (owner: number): Record<(typeof deviationMetrics)[number], Metric> => {
        const count = statistics.counts[owner] as number;
        const ofMean = squares.ofDistances[owner] as number;
        const population = count < 2 ? null : ofMean / count;
        const sampling = count < 2 ? null : ofMean / (count - 1);
        return {
          sumOfSquares: count === 0 ? null : (squares.ofValues[owner] as number),
          variance: population,
          variancePopulation: population,
          varianceSampling: sampling,
          stdDeviation: rootOf(population),
          stdDeviationPopulation: rootOf(population),
          stdDeviationSampling: rootOf(sampling),
        };
      };
      return {
        membersOf: (owner) => {
          const deviations = deviationsOf(owner);
          const average = statisticOf(statistics, owner, "avg");
          return [
            ...statsMembers(statistics, owner),
            ...deviationMetrics.map((name) => [name, metricReply(deviations[name])] as const),
            ["stdDeviationBounds", boundsReply(Number(average), deviations, sigma)],
          ];
        },
        metricOf: (owner, name) =>
          statsMetrics.some((each) => each === name)
            ? statisticOf(statistics, owner, name as StatsMetric)
            : deviationsOf(owner)[name as (typeof deviationMetrics)[number]],
      };
    },
  };
}

function boundsReply(
  average: number,
  { stdDeviationPopulation: population, stdDeviationSampling: sampling }: Record<string, Metric>,
  sigma: number,
) {
  if (typeof population !== "number" || typeof sampling !== "number") return null;
  const bounds: readonly (readonly [Bytes, number])[] = [
    ["upper", average + sigma * population],
    ["lower", average - sigma * population],
    ["upperSampling", average + sigma * sampling],
    ["lowerSampling", average - sigma * sampling],
    ["upperPopulation", average + sigma * population],
    ["lowerPopulation", average - sigma * population],
  ];
  return map(bounds.map(([name, bound]) => [name, metricReply(bound)]));
}

function rootOf(variance: number | null): number | null {
  return variance === null ? null : Math.sqrt(variance);
}

/** By owner: sums of the squares of values, and of their distances from the average. */
interface Squares {
  readonly ofValues: Float64Array;
  readonly ofDistances: Float64Array;
}

/** A pass of its own, because the difference of large sums would lose the variance of values that are close together. */
function* collectSquares(
  { documents, owners, ownerCount }: Group,
  run: Run,
  { number, missing, statistics }: { number: number; missing: Missing; statistics: Statistics },
): InSlices<Squares> {
  const column = numbersOf(run, number);
  const averages = statistics.sums.map((sum, owner) => sum / (statistics.counts[owner] as number));
  const ofValues = new Float64Array(ownerCount);
  const ofDistances = new Float64Array(ownerCount);
  const take = (owner: number, value: number | bigint): void => {
    const double = Number(value);
    const distance = double - (averages[owner] as number);
    ofValues[owner] = (ofValues[owner] as number) + double * double;
    ofDistances[owner] = (ofDistances[owner] as number) + distance * distance;
  };
  yield* inChunks(documents.length, run.spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const document = documents[place] as number;
      const owner = owners === undefined ? 0 : (owners[place] as number);
      const valueCount = column.countOf(document);
      for (let at = 0; at < valueCount; at += 1) take(owner, column.valueOf(document, at));
      if (valueCount === 0 && missing !== undefined) take(owner, missing);
    }
  });
  return { ofValues, ofDistances };
}
