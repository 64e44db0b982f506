/** The crash-state tests find planted bugs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCrashStates } from "../crash/crash-states.ts";
import { storeSubject } from "../store/store-subject.ts";
import { noBug, plantedBugs } from "./store.ts";

/** A bug that needs more crash states than this has become hard to find. */
const STATES_MAX = 20_000;
/** More than the hardest bug needs. */
const STATES_WITHOUT_BUG = 600;
/** Some bugs need another life, not another moment of one. */
const STATES_PER_LIFE = 40;

for (const { name, plant } of plantedBugs) {
  test(`found: ${name}`, async (context) => {
    const summary = await runCrashStates({
      subject: storeSubject,
      statesPerLifeMax: STATES_PER_LIFE,
      seed: 1,
      allowance: { count: STATES_MAX },
      harness: plant,
    });
    context.diagnostic(`after ${summary.states} crash states: ${summary.violation?.error.message}`);
    assert.ok(summary.violation !== undefined, `nothing was found in ${summary.states} crash states`);
  });
}

test("nothing is found with the same wiring and no bug", async () => {
  const summary = await runCrashStates({
    subject: storeSubject,
    statesPerLifeMax: STATES_PER_LIFE,
    seed: 1,
    allowance: { count: STATES_WITHOUT_BUG },
    harness: noBug.plant,
  });
  assert.equal(summary.violation, undefined);
});
