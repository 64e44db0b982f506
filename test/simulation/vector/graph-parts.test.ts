/**
 * Graphs in parts (`parts-world.ts`), and the files of their parts.
 *
 * To repeat:  LARDER_VECTOR_PARTS_SEED=… npm run t -- test/simulation/vector/graph-parts.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { runPartsWorld } from "./parts-world.ts";

const seed = seedFrom("LARDER_VECTOR_PARTS_SEED");

test("answers over a graph in parts are those of brute force, through changes, moves and starts", async (context) => {
  let answers = 0;
  let parts = 0;
  let worlds = 0;
  for (const isSpent = spending(allowanceOf("vector-parts")); !isSpent(worlds); worlds += 1) {
    const { fault, answerCount, partCount } = await runPartsWorld(seed + worlds);
    assert.equal(fault, undefined, `LARDER_VECTOR_PARTS_SEED=${seed + worlds}`);
    answers += answerCount;
    parts = Math.max(parts, partCount);
  }
  context.diagnostic(`SEED=${seed}: ${worlds} worlds, ${answers} answers, ${parts} parts at most`);
  assert.ok(parts > 1, "the graph had several parts");
});
