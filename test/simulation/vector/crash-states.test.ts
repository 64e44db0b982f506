/**
 * Simulated power cuts and kills at every boundary of a disk operation, on the
 * vector index: what was promised is found, and what is found is what plain
 * indexes hold after the same frames.
 *
 * To repeat:  LARDER_CRASH_SEED=… npm run t -- test/simulation/vector/crash-states.test.ts
 * A failure names the seed of its run; with that seed the run comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { describeSummary, runCrashStates } from "../crash/crash-states.ts";
import { EVERYSEC_LOSS_MS_MAX } from "../crash/life.ts";
import { throwViolation } from "../seeds.ts";
import { STATES_PER_LIFE, vectorSubject } from "./vector-subject.ts";

const seed = seedFrom("LARDER_CRASH_SEED");

test("recovery finds every promised vector and nothing else", async (context) => {
  const summary = await runCrashStates({
    subject: vectorSubject,
    statesPerLifeMax: STATES_PER_LIFE,
    seed,
    allowance: allowanceOf("vector-crash-states"),
  });
  context.diagnostic(describeSummary(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_CRASH_SEED=${failed} npm run t -- test/simulation/vector/crash-states.test.ts`,
  );
  assert.ok(summary.oldestLostMs <= EVERYSEC_LOSS_MS_MAX, `${summary.oldestLostMs} ms`);
  assert.ok(summary.states > 0 && summary.kills > 0 && summary.damaged > 0, "every kind of crash was tried");
});

test("the same seed tries the same crashes", async () => {
  const options = { subject: vectorSubject, statesPerLifeMax: STATES_PER_LIFE, seed: 7, allowance: { count: 1 } };
  assert.deepEqual(await runCrashStates(options), await runCrashStates(options));
});
