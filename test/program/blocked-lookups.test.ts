/** Writes need the thread pool while slow name look-ups block some of its threads permanently. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { LOOKUPS_MAX } from "../../src/edge/outbound/resolver.ts";
import { startProgram } from "./program-process.ts";

const blocker = fileURLToPath(new URL("blocked-threads.cjs", import.meta.url));
const lookupBlocker = fileURLToPath(new URL("blocking-lookups.cjs", import.meta.url));
const TOKEN = Buffer.from(JSON.stringify({ UserID: "main", Password: "blocked-lookups" })).toString("base64");

test("S-16: writes are synced and acknowledged while every look-up is blocked", {
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
  // The process cannot exit while threads of the pool are blocked.
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

test("S-16: accepts messages and delivers others while look-ups of destinations never finish", {
  timeout: 30_000,
}, async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const fifo = join(directory, "fifo");
  execFileSync("mkfifo", [fifo]);
  const arrived: string[] = [];
  const destination = createServer((request, response) => {
    arrived.push(request.url ?? "");
    response.end();
    if (arrived.length === 20) destination.emit("all");
  });
  destination.listen(0, "127.0.0.1");
  await once(destination, "listening");
  context.after(() => destination.close().closeAllConnections());
  const url = `http://127.0.0.1:${(destination.address() as AddressInfo).port}`;
  const program = await startProgram("serve", {
    args: ["--data-dir", join(directory, "data"), "--destinations", "any"],
    env: { NODE_OPTIONS: `--require ${lookupBlocker}`, BLOCKING_FIFO: fifo, LARDER_MESSAGING_TOKEN: TOKEN },
  });
  context.after(() => program.kill());
  const publish = async (to: string): Promise<number> => {
    const target = `${program.environment["QSTASH_URL"]}/v2/publish/${to}`;
    const { status } = await fetch(target, { method: "POST", headers: { authorization: `Bearer ${TOKEN}` } });
    return status;
  };
  const all = once(destination, "all");

  const blocked = await Promise.all(Array.from({ length: 20 }, (_, n) => publish(`http://n${n}.blocked.test/`)));
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => publish(`${url}/${n}`)));
  await all;

  assert.deepEqual(
    [...blocked, ...others],
    Array.from({ length: 40 }, () => 200),
  );
});
