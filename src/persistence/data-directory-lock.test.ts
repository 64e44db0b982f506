import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { lockDataDirectory } from "./data-directory-lock.ts";
import { DirectoryInUse } from "./errors.ts";

const directory = mkdtempSync(join(tmpdir(), "larder-lock-"));
after(() => rmSync(directory, { recursive: true }));

const IN_USE = new DirectoryInUse(directory);

test("S-08: refuses a locked directory and names it; releasing the lock frees it", () => {
  const release = lockDataDirectory(directory);
  assert.throws(() => lockDataDirectory(directory), IN_USE);
  assert.equal(
    IN_USE.message,
    `The data directory ${directory} is in use by another larder. Stop that one or choose another directory`,
  );

  release();

  lockDataDirectory(directory)();
});

test("S-08: another process holds the lock until it ends, even by kill -9", async () => {
  const module = new URL("./data-directory-lock.ts", import.meta.url).href;
  const program = `
    const { lockDataDirectory } = await import(${JSON.stringify(module)});
    globalThis.release = lockDataDirectory(${JSON.stringify(directory)});
    console.log("locked");
    process.stdin.resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  assert.throws(() => lockDataDirectory(directory), IN_USE);

  child.kill("SIGKILL");
  await once(child, "exit");

  lockDataDirectory(directory)();
});

test("a lock needs no disk space: it only creates its empty file", () => {
  const release = lockDataDirectory(directory);
  assert.deepEqual(readdirSync(directory), ["lock.sqlite"]);
  assert.equal(statSync(join(directory, "lock.sqlite")).size, 0);
  release();
});

test("a missing directory is not reported as locked", () => {
  assert.throws(() => lockDataDirectory(join(directory, "none")), { code: "ERR_SQLITE_ERROR" });
});
