/**
 * Clients of nodes that forward requests, while the shard moves, nodes are killed
 * and connections fail, in virtual time (`forwarding-life.ts`).
 *
 * To repeat:  LARDER_FORWARDING_SEED=… npm run t -- test/simulation/cluster/forwarding/forwarding.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../../budget.ts";
import { seedFrom } from "../../../harness/seed.ts";
import { throwViolation } from "../../seeds.ts";
import { runForwarding } from "./simulation.ts";

const seed = seedFrom("LARDER_FORWARDING_SEED");

test("no request is carried out twice or forwarded twice, and every answer is true, through any node", async (context) => {
  const { lives, totals, violation } = await runForwarding({ seed, allowance: allowanceOf("forwarding-lives") });
  context.diagnostic(`seed ${seed}: ${lives} lives, ${JSON.stringify(totals)}`);
  throwViolation(
    violation,
    (failed) => `LARDER_FORWARDING_SEED=${failed} npm run t -- test/simulation/cluster/forwarding/forwarding.test.ts`,
  );
  assert.ok(totals.answered > 0 && totals.lost > 0 && totals.refused > 0, "requests are answered, lost and refused");
});
