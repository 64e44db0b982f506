/**
 * Searches on other threads, in an order that is drawn, while records change:
 * each answer is that of its moment.
 *
 * To repeat:  LARDER_VECTOR_THREADS_SEED=… npm run t -- test/simulation/vector/thread-searches.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { runThreadWorld } from "./thread-world.ts";

/** Some of so many worlds have rows in files. */
const WORLDS_MIN = 8;

const seed = seedFrom("LARDER_VECTOR_THREADS_SEED");

test("every answer of searches on threads is that of one moment", async (context) => {
  let answers = 0;
  let tasks = 0;
  let worlds = 0;
  let fileBytes = 0;
  for (const isSpent = spending(allowanceOf("vector-threads")); !isSpent(worlds); worlds += 1) {
    const { fault, answerCount, taskCount, fileBytes: ofWorld } = await runThreadWorld(seed + worlds);
    assert.equal(fault, undefined, `LARDER_VECTOR_THREADS_SEED=${seed + worlds}`);
    answers += answerCount;
    tasks += taskCount;
    fileBytes += ofWorld;
  }
  context.diagnostic(`SEED=${seed}: ${worlds} worlds, ${answers} answers, ${tasks} tasks of threads`);
  assert.ok(tasks > 0, "threads were given tasks");
  assert.ok(worlds < WORLDS_MIN || fileBytes > 0, "rows were in files");
});

// A search that was given room to read needed none any more, and the others that waited for room waited forever.
test("the world of seed 323205414, which once never ended, ends", async () => {
  assert.equal((await runThreadWorld(323_205_414)).fault, undefined);
});
