/**
 * Random JSON commands on a few keys: none breaks the store, the reported memory of
 * the documents is the actual memory, and journal and snapshot
 * rebuild the served state.
 *
 * Run again:  LARDER_JSON_SEED=… npm run t -- test/fuzz/json-documents.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../budget.ts";
import { jsonFamily } from "../differential/families/json.ts";
import { runFamily } from "../differential/run.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_JSON_SEED");

test("A-08, A-19: random JSON commands leave documents that journal and snapshot rebuild", async (context) => {
  const limit = allowanceOf("json-documents");
  const { commandCount, programCount, neverWell } = await runFamily({ family: jsonFamily, seed, limit });
  context.diagnostic(`SEED=${seed}: ${commandCount} commands in ${programCount} programs`);
  assert.ok(programCount < 20 || neverWell.size === 0, `SEED=${seed}: only errors from ${[...neverWell].join(" ")}`);
});
