import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeDirectory } from "./make-directory.ts";

test("a directory is made with those above it, and left alone where it is", (context) => {
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

test("where the system makes no directory that is an error", () => {
  assert.throws(() => makeDirectory("/proc/larder/a", 0o700), { code: "ENOENT" });
});
