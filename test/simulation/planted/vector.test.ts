/** The crash-state tests of the vector index find planted bugs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCrashStates } from "../crash/crash-states.ts";
import { vectorSubject } from "../vector/vector-subject.ts";
import { noBug, plantedBugs } from "./vector.ts";

/** A bug that needs more crash states than this has become hard to find. */
const STATES_MAX = 2_500;
/** Most bugs need another life, not another moment of one. */
const STATES_PER_LIFE = 15;

for (const { name, harness } of plantedBugs) {
  test(`found: ${name}`, async (context) => {
    const summary = await runCrashStates({
      subject: vectorSubject,
      statesPerLifeMax: STATES_PER_LIFE,
      seed: 1,
      allowance: { count: STATES_MAX },
      harness: () => harness,
    });
    context.diagnostic(`after ${summary.states} crash states: ${summary.violation?.error.message}`);
    assert.ok(summary.violation !== undefined, `nothing was found in ${summary.states} crash states`);
  });
}

test("nothing is found with the same wiring and no bug", async () => {
  const summary = await runCrashStates({
    subject: vectorSubject,
    statesPerLifeMax: STATES_PER_LIFE,
    seed: 1,
    allowance: { count: 300 },
    harness: () => noBug.harness,
  });
  assert.equal(summary.violation, undefined);
});
