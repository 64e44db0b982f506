/** `$cardinality`: the number of distinct values. */
import { numbersOf } from "./columns.ts";
import { collectCells, type Keys, keysOfWords, NO_KEY } from "./keys.ts";
import { NumberOrdinals } from "./ordinals.ts";
import type { AggregationParameters } from "./parameters.ts";
import type { Plan, PlannedField, Run } from "./plan.ts";
import { metricReply } from "./print.ts";

export function planCardinality({ field, number }: PlannedField, parameters: AggregationParameters): Plan {
  const missing = parameters.missing(field);
  const keysFor = (run: Run): Keys => {
    if (field.type === "KEYWORD") return keysOfWords(run, number, typeof missing === "string" ? missing : undefined);
    const column = numbersOf(run, number);
    const ordinals = new NumberOrdinals(run.spend);
    return {
      countOf: (document) => column.countOf(document),
      keyOf: (document, at) => ordinals.ordinalOf(column.valueOf(document, at)),
      missing: missing === undefined || typeof missing === "string" ? NO_KEY : ordinals.ordinalOf(missing),
      limit: undefined,
    };
  };
  return {
    *run(group, run) {
      const { cells } = yield* collectCells(group, run, { keys: keysFor(run), keepsPairs: false });
      const counts = new Float64Array(group.ownerCount);
      for (let cell = 0; cell < cells.count; cell += 1) {
        const owner = cells.ownerOf(cell);
        counts[owner] = (counts[owner] as number) + 1;
      }
      const metricOf = (owner: number): number => counts[owner] as number;
      return { metricOf, membersOf: (owner) => [["value", metricReply(metricOf(owner))]] };
    },
  };
}
