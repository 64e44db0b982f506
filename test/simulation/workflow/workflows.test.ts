/**
 * Random workflows on a model application, in virtual time, with faults and
 * restarts.
 *
 * To repeat:  LARDER_WORKFLOW_SEED=… npm run t -- test/simulation/workflow/workflows.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { throwViolation } from "../seeds.ts";
import { liveOnce } from "./life.ts";
import { runSimulation } from "./simulation.ts";

const seed = seedFrom("LARDER_WORKFLOW_SEED");

test("each run ends once, with each step's result used once, whatever happens", async (context) => {
  const { lives, totals, violation } = await runSimulation({ seed, allowance: allowanceOf("workflow-simulation") });
  context.diagnostic(`seed ${seed}: ${lives} lives, ${JSON.stringify(totals)}`);
  throwViolation(
    violation,
    (failed) => `LARDER_WORKFLOW_SEED=${failed} npm run t -- test/simulation/workflow/workflows.test.ts`,
  );
  assert.ok(totals.succeeded > 0 && totals.restarts > 0, "some runs succeed");
});

test("a call that waits again after a crash still waits after the next restart", async () => {
  // Seed 697370028: a crash took back the end of a call, and the next start repeated the call, but not at once.
  const { restarts } = await liveOnce(697_370_028);
  assert.equal(restarts, 7);
});
