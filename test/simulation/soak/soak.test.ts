/** `npm run soak` for a while: in `npm test` for seconds, in `npm run proof` for five minutes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { excesses, type Sample } from "./samples.ts";
import { describeSoak, runSoak } from "./soak.ts";

const allowance = allowanceOf("soak");
/** A run of seconds has no time for a graph; the kill rounds of the vector index have one. */
const BASE_COUNT_OF_SECONDS = 1_000;

test("all areas together lose nothing in kills and do not grow over time", async (context) => {
  const seed = seedFrom("LARDER_SOAK_SEED");
  const size =
    "count" in allowance
      ? { durationMs: allowance.count * 60_000 }
      : { durationMs: allowance.budgetMs, baseCount: BASE_COUNT_OF_SECONDS };
  const summary = await runSoak({ ...size, seed, print: (line) => context.diagnostic(line) });
  context.diagnostic(`SEED=${seed}\n${describeSoak(summary)}`);
  assert.deepEqual(summary.damages, []);
  assert.ok(summary.messages.delivered > 0);
});

function samplesOf(heaps: readonly number[]): readonly Sample[] {
  return heaps.map((megabytes) => ({ heapBytes: megabytes * 2 ** 20, handles: 40, directoryBytes: 0 }));
}

test("finds a heap with a rising minimum, but not one that swings", () => {
  assert.deepEqual(excesses(samplesOf([90, 300, 100, 310, 90, 305, 100, 320, 95])), []);
  assert.deepEqual(excesses(samplesOf([100, 110, 120, 200, 210, 220, 400, 410, 420])), [
    "heap bytes grew from 209715200 to 419430400",
  ]);
});

test("finds handles and files that are never released", () => {
  const leaking = Array.from({ length: 9 }, (_, i) => ({
    heapBytes: 0,
    handles: 50 * 2 ** i,
    directoryBytes: 2 ** (24 + i),
  }));
  assert.deepEqual(excesses(leaking), [
    "handles grew from 1600 to 12800",
    "bytes of the data directory grew from 536870912 to 4294967296",
  ]);
});
