/** The tests that `npm run t` runs (tools/run-some-tests.ts). */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { testFilesOf } from "../tools/run-some-tests.ts";

const root = mkdtempSync(join(tmpdir(), "larder-"));
after(() => rmSync(root, { recursive: true }));

for (const path of [
  "src/store/acl/users.test.ts",
  "src/store/acl/users.ts",
  "src/store/database.test.ts",
  "src/store/empty/values.ts",
  "src/vector/graph/graph.test.ts",
  "test/fuzz/rdb-files.test.ts",
  "test/vector/programs.test.ts",
]) {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), "");
}

const targets: readonly (readonly [target: string, files: readonly string[]])[] = [
  ["test/fuzz/rdb-files.test.ts", ["test/fuzz/rdb-files.test.ts"]],
  ["src/store/acl/users.ts", ["src/store/acl/users.test.ts"]],
  ["store", ["src/store/acl/users.test.ts", "src/store/database.test.ts"]],
  ["store/acl", ["src/store/acl/users.test.ts"]],
  ["src/store/acl/", ["src/store/acl/users.test.ts"]],
  ["vector", ["src/vector/graph/graph.test.ts", "test/vector/programs.test.ts"]],
  ["fuzz", ["test/fuzz/rdb-files.test.ts"]],
  ["store/empty", []],
  ["src/store/empty/values.ts", []],
  ["nothing", []],
];

for (const [target, files] of targets) {
  test(`${target} has ${files.length} test files`, () => {
    assert.deepEqual(testFilesOf(target, root), files);
  });
}
