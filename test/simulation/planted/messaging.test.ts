/** The simulation of messaging finds planted bugs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runSimulation } from "../messaging/simulation.ts";
import { plantedBugs } from "./messaging.ts";

/** A bug that needs more runs than this has become hard to find. */
const RUNS_MAX = 400;

for (const { name, bug } of plantedBugs) {
  test(`found: ${name}`, async (context) => {
    const summary = await runSimulation({ seed: 1, allowance: { count: RUNS_MAX }, bug });
    context.diagnostic(`in run ${summary.runs + 1}: ${summary.violation?.error.message}`);
    assert.ok(summary.violation !== undefined, `nothing was found in ${summary.runs} runs`);
  });
}

test("nothing is found in the same runs without a bug", async () => {
  const summary = await runSimulation({ seed: 1, allowance: { count: 10 } });
  assert.equal(summary.violation, undefined);
});
