/**
 * Runs whose entries are only in the journal, through simulated power cuts and
 * kills.
 *
 * To repeat:  LARDER_BODIES_SEED=… npm run t -- test/simulation/workflow/kept-runs.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../../src/messaging/state/run.ts";
import { type Allowance, allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import type { KeptRunsBug } from "./kept-run-life.ts";
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
  if (violation !== undefined) {
    const again = `LARDER_BODIES_SEED=${violation.seed} npm run t -- test/simulation/workflow/kept-runs.test.ts`;
    throw new Error(`Again: ${again}`, { cause: violation.error });
  }
  for (const [name, count] of Object.entries(counts)) assert.ok(count > 0, `no ${name}`);
});

const bugs: Readonly<Record<string, KeptRunsBug>> = {
  "a segment with live entries is removed": { mayRemove: () => true },
  "entries are acknowledged and delivered before they are on the disk": { isHasty: true },
  "a recovery finds entries in another order": {
    beforeStart({ engine }) {
      for (const user of engine.state.users) for (const run of user.runs.values()) (run.entries as Entry[]).reverse();
    },
  },
};

for (const [name, bug] of Object.entries(bugs)) {
  test(`planted bug: ${name}`, async (context) => {
    const summary = await runKeptRuns({ seed: 1, allowance: { count: 60 }, bug });
    context.diagnostic(`found at crash ${summary.crashes}: ${summary.violation?.error.message}`);
    assert.ok(summary.violation !== undefined);
  });
}
