/** The operators of aggregations: one row for each, with the types of fields that it takes. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { FieldType } from "../definition.ts";
import { planCardinality } from "./cardinality.ts";
import { planFacet } from "./facet.ts";
import { planDateHistogram, planHistogram } from "./histogram.ts";
import { extendedStatsMetrics, planCount, planExtendedStats, planStats, planValue, statsMetrics } from "./metrics.ts";
import type { AggregationParameters } from "./parameters.ts";
import { planPercentiles } from "./percentiles/percentiles.ts";
import type { Aggregation, Plan, PlannedField } from "./plan.ts";
import { planRange } from "./range.ts";
import { planTerms } from "./terms/terms.ts";

export interface Operator {
  readonly name: Bytes;
  readonly types: readonly FieldType[];
  /** Whether `$aggs` may be beside it. */
  readonly hasSubAggregations: boolean;
  /** Whether it may be inside `$aggs`. */
  readonly isSubAggregation: boolean;
  /** Names for `order` of `$terms`; the first one is meant by the alias alone. */
  readonly metrics: readonly Bytes[];
  /** Reads the parameters. Throws a `CommandError`. */
  readonly plan: (
    field: PlannedField,
    parameters: AggregationParameters,
    subAggregations: readonly Aggregation[],
  ) => Plan;
}

const numbers = ["U64", "I64", "F64"] as const;
const quantities = [...numbers, "DATE"] as const;
const values = [...quantities, "BOOL"] as const;

const single = { hasSubAggregations: false, isSubAggregation: true } as const;
const bucketed = { hasSubAggregations: true, isSubAggregation: true, metrics: [] } as const;
const value = { ...single, types: values, metrics: ["value"] } as const;

export const operators: readonly Operator[] = [
  { name: "$avg", ...value, plan: planValue("avg") },
  { name: "$sum", ...value, plan: planValue("sum") },
  { name: "$min", ...value, plan: planValue("min") },
  { name: "$max", ...value, plan: planValue("max") },
  { name: "$count", ...value, types: [...values, "KEYWORD"], plan: planCount },
  { name: "$cardinality", ...value, types: [...values, "KEYWORD"], plan: planCardinality },
  { name: "$stats", ...single, types: values, metrics: statsMetrics, plan: planStats },
  { name: "$extendedStats", ...single, types: quantities, metrics: extendedStatsMetrics, plan: planExtendedStats },
  { name: "$percentiles", ...single, types: quantities, metrics: [], plan: planPercentiles },
  { name: "$terms", ...bucketed, types: [...values, "KEYWORD"], plan: planTerms },
  { name: "$range", ...bucketed, types: quantities, plan: planRange },
  { name: "$histogram", ...bucketed, types: quantities, plan: planHistogram },
  { name: "$dateHistogram", ...bucketed, types: ["DATE"], plan: planDateHistogram },
  {
    name: "$facet",
    types: ["FACET"],
    hasSubAggregations: false,
    isSubAggregation: false,
    metrics: [],
    plan: planFacet,
  },
];
