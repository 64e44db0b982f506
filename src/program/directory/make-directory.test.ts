import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeDirectory } from "./make-directory.ts";

test("creates a directory with its parents, and leaves an existing one alone", (context) => {
  const root = mkdtempSync(join(tmpdir(), "larder-directories-"));
  context.after(() => rmSync(root, { recursive: true }));
  const path = join(root, "a", "b", "c");
  makeDirectory(path, 0o700);
  makeDirectory(path, 0o755);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  writeFileSync(join(root, "file"), "");
  assert.throws(() => makeDirectory(join(root, "file"), 0o700), { code: "EEXIST" });
  assert.throws(() => makeDirectory(join(root, "file", "a"), 0o700), { code: "ENOTDIR" });
});

test("fails if the system cannot create the directory", () => {
  assert.throws(() => makeDirectory("/proc/larder/a", 0o700), { code: "ENOENT" });
});
