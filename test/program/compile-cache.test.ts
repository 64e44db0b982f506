/** The compile cache of V8 is code that the next start runs, so no other user may be able to write it. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { spawnProgram } from "./program-process.ts";

const OWNER_ONLY = 0o700;

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-compile-cache-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs a short command with this cache directory of its user. */
async function runWithCacheIn(home: string): Promise<void> {
  // An empty value counts as none.
  const { ended } = spawnProgram(["--version"], { env: { XDG_CACHE_HOME: home, NODE_COMPILE_CACHE: "" } });
  assert.deepEqual(await ended, { code: 0, signal: null });
}

test("the compile cache is in a directory that only its user can enter", async (context) => {
  const home = temporaryDirectory(context);

  await runWithCacheIn(home);

  assert.equal(statSync(join(home, "larder")).mode & 0o777, OWNER_ONLY);
  assert.equal(readdirSync(join(home, "larder")).length, 1);
});

test("a directory that others can write, or a file in its place, is no compile cache", async (context) => {
  const home = temporaryDirectory(context);
  mkdirSync(join(home, "larder"));
  chmodSync(join(home, "larder"), 0o777);
  await runWithCacheIn(home);
  assert.deepEqual(readdirSync(join(home, "larder")), []);

  const other = temporaryDirectory(context);
  writeFileSync(join(other, "larder"), "");
  await runWithCacheIn(other);
  assert.deepEqual(readdirSync(other), ["larder"]);
});
