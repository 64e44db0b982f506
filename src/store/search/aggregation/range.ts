/** `$range`: buckets with given bounds, and what lies below, between and above them. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { JsonObject } from "../../json/object.ts";
import { rangesOverlap } from "../aggregation-errors.ts";
import type { FieldType } from "../definition.ts";
import type { InSlices } from "../slices.ts";
import { type Bucket, type Chosen, NO_CELL, planBuckets } from "./buckets.ts";
import { numbersOf } from "./columns.ts";
import { NO_KEY } from "./keys.ts";
import type { AggregationParameters } from "./parameters.ts";
import type { Aggregation, Members, Plan, PlannedField } from "./plan.ts";
import { numberText, timeText } from "./print.ts";

const RANGES_MAX = 1_000;

/** From `from` on, up to but not including `to`. Undefined: no bound. */
interface Range {
  readonly key: Bytes | undefined;
  readonly from: number | bigint | undefined;
  readonly to: number | bigint | undefined;
}

export function planRange(
  { field, number }: PlannedField,
  parameters: AggregationParameters,
  subAggregations: readonly Aggregation[],
): Plan {
  const isKeyed = parameters.boolean("keyed", false);
  parameters.required("ranges");
  const given = parameters.array("ranges", { countMax: RANGES_MAX }) ?? [];
  const ranges = withoutGaps(
    given.map((node) => parseRange(node, parameters)),
    parameters,
  );
  // The first range begins below all values, and the others at these.
  const starts = ranges.slice(1).map(({ from }) => from as number | bigint);
  const rangeOf = (value: number | bigint): number => {
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value < (starts[middle] as number | bigint)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const shown = ranges.map((range) => {
    const name = range.key ?? keyOf(range);
    return { name, bounds: boundMembers(range, field.type) };
  });
  return planBuckets(
    (run) => {
      const column = numbersOf(run, number);
      return {
        keys: {
          countOf: (document) => column.countOf(document),
          keyOf: (document, at) => rangeOf(column.valueOf(document, at)),
          missing: NO_KEY,
          limit: ranges.length,
        },
        *choose(own, cells): InSlices<Chosen> {
          const cellOf = new Map(Array.from(own, (cell) => [cells.keyOf(cell), cell]));
          const buckets = shown.map(({ name, bounds }, at): Bucket => {
            const cell = cellOf.get(at) ?? NO_CELL;
            const docCount = cell === NO_CELL ? 0 : cells.countOf(cell);
            return { cell, name, members: [["key", name], ["docCount", docCount], ...bounds] };
          });
          return { buckets };
        },
      };
    },
    { isKeyed, subAggregations },
  );
}

const MEMBERS = ["key", "from", "to"];
const RULE = "must be an array of objects with from, to and key, from below to";

function parseRange(node: unknown, parameters: AggregationParameters): Range {
  if (!(node instanceof JsonObject) || node.names().some((name) => !MEMBERS.includes(name)))
    throw parameters.invalid("ranges", RULE);
  const boundOf = (name: Bytes): number | bigint | undefined => {
    const bound = node.get(name) ?? undefined;
    return bound === undefined ? undefined : parameters.numberOf(`ranges.${name}`, bound);
  };
  const key = node.get("key") ?? undefined;
  if (key !== undefined && typeof key !== "string") throw parameters.invalid("ranges.key", "must be a string");
  const [from, to] = [boundOf("from"), boundOf("to")];
  if (from !== undefined && to !== undefined && from >= to) throw parameters.invalid("ranges", RULE);
  return { key, from, to };
}

/** The ranges in rising order, so that each begins where the one before ends, and all values are in one. */
function withoutGaps(given: readonly Range[], { alias }: AggregationParameters): readonly Range[] {
  const rising = given.toSorted((one, other) => compareStarts(one.from, other.from));
  const ranges: Range[] = [];
  const first = rising[0];
  if (first?.from !== undefined) ranges.push({ key: undefined, from: undefined, to: first.from });
  for (const range of rising) {
    const last = ranges.at(-1);
    if (last !== undefined) {
      if (last.to === undefined || range.from === undefined || last.to > range.from) throw rangesOverlap(alias);
      if (last.to < range.from) ranges.push({ key: undefined, from: last.to, to: range.from });
    }
    ranges.push(range);
  }
  const end = ranges.at(-1)?.to;
  if (end !== undefined) ranges.push({ key: undefined, from: end, to: undefined });
  return ranges;
}

function compareStarts(one: number | bigint | undefined, other: number | bigint | undefined): number {
  if (one === undefined || other === undefined) return Number(one !== undefined) - Number(other !== undefined);
  return one < other ? -1 : Number(one > other);
}

function keyOf({ from, to }: Range): Bytes {
  return `${from === undefined ? "*" : numberText(from)}-${to === undefined ? "*" : numberText(to)}`;
}

function boundMembers({ from, to }: Range, type: FieldType): Members {
  const bounds: [Bytes, Bytes][] = [];
  if (from !== undefined) bounds.push(["from", numberText(from)]);
  if (to !== undefined) bounds.push(["to", numberText(to)]);
  if (type !== "DATE") return bounds;
  if (from !== undefined) bounds.push(["fromAsString", timeText(Number(from))]);
  if (to !== undefined) bounds.push(["toAsString", timeText(Number(to))]);
  return bounds;
}
