/** Nodes that follow changes of tenants (`revocation-world.ts`): fixed seeds, which failures name. */
import { test } from "node:test";
import { runRevocations } from "./revocation-world.ts";

const SEEDS = 150;

test("no engine accepts a replaced token after all nodes have reported its version, whatever ends first", async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    try {
      await runRevocations(seed);
    } catch (fault) {
      throw new Error(`seed ${seed}`, { cause: fault });
    }
  }
});
