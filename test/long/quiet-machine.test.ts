import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isBusyWith, mark } from "./quiet-machine.ts";

test("sees the mark of another living process, not of an ended process or this one", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "larder-marks-"));
  context.after(() => rmSync(folder, { recursive: true }));
  assert.equal(isBusyWith("bench", folder), false);
  const remove = mark("bench", folder);
  assert.equal(isBusyWith("bench", folder), false);
  writeFileSync(join(folder, `bench-${process.ppid}`), "");
  assert.equal(isBusyWith("bench", folder), true);
  assert.equal(isBusyWith("batch", folder), false);
  rmSync(join(folder, `bench-${process.ppid}`));
  // One more than the largest process id of Linux, so no process has it.
  writeFileSync(join(folder, "bench-4194305"), "");
  assert.equal(isBusyWith("bench", folder), false);
  remove();
});

test("nothing is busy if the folder does not exist", () => {
  assert.equal(isBusyWith("batch", "/nonexistent/larder-marks"), false);
});
