/**
 * Followers of a copy in a model store, promoted at random moments.
 *
 * To repeat:  LARDER_FOLLOW_SEED=… npm run t -- test/simulation/replication/follow-lives.test.ts
 * A failure names the seed of its run; with that seed the run comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { throwViolation } from "../seeds.ts";
import { followBugs } from "./follow-bugs.ts";
import { describeFollowers, runFollowLives } from "./follow-runs.ts";

const seed = seedFrom("LARDER_FOLLOW_SEED");

test("a directory that follows can be promoted at any moment to a state that its server had, or says that it cannot", async (context) => {
  const summary = await runFollowLives({ seed, allowance: allowanceOf("follow-lives") });
  context.diagnostic(describeFollowers(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_FOLLOW_SEED=${failed} npm run t -- test/simulation/replication/follow-lives.test.ts`,
  );
});

test("the same seed runs the same followers", async () => {
  const options = { seed: 7, allowance: { count: 1 } };
  assert.deepEqual(await runFollowLives(options), await runFollowLives(options));
});

/** Lives after which a bug must be found. */
const LIVES_MAX = 3_000;

/** Seeds whose runs find the bugs soon. */
const seeds: Readonly<Record<string, number>> = {
  "does not make bytes durable before it counts them": 1,
  "keeps bytes of a former history after those of the new one": 98,
  "keeps segments that the source no longer has": 92,
  "keeps the snapshot of a former history": 131,
  "gives a snapshot its name before its bytes are durable": 600,
  "writes a part twice": 96,
};

for (const [what, bug] of Object.entries(followBugs)) {
  test(`finds a follower that ${what}`, async (context) => {
    const { violation, lives } = await runFollowLives({ seed: seeds[what] ?? 1, allowance: { count: LIVES_MAX }, bug });
    assert.ok(violation !== undefined, `not found in ${LIVES_MAX} lives`);
    context.diagnostic(`found in ${lives} lives, with the seed ${violation.seed}: ${violation.error.message}`);
  });
}
