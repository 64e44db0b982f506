/**
 * Simulated power cuts and kills at every boundary of a disk operation: what
 * was promised is found, and what is found is right.
 *
 * To repeat:  LARDER_CRASH_SEED=… npm run t -- test/simulation/store/crash-states.test.ts
 * A failure names the seed of its run; with that seed the run comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, drawsLess } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { describeSummary, runCrashStates } from "../crash/crash-states.ts";
import { EVERYSEC_LOSS_MS_MAX } from "../crash/life.ts";
import { throwViolation } from "../seeds.ts";
import { storeSubject } from "./store-subject.ts";

const seed = seedFrom("LARDER_CRASH_SEED");

test("recovery finds everything promised and nothing else", async (context) => {
  const summary = await runCrashStates({ subject: storeSubject, seed, allowance: allowanceOf("crash-states") });
  context.diagnostic(describeSummary(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_CRASH_SEED=${failed} npm run t -- test/simulation/store/crash-states.test.ts`,
  );
  assert.ok(summary.oldestLostMs <= EVERYSEC_LOSS_MS_MAX, `${summary.oldestLostMs} ms`);
  assert.ok(summary.states > 0 && summary.kills > 0 && summary.damaged > 0, "every kind of crash was tried");
});

test("the same seed tries the same crashes", {
  skip: drawsLess() && "npm test has this with vectors, which takes less time",
}, async () => {
  const options = { subject: storeSubject, seed: 7, allowance: { count: 1 } };
  assert.deepEqual(await runCrashStates(options), await runCrashStates(options));
});
