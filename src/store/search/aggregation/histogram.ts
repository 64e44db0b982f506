/** `$histogram` and `$dateHistogram`: buckets of equal width. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { bucketsTooMany } from "../aggregation-errors.ts";
import type { InSlices } from "../slices.ts";
import { type Bucket, type Chosen, NO_CELL, planBuckets } from "./buckets.ts";
import { inChunks, numbersOf } from "./columns.ts";
import { firstBuckets } from "./first-buckets.ts";
import { NO_KEY } from "./keys.ts";
import { type Cells, NumberOrdinals } from "./ordinals.ts";
import type { AggregationParameters, Bounds } from "./parameters.ts";
import { type Aggregation, BUCKETS_MAX, type Members, type Plan, type PlannedField, type Run } from "./plan.ts";
import { keyReply, numberText, timeText } from "./print.ts";

/** Buckets begin at `offset` and at each multiple of `interval` from there. */
interface Grid {
  readonly interval: number;
  readonly offset: number;
  readonly minDocCount: number;
  /** Values outside are in no bucket. */
  readonly hardBounds: Bounds | undefined;
  /** Buckets from the first to the second are shown though they are empty. */
  readonly extendedBounds: Bounds | undefined;
}

interface HistogramOptions {
  readonly interval: number;
  readonly offset: number;
  /** What a bucket says of its key. */
  readonly keyMembers: (key: number) => Members;
}

export function planHistogram(
  field: PlannedField,
  parameters: AggregationParameters,
  subAggregations: readonly Aggregation[],
): Plan {
  parameters.required("interval");
  const interval = parameters.double("interval", 0);
  if (interval <= 0) throw parameters.invalid("interval", "must be greater than 0");
  const offset = parameters.double("offset", 0);
  const keyMembers = (key: number): Members => [["key", keyReply(key)]];
  return planGrid(field, parameters, { subAggregations, options: { interval, offset, keyMembers } });
}

export function planDateHistogram(
  field: PlannedField,
  parameters: AggregationParameters,
  subAggregations: readonly Aggregation[],
): Plan {
  parameters.required("fixedInterval");
  const interval = spanMs(parameters.string("fixedInterval") ?? "");
  if (interval === undefined || interval === 0)
    throw parameters.invalid("fixedInterval", "must be a positive integer and one of the units ms, s, m, h, d");
  const offset = signedSpanMs(parameters.string("offset") ?? "0ms");
  if (offset === undefined)
    throw parameters.invalid("offset", "must be an integer and one of the units ms, s, m, h, d, with + or - before it");
  const keyMembers = (key: number): Members => [
    ["key", keyReply(key)],
    ["keyAsString", timeText(key)],
  ];
  return planGrid(field, parameters, { subAggregations, options: { interval, offset, keyMembers } });
}

const SPAN = /^(\d+)(ms|s|m|h|d)$/;

const MS_BY_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function spanMs(text: Bytes): number | undefined {
  const [, count = "", unit = ""] = SPAN.exec(text) ?? [];
  const ms = Number(count) * (MS_BY_UNIT[unit] ?? Number.NaN);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

function signedSpanMs(text: Bytes): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  const ms = spanMs(/^[+-]/.test(text) ? text.slice(1) : text);
  return ms === undefined ? undefined : sign * ms;
}

function planGrid(
  { number }: PlannedField,
  parameters: AggregationParameters,
  { subAggregations, options }: { subAggregations: readonly Aggregation[]; options: HistogramOptions },
): Plan {
  const { interval, offset, keyMembers } = options;
  const isKeyed = parameters.boolean("keyed", false);
  const grid = parseGrid(parameters, { interval, offset });
  return planBuckets(
    (run) => {
      const column = numbersOf(run, number);
      const ordinals = new NumberOrdinals(run.spend);
      return {
        keys: {
          countOf: (document) => column.countOf(document),
          keyOf: (document, at) => {
            const value = Number(column.valueOf(document, at));
            if (isOutside(value, grid.hardBounds)) return NO_KEY;
            const place = placeOf(value, grid);
            if (!Number.isSafeInteger(place)) throw bucketsTooMany(BUCKETS_MAX);
            return ordinals.ordinalOf(place);
          },
          missing: NO_KEY,
          limit: undefined,
        },
        *choose(own, cells): InSlices<Chosen> {
          const placeOfCell = (cell: number): number => Number(ordinals.valueAt(cells.keyOf(cell)));
          const places = yield* shownPlaces(own, { cells, placeOfCell, grid, run });
          const buckets = places.map(({ place, cell }): Bucket => {
            const key = place * interval + offset;
            const docCount = cell === NO_CELL ? 0 : cells.countOf(cell);
            return { cell, name: numberText(key), members: [...keyMembers(key), ["docCount", docCount]] };
          });
          return { buckets };
        },
      };
    },
    { isKeyed, subAggregations },
  );
}

function parseGrid(
  parameters: AggregationParameters,
  { interval, offset }: { interval: number; offset: number },
): Grid {
  const minDocCount = parameters.integer("minDocCount", 0, 0);
  const hardBounds = parameters.bounds("hardBounds");
  const extendedBounds = parameters.bounds("extendedBounds");
  if (extendedBounds !== undefined) {
    if (minDocCount > 0) throw parameters.invalid("extendedBounds", "needs a minDocCount of 0");
    if (isOutside(extendedBounds.min, hardBounds) || isOutside(extendedBounds.max, hardBounds))
      throw parameters.invalid("extendedBounds", "must be inside hardBounds");
  }
  return { interval, offset, minDocCount, hardBounds, extendedBounds };
}

function isOutside(value: number, bounds: Bounds | undefined): boolean {
  return bounds !== undefined && (value < bounds.min || value > bounds.max);
}

/** The number of the bucket of a value: 0 begins at the offset. */
function placeOf(value: number, { interval, offset }: Grid): number {
  return Math.floor((value - offset) / interval);
}

interface Place {
  readonly place: number;
  readonly cell: number;
}

/** The buckets that an owner shows, in rising order. */
function* shownPlaces(
  own: Uint32Array,
  { cells, placeOfCell, grid, run }: { cells: Cells; placeOfCell: (cell: number) => number; grid: Grid; run: Run },
): InSlices<readonly Place[]> {
  const { minDocCount, extendedBounds } = grid;
  const found: Place[] = [];
  yield* inChunks(own.length, run.spend, (start, end) => {
    for (let at = start; at < end; at += 1) {
      const cell = own[at] as number;
      if (cells.countOf(cell) < minDocCount) continue;
      if (found.length >= BUCKETS_MAX) throw bucketsTooMany(BUCKETS_MAX);
      found.push({ place: placeOfCell(cell), cell });
    }
  });
  const compare = (one: number, other: number): number => (found[one] as Place).place - (found[other] as Place).place;
  const order = yield* firstBuckets(run, { count: found.length, size: found.length, compare });
  const filled = order.map((at) => found[at] as Place);
  if (minDocCount > 0) return filled;

  const ends = filled.length === 0 ? [] : [filled[0]?.place as number, filled.at(-1)?.place as number];
  if (extendedBounds !== undefined) ends.push(placeOf(extendedBounds.min, grid), placeOf(extendedBounds.max, grid));
  if (ends.length === 0) return [];
  const first = Math.min(...ends);
  const last = Math.max(...ends);
  if (last - first >= BUCKETS_MAX || !Number.isSafeInteger(first) || !Number.isSafeInteger(last))
    throw bucketsTooMany(BUCKETS_MAX);
  const shown: Place[] = [];
  let at = 0;
  for (let place = first; place <= last; place += 1) {
    const next = filled[at];
    if (next?.place === place) {
      shown.push(next);
      at += 1;
    } else shown.push({ place, cell: NO_CELL });
  }
  return shown;
}
