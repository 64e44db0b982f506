/**
 * Searches that take several turns, while records come, change and go between
 * them: each answer is that of a plain index at one moment.
 *
 * Run again:  LARDER_VECTOR_LARGE_SEED=… node --test test/simulation/vector-large-programs.test.ts
 * A failure names the seed of its program; with that one its program is the first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../../src/kernel/random.ts";
import { allowanceOf } from "../budget.ts";
import { drawLargeProgram } from "../vector/draw-large-programs.ts";
import { EngineSubject } from "../vector/engine-subject.ts";
import { describeSummary, runPrograms } from "../vector/run-programs.ts";

const seed = Number(process.env["LARDER_VECTOR_LARGE_SEED"] ?? systemRandom.below(2 ** 31));

test("an answer that took several turns is that of one moment", async (context) => {
  const summary = await runPrograms({
    seed,
    allowance: allowanceOf("vector-large-programs"),
    open: (program, clock) => new EngineSubject(program, clock),
    drawn: drawLargeProgram,
    again: `LARDER_VECTOR_LARGE_SEED=<seed> node --test test/simulation/vector-large-programs.test.ts`,
  });
  context.diagnostic(`SEED=${seed}: ${describeSummary(summary)}`);
  assert.ok(summary.lateAnswers > 0, "some answers came late");
});
