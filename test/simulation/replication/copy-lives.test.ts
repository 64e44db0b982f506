/**
 * Copies of a data directory to a model store, with restores to random moments.
 *
 * To repeat:  LARDER_COPY_SEED=… npm run t -- test/simulation/replication/copy-lives.test.ts
 * A failure names the seed of its run; with that seed the run comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { throwViolation } from "../seeds.ts";
import { describeCopies, runCopyLives } from "./copy-runs.ts";

const seed = seedFrom("LARDER_COPY_SEED");

test("a restore to any kept moment has the state that the server had", async (context) => {
  const summary = await runCopyLives({ seed, allowance: allowanceOf("copy-lives") });
  context.diagnostic(describeCopies(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_COPY_SEED=${failed} npm run t -- test/simulation/replication/copy-lives.test.ts`,
  );
});

test("the same seed runs the same lives", async () => {
  const options = { seed: 7, allowance: { count: 1 } };
  assert.deepEqual(await runCopyLives(options), await runCopyLives(options));
});
