import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { assertCanBeMade, makeDirectory } from "./make-directory.ts";

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

test("knows without making it whether a directory can be made", (context) => {
  const root = mkdtempSync(join(tmpdir(), "larder-directories-"));
  context.after(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, "file"), "");
  symlinkSync(join(root, "loop"), join(root, "loop"));
  symlinkSync(join(root, "nothing"), join(root, "dangling"));
  for (const path of [root, join(root, "a", "b")]) assertCanBeMade(path);
  assert.equal(existsSync(join(root, "a")), false);
  for (const [name, code] of [
    ["file", "ENOTDIR"],
    ["file/a", "ENOTDIR"],
    ["loop", "ELOOP"],
    ["loop/a", "ELOOP"],
    ["dangling", "ENOENT"],
    ["x".repeat(300), "ENAMETOOLONG"],
  ] as const)
    assert.throws(() => assertCanBeMade(join(root, name)), { code }, name);
});
