/**
 * The vector engine and a plain index that only follows the specification give
 * the same answers to random programs, also after restarts, snapshots and crashes.
 *
 * To repeat:  LARDER_VECTOR_PROGRAMS_SEED=… npm run t -- test/simulation/vector/programs.test.ts
 * A failure names the seed of its program; with that seed the program comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { drawProgram } from "./programs/draw-programs.ts";
import { EngineSubject } from "./programs/engine-subject.ts";
import { describeSummary, runPrograms } from "./programs/run-programs.ts";

const seed = seedFrom("LARDER_VECTOR_PROGRAMS_SEED");

test("the engine answers every program like a plain index", async (context) => {
  const summary = await runPrograms({
    seed,
    allowance: allowanceOf("vector-programs"),
    open: (program, clock) => new EngineSubject(program, clock),
  });
  context.diagnostic(`SEED=${seed}: ${describeSummary(summary)}`);
  assert.ok(summary.lateAnswers > 0 && summary.restarts > 0, "every kind of trouble must occur");
});

test("the same seed draws the same programs", () => {
  assert.deepEqual(drawProgram(7), drawProgram(7));
});
