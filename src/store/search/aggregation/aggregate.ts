/** Computes aggregations, and makes the reply of SEARCH.AGGREGATE. */
import { assert } from "../../../kernel/assert.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import { map, type Reply } from "../../reply/reply.ts";
import { bucketsTooMany } from "../aggregation-errors.ts";
import type { Aggregate } from "./contract.ts";
import { PlannedAggregations } from "./parse.ts";
import { BUCKETS_MAX, type Group, type Run, resultOf } from "./plan.ts";

export const aggregate: Aggregate = function* (index, documents, { aggregations, spend }) {
  assert(aggregations instanceof PlannedAggregations, "parseAggregations made the aggregations");
  const group: Group = { documents, owners: undefined, ownerCount: 1, emptyOwner: undefined };
  const run: Run = { index, spend, countBuckets: bucketCounter() };
  const results: [Bytes, Reply][] = [];
  for (const { alias, plan } of aggregations.aggregations) {
    const outcome = yield* plan.run(group, run);
    results.push([alias, yield* resultOf(outcome, 0)]);
  }
  return map(results);
};

function bucketCounter(): Run["countBuckets"] {
  let bucketCount = 0;
  return (count) => {
    bucketCount += count;
    if (bucketCount > BUCKETS_MAX) throw bucketsTooMany(BUCKETS_MAX);
  };
}
