/**
 * All kinds of hostile destinations at once, in any order, on shared
 * connections: every call ends once as its kind requires, and nothing stays open.
 *
 * Run again:  LARDER_HOSTILE_SEED=… npm run t -- test/fuzz/hostile-destinations.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf } from "../budget.ts";
import { hostileRun, matches } from "../harness/hostile-calls.ts";
import { type HostileKind, hostileKinds, startHostileServer } from "../harness/hostile-server.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_HOSTILE_SEED");

const kinds = hostileKinds.filter(({ meetsNextCall }) => meetsNextCall !== true);

/** Below the sockets of an origin, so that no call waits for one that hangs. */
const CALLS_AT_ONCE = 40;
const WAVES_PER_CLIENT = 10;

test("C-13, C-14: no destination leaks a slot, a socket or a second result", async (context) => {
  const server = await startHostileServer();
  context.after(() => server.stop());
  const random = seededRandom(seed);
  const allowance = allowanceOf("hostile-destinations");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count : Number.POSITIVE_INFINITY;
  let count = 0;

  while (count < countMax && systemClock.monotonicMs() < endMs) {
    const run = hostileRun(server);
    for (let wave = 0; wave < WAVES_PER_CLIENT; wave += 1) {
      const drawn = Array.from({ length: CALLS_AT_ONCE }, () => kindOf(random.below(kinds.length)));
      const results = await run.calls(drawn);
      for (const [index, kind] of drawn.entries()) {
        const result = results[index];
        const isRight = result !== undefined && matches(result, kind.outcome);
        assert.ok(isRight, `SEED=${seed} ${kind.name}: ${JSON.stringify(result)}`);
      }
      count += drawn.length;
    }
    await run.end();
  }
  context.diagnostic(`SEED=${seed}: ${count} calls of ${kinds.length} kinds`);
});

function kindOf(index: number): HostileKind {
  const kind = kinds[index];
  assert.ok(kind !== undefined);
  return kind;
}
