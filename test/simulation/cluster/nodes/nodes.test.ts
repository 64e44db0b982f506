/**
 * Nodes of a cluster over the model of the log store, in virtual time: processes,
 * clocks, connections and the store fail at random.
 *
 * To repeat:  LARDER_NODES_SEED=… npm run t -- test/simulation/cluster/nodes/nodes.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../../budget.ts";
import { seedFrom } from "../../../harness/seed.ts";
import { throwViolation } from "../../seeds.ts";
import { runClusters } from "./simulation.ts";

const seed = seedFrom("LARDER_NODES_SEED");

test("each shard has one owner that answers, and finds one after all faults", async (context) => {
  const { lives, totals, violation } = await runClusters({ seed, allowance: allowanceOf("cluster-nodes") });
  context.diagnostic(`seed ${seed}: ${lives} lives, ${JSON.stringify(totals)}`);
  throwViolation(
    violation,
    (failed) => `LARDER_NODES_SEED=${failed} npm run t -- test/simulation/cluster/nodes/nodes.test.ts`,
  );
  assert.ok(totals.deaths > 0 && totals.claims > 0, "nodes die and shards are claimed");
});
