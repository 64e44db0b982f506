/**
 * Filters over all records of a namespace: for any writes, deletes and
 * queries in any order and in steps of any size, the bits are those
 * of the filter on each record's metadata alone.
 *
 * Run again:  LARDER_VECTOR_METADATA_SEED=… npm run t -- test/fuzz/vector-metadata.test.ts
 */
import { test } from "node:test";
import fc from "fast-check";
import { systemClock } from "../../src/kernel/clock.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { metadataHistory, play } from "../simulation/vector/metadata-history.ts";

const seed = seedFrom("LARDER_VECTOR_METADATA_SEED");

test("B2.filter: the bits of a filter equal its result on each record", (context) => {
  let stepsDone = 0;
  const property = fc.property(metadataHistory, (history) => {
    stepsDone += play(history);
  });
  const allowance = allowanceOf("vector-metadata");
  const startMs = systemClock.monotonicMs();
  const limits =
    "count" in allowance
      ? { numRuns: allowance.count }
      : { numRuns: 1_000_000, interruptAfterTimeLimit: allowance.budgetMs, markInterruptAsFailure: false };
  fc.assert(property, { seed, ...limits });
  const tookMs = systemClock.monotonicMs() - startMs;
  context.diagnostic(`SEED=${seed}: ${stepsDone} answers compared in ${Math.round(tookMs)} ms`);
});
