/** kill -9 against the vector index: acknowledged vectors exist and are found (`kill-loop.ts`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../harness/seed.ts";
import { killAllowance } from "../ground.ts";
import { describeVectorKills, runVectorKills } from "./kill-loop.ts";

test("vectors acknowledged before a kill at any moment exist and are found", async (context) => {
  const seed = seedFrom("LARDER_VECTOR_KILL_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);

  const summary = await runVectorKills({
    allowance: killAllowance("vector-kill-rounds"),
    seed,
    print: (line) => context.diagnostic(line),
  });

  const text = describeVectorKills(summary);
  for (const line of text.split("\n")) context.diagnostic(line);
  assert.deepEqual(summary.damages, []);
  assert.ok(summary.acknowledged > 0, text);
});
