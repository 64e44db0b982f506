/**
 * The store's figure of its memory against the growth of the process: within
 * 20 % for every type, small and large. Measured in a separate process, after
 * garbage collections.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Growth } from "../../../test/harness/memory-growth.ts";

const ERROR_SHARE_MAX = 0.2;
const program = fileURLToPath(new URL("../../../test/harness/memory-growth.ts", import.meta.url));

test("the store's own memory figure is within 20 % of the growth of the process", (context) => {
  // Collections of such small heaps take longer with several threads.
  const flags = ["--expose-gc", "--single-threaded-gc"];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, program], { encoding: "utf8" });
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
  assert.ok(growths.length > 15);
  assert.deepEqual(wrong, []);
});
