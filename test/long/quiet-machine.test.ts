import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isBusyWith, mark } from "./quiet-machine.ts";

test("a living process is seen by its mark, an ended one and this one are not", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "larder-marks-"));
  context.after(() => rmSync(folder, { recursive: true }));
  assert.equal(isBusyWith("bench", folder), false);
  const remove = mark("bench", folder);
  assert.equal(isBusyWith("bench", folder), false);
  writeFileSync(join(folder, `bench-${process.ppid}`), "");
  assert.equal(isBusyWith("bench", folder), true);
  assert.equal(isBusyWith("batch", folder), false);
  rmSync(join(folder, `bench-${process.ppid}`));
  // No process has the largest number that Linux gives, and one more.
  writeFileSync(join(folder, "bench-4194305"), "");
  assert.equal(isBusyWith("bench", folder), false);
  remove();
});

test("a folder without marks, or none at all, means that nobody is busy", () => {
  assert.equal(isBusyWith("batch", "/nonexistent/larder-marks"), false);
});
