/**
 * The store's figure of its memory against the growth of the process: within
 * 20 % for every type, small and large. Measured in a separate process, after
 * garbage collections: for all kinds of content in a proof, for some elsewhere.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { allowanceOf } from "../../../test/budget.ts";
import type { Growth } from "../../../test/harness/memory-growth.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import { settledFlags } from "../../../test/harness/settled-memory.ts";

const ERROR_SHARE_MAX = 0.2;
const seed = seedFrom("LARDER_MEMORY_FIGURES_SEED");
const program = fileURLToPath(new URL("../../../test/harness/memory-growth.ts", import.meta.url));

test("the store's own memory figure is within 20 % of the growth of the process", (context) => {
  const words = [...settledFlags, program, `${seed}`];
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const growths = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Growth);
  const wrong: string[] = [];
  for (const { content, processBytes, storeBytes } of growths) {
    const line = `${content}: the process grew by ${processBytes} bytes, the store says ${storeBytes}`;
    context.diagnostic(line);
    if (Math.abs(storeBytes / processBytes - 1) > ERROR_SHARE_MAX) wrong.push(line);
  }
  const allowance = allowanceOf("memory-figures");
  if ("count" in allowance) assert.equal(growths.length, allowance.count);
  else assert.ok(growths.length > 0);
  assert.deepEqual(wrong, []);
});
