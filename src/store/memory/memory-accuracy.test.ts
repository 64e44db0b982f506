/**
 * What the store says that it takes beside what the process grows by: within
 * 20 % for every type, small and large. Measured in a process of its own, after
 * collections.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Growth } from "../../../test/harness/memory-growth.ts";

const ERROR_SHARE_MAX = 0.2;
const program = fileURLToPath(new URL("../../../test/harness/memory-growth.ts", import.meta.url));

test("what the store says that it takes is within 20 % of what the process grows by", (context) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--expose-gc", program], { encoding: "utf8" });
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
