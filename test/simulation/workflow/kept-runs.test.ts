/**
 * Runs whose entries are only in the journal, through simulated power cuts and
 * kills.
 *
 * To repeat:  LARDER_BODIES_SEED=… npm run t -- test/simulation/workflow/kept-runs.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Allowance, allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { throwViolation } from "../seeds.ts";
import { runKeptRuns } from "./kept-runs.ts";

const seed = seedFrom("LARDER_BODIES_SEED");

/** Share of the time for bodies on disk; bodies/kept-bodies.test.ts has the rest, where a crash costs less. */
const SHARE = 0.4;
const COUNT_SHARE = 0.02;

function share(allowance: Allowance): Allowance {
  return "count" in allowance
    ? { count: Math.ceil(allowance.count * COUNT_SHARE) }
    : { budgetMs: allowance.budgetMs * SHARE };
}

test("after a crash all promised entries of a run exist and every list is the same byte for byte", async (context) => {
  const { violation, ...counts } = await runKeptRuns({ seed, allowance: share(allowanceOf("kept-bodies")) });
  context.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
  throwViolation(
    violation,
    (failed) => `LARDER_BODIES_SEED=${failed} npm run t -- test/simulation/workflow/kept-runs.test.ts`,
  );
  for (const [name, count] of Object.entries(counts)) assert.ok(count > 0, `no ${name}`);
});

/** A check before the crash of this world reads entries that the crash takes back; the next life makes other ones. */
const TAKEN_BACK_SEED = 599654053;

test("entries that a crash takes back are not expected in the next life", async () => {
  const { violation } = await runKeptRuns({ seed: TAKEN_BACK_SEED, allowance: { count: 1 } });
  assert.equal(violation, undefined);
});
