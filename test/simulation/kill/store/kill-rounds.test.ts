/** kill -9 against the real program: nothing acknowledged is lost (`kill-loop.ts`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../harness/seed.ts";
import { killAllowance } from "../ground.ts";
import { describeStoreKills, runStoreKills } from "./kill-loop.ts";

test("a server killed at any moment has everything that it acknowledged", async (context) => {
  const seed = seedFrom("LARDER_KILL_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);

  const summary = await runStoreKills({
    allowance: killAllowance("kill-rounds"),
    seed,
    print: (line) => context.diagnostic(line),
  });

  const text = describeStoreKills(summary, { seed });
  for (const line of text.split("\n")) context.diagnostic(line);
  assert.deepEqual(summary.damages, []);
  assert.ok(summary.acknowledged > 0, text);
});
