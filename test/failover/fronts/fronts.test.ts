/** Clients of any node, of all areas, while nodes, links and owners change (`front-rounds.ts`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { missingProgram } from "../../harness/required-programs.ts";
import { seedFrom } from "../../harness/seed.ts";
import { describeFronts, runFronts } from "./front-rounds.ts";

const skip = missingProgram("postgres");

test("clients of any node see one store, and lose no message and no record, whatever fails", {
  skip,
}, async (context) => {
  const seed = seedFrom("LARDER_FRONTS_SEED", 1_000_000);
  context.diagnostic(`SEED=${seed}`);
  const allowance = allowanceOf("fronts");

  const summary = await runFronts("count" in allowance ? allowance.count : 1, { seed });

  for (const line of describeFronts(summary).split("\n")) context.diagnostic(line);
  assert.deepEqual(summary.damages, []);
  assert.ok(summary.operations > 0 && summary.messages > 0 && summary.records > 0);
});
