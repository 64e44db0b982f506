/** Real nodes, real PostgreSQL, real failovers: nothing acknowledged is lost (`failover-rounds.ts`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../budget.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { seedFrom } from "../harness/seed.ts";
import { describeFailovers, runFailovers } from "./failover-rounds.ts";

const skip = missingProgram("postgres") || missingProgram("patroni") || missingProgram("etcd");

test("three nodes on three members of PostgreSQL have everything that they acknowledged, whatever fails", {
  skip,
}, async (context) => {
  const seed = seedFrom("LARDER_FAILOVER_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);
  const allowance = allowanceOf("failovers");

  const summary = await runFailovers("count" in allowance ? allowance.count : 1, {
    seed,
    print: (line) => context.diagnostic(line),
  });

  for (const line of describeFailovers(summary).split("\n")) context.diagnostic(line);
  assert.deepEqual(summary.damages, []);
  assert.ok(summary.acknowledgedWrites > 0 && summary.acknowledgedMessages > 0);
});
