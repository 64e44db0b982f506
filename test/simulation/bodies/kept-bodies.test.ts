/**
 * Bodies stored only in the journal, segments kept for them, and a history that
 * follows, through simulated power cuts and kills.
 *
 * To repeat:  LARDER_BODIES_SEED=… npm run t -- test/simulation/bodies/kept-bodies.test.ts
 * A failure names the seed of its run; with that seed the run comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Allowance, allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { throwViolation } from "../seeds.ts";
import { describeBodies, runKeptBodies } from "./kept-bodies.ts";

/** Workflow runs with bodies have the rest of the time (workflow/kept-runs.test.ts). */
const TIME_SHARE = 0.6;

function share(allowance: Allowance): Allowance {
  return "count" in allowance ? allowance : { budgetMs: allowance.budgetMs * TIME_SHARE };
}

const seed = seedFrom("LARDER_BODIES_SEED");

test("after any crash every live body is read back, and the history gets just the durable frames", async (context) => {
  const summary = await runKeptBodies({ seed, allowance: share(allowanceOf("kept-bodies")) });
  context.diagnostic(describeBodies(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_BODIES_SEED=${failed} npm run t -- test/simulation/bodies/kept-bodies.test.ts`,
  );
  const { reads, followed, kept, removed, backups } = summary;
  for (const [name, count] of Object.entries({ reads, followed, kept, removed, backups })) {
    assert.ok(count > 0, `no ${name}`);
  }
});
