/**
 * The vector engine and a plain index that only follows the specification give
 * the same answers to random programs, also after restarts, snapshots and crashes.
 * Indexes of some programs have their rows on disk, in files that a crash tears, that
 * are damaged, or that are older than the journal.
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

/** A fifth of the programs have rows in files. */
const ROWS_SEEN_AFTER = 60;
const seed = seedFrom("LARDER_VECTOR_PROGRAMS_SEED");

test("the engine answers every program like a plain index, with rows in memory and on disk", async (context) => {
  let fileBytes = 0;
  const summary = await runPrograms({
    seed,
    allowance: allowanceOf("vector-programs"),
    open: (program, clock) =>
      new EngineSubject(program, clock, {
        rowFiles: (bytes) => {
          fileBytes = Math.max(fileBytes, bytes);
        },
      }),
  });
  context.diagnostic(`SEED=${seed}: ${describeSummary(summary)}, ${fileBytes} bytes of row files at most`);
  assert.ok(fileBytes > 0 || summary.programs < ROWS_SEEN_AFTER, "rows were in files");
  assert.ok(summary.lateAnswers > 0 && summary.restarts > 0, "every kind of trouble must occur");
});

test("the same seed draws the same programs", () => {
  assert.deepEqual(drawProgram(7), drawProgram(7));
});
