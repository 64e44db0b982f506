/**
 * Searches that take several turns, while records are added, changed and
 * removed between them: each answer is that of a plain index at one moment. A
 * program takes seconds, so `npm test` draws one of the two kinds.
 *
 * To repeat:  LARDER_VECTOR_LARGE_SEED=… npm run t -- test/simulation/vector/large-programs.test.ts
 * A failure names the seed of its program; with that seed the program comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { allowanceOf } from "../../budget.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { seedFrom } from "../../harness/seed.ts";
import { drawGraphProgram, drawLargeProgram } from "./programs/draw-large-programs.ts";
import { EngineSubject } from "./programs/engine-subject.ts";
import { describeSummary, runPrograms } from "./programs/run-programs.ts";

/** Share of the best hits over all queries; the benchmark has the usual share. */
const RECALL_MIN = 0.9;
/** If a program changes so much, or queries so narrowly, that all its searches are exact, another is drawn. */
const GRAPH_PROGRAMS_MAX = 10;
const seed = seedFrom("LARDER_VECTOR_LARGE_SEED");
const kinds = drawnPart(["scans", "graphs"], { oneIn: 2, random: seededRandom(seed) });
const skipOf = (kind: string): string | false => !kinds.includes(kind) && "npm test draws one of the two kinds";

test("an answer over several turns is that of one moment", { skip: skipOf("scans") }, async (context) => {
  const summary = await runPrograms({
    seed,
    allowance: allowanceOf("vector-large-programs"),
    open: (program, clock) => new EngineSubject(program, clock),
    drawn: drawLargeProgram,
    again: "LARDER_VECTOR_LARGE_SEED=<seed> npm run t -- test/simulation/vector/large-programs.test.ts",
  });
  context.diagnostic(`SEED=${seed}: ${describeSummary(summary)}`);
  assert.ok(summary.lateAnswers > 0, "some answers came late");
});

test("every answer over a graph is right and misses hardly any of the best hits", {
  skip: skipOf("graphs"),
}, async (context) => {
  let graphSearches = 0;
  for (let first = seed, programs = 0; graphSearches === 0 && programs < GRAPH_PROGRAMS_MAX; ) {
    const summary = await runPrograms({
      seed: first,
      allowance: allowanceOf("vector-graph-programs"),
      open: (program, clock) =>
        new EngineSubject(program, clock, {
          graphSearch: () => {
            graphSearches += 1;
          },
        }),
      drawn: drawGraphProgram,
      again: "LARDER_VECTOR_LARGE_SEED=<seed> npm run t -- test/simulation/vector/large-programs.test.ts",
    });
    context.diagnostic(`SEED=${first}: ${describeSummary(summary)}, ${graphSearches} searches of graphs`);
    assert.ok(summary.builtRows > 0, "a graph was built");
    assert.ok(summary.recall.found >= RECALL_MIN * summary.recall.wanted, JSON.stringify(summary.recall));
    first += summary.programs;
    programs += summary.programs;
  }
  assert.ok(graphSearches > 0, "the graph was searched");
});
