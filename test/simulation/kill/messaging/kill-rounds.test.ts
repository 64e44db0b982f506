/** kill -9 against messaging: acknowledged messages are delivered or dead letters (`kill-loop.ts`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../harness/seed.ts";
import { killAllowance } from "../ground.ts";
import { describeMessageKills, runMessageKills } from "./kill-loop.ts";

test("C-27: messages acknowledged before a kill at any moment are delivered or dead letters", async (context) => {
  const seed = seedFrom("LARDER_MESSAGE_KILL_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);

  const summary = await runMessageKills({
    allowance: killAllowance("message-kill-rounds"),
    seed,
    print: (line) => context.diagnostic(line),
  });

  const text = describeMessageKills(summary);
  for (const line of text.split("\n")) context.diagnostic(line);
  assert.deepEqual(summary.damages, []);
  assert.ok(summary.delivered > 0, text);
});
