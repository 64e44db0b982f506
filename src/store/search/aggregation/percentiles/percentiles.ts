/** `$percentiles`: exact, linear between the two nearest values. */
import { map, type Reply } from "../../../reply/reply.ts";
import type { InSlices } from "../../slices.ts";
import { inChunks, numbersOf } from "../columns.ts";
import type { AggregationParameters } from "../parameters.ts";
import type { Group, Plan, PlannedField, Run } from "../plan.ts";
import { metricReply, numberText } from "../print.ts";
import { sortValues } from "./sort-values.ts";

const PERCENTS = [1, 5, 25, 50, 75, 95, 99];
const PERCENTS_MAX = 1_000;

export function planPercentiles({ field, number }: PlannedField, parameters: AggregationParameters): Plan {
  const missing = parameters.missingNumber(field);
  const isKeyed = parameters.boolean("keyed", true);
  const percents = parameters
    .array("percents", { countMax: PERCENTS_MAX })
    ?.map((node) => parameters.doubleOf("percents", node));
  if (percents?.some((percent) => percent < 0 || percent > 100))
    throw parameters.invalid("percents", "must be numbers from 0 to 100");
  return {
    *run(group, run) {
      const valuesOf = yield* sortedValues(group, run, {
        number,
        missing: missing === undefined ? undefined : Number(missing),
      });
      return {
        membersOf: (owner) => {
          const sorted = valuesOf(owner);
          const results = (percents ?? PERCENTS).map((percent) => ({ percent, value: percentileOf(sorted, percent) }));
          const values: Reply = isKeyed
            ? map(results.map(({ percent, value }) => [keyText(percent), metricReply(value)]))
            : results.map(({ percent, value }) =>
                map([
                  ["key", numberText(percent)],
                  ["value", metricReply(value)],
                ]),
              );
          return [["values", values]];
        },
      };
    },
  };
}

/** Clients turn a text that looks like a number of theirs into one: `50.0` stays a name, `50` would not. */
function keyText(percent: number): string {
  return Number.isInteger(percent) ? `${percent}.0` : numberText(percent);
}

function percentileOf(sorted: Float64Array, percent: number): number | null {
  if (sorted.length === 0) return null;
  const rank = (percent / 100) * (sorted.length - 1);
  const below = Math.floor(rank);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  return low + (high - low) * (rank - below);
}

/** The values of each owner, in rising order. */
function* sortedValues(
  { documents, owners, ownerCount }: Group,
  run: Run,
  { number, missing }: { number: number; missing: number | undefined },
): InSlices<(owner: number) => Float64Array> {
  const column = numbersOf(run, number);
  const countOf = (document: number): number => {
    const count = column.countOf(document);
    return count === 0 && missing !== undefined ? 1 : count;
  };
  // Values come after those of all owners before: starts first, and then each owner fills its part.
  const starts = new Uint32Array(ownerCount + 1);
  yield* inChunks(documents.length, run.spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const owner = owners === undefined ? 0 : (owners[place] as number);
      starts[owner + 1] = (starts[owner + 1] as number) + countOf(documents[place] as number);
    }
  });
  for (let owner = 0; owner < ownerCount; owner += 1)
    starts[owner + 1] = (starts[owner + 1] as number) + (starts[owner] as number);
  const valueCount = starts[ownerCount] as number;
  const values = new Float64Array(valueCount);
  const ends = starts.slice();
  yield* inChunks(documents.length, run.spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const document = documents[place] as number;
      const owner = owners === undefined ? 0 : (owners[place] as number);
      const hasValue = column.countOf(document) > 0;
      for (let at = 0; at < countOf(document); at += 1) {
        values[ends[owner] as number] = hasValue ? Number(column.valueOf(document, at)) : (missing as number);
        ends[owner] = (ends[owner] as number) + 1;
      }
    }
  });
  for (let owner = 0; owner < ownerCount; owner += 1)
    yield* sortValues(values.subarray(starts[owner], starts[owner + 1]), run.spend);
  return (owner) => values.subarray(starts[owner], starts[owner + 1]);
}
