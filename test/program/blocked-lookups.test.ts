/** Threads of the pool that never come back, as slow name look-ups make them, and the writes that need the pool. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { LOOKUPS_MAX } from "../../src/edge/resolver.ts";
import { startProgram } from "./program-process.ts";

const blocker = fileURLToPath(new URL("blocked-threads.cjs", import.meta.url));

test("S-16: with every look-up blocked, writes are still synced and acknowledged", {
  timeout: 30_000,
}, async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const fifo = join(directory, "fifo");
  execFileSync("mkfifo", [fifo]);
  const program = await startProgram("serve", {
    args: ["--data-dir", join(directory, "data"), "--fsync", "always"],
    env: { NODE_OPTIONS: `--require ${blocker}`, BLOCKED_THREADS: String(LOOKUPS_MAX), BLOCKING_FIFO: fifo },
  });
  // Threads that are blocked for good keep the process from ending by itself.
  context.after(() => program.kill());

  const replies = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const reply = await fetch(`${program.storeUrl}/incr/counter`, {
        headers: { authorization: `Bearer ${program.storeToken}` },
      });
      return reply.status;
    }),
  );

  assert.deepEqual(
    replies,
    Array.from({ length: 50 }, () => 200),
  );
});
