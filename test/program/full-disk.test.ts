/**
 * A start on a disk that is really full. This file runs itself again in a
 * namespace with a small file system. If the system does not let users create
 * one, only the simulated disk covers this case (area.test.ts).
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

const timeout = 120_000;
/** The most requests that wait for a state. */
const LOOKS_MAX = 20_000;
const BLOCK = Buffer.alloc(4_096, 1);

/** The path of the small disk, in the run inside the namespace. */
const DISK = process.env["FULL_DISK_OF_TEST"];

if (DISK === undefined) {
  test("starts on a full disk", { timeout }, async (context) => {
    const place = mkdtempSync(join(tmpdir(), "larder-test-"));
    context.after(() => rmSync(place, { recursive: true, force: true }));
    if ((await withSmallDisk(place, ["true"])).code !== 0) return context.skip("no file system can be made here");
    const { code, output } = await withSmallDisk(place, [process.execPath, "--test", import.meta.filename]);
    assert.equal(code, 0, output);
    assert.match(output, /pass 2/);
  });
} else {
  testsOn(DISK);
}

function testsOn(disk: string): void {
  for (const { reserve, losesReserve } of [
    { reserve: "with a reserve", losesReserve: false },
    { reserve: "without a reserve", losesReserve: true },
  ]) {
    test(`S-04: a start on a full disk ${reserve} serves reads, and writes once space is free`, {
      timeout,
    }, async () => {
      const directory = join(disk, losesReserve ? "without" : "with");
      const args = ["--data-dir", directory];
      await using first = await startProgram("serve", { args: [...args, ...oneThread] });
      const { storeToken } = first;
      assert.equal((await storeOf(first, storeToken)("/set/k/v")).status, 200);
      await first.stop();
      if (losesReserve)
        for (const area of ["store", "vector", "messaging"]) truncateSync(join(directory, area, "reserve"));
      fill(join(disk, "filler"));

      await using full = await startProgram("serve", { args });
      const ask = storeOf(full, storeToken);
      assert.deepEqual(await ask("/get/k"), { status: 200, text: '{"result":"v"}' });
      // The last write that is accepted may fit in part, and then waits for space.
      let isRefusing = false;
      const writing = until(ask, ({ status }) => status === 400 || isRefusing);
      const metrics = await untilRefusing(full);
      isRefusing = true;
      assert.match(metrics, /^larder_journal_refusing\{area="store"\} 1$/m);
      const refused = '{"error":"MISCONF Errors writing to the AOF file: No space left on device"}';
      assert.deepEqual(await ask("/set/other/x"), { status: 400, text: refused });
      assert.deepEqual(await ask("/get/k"), { status: 200, text: '{"result":"v"}' });

      rmSync(join(disk, "filler"));
      assert.equal(await until(ask, ({ status }) => status === 200), '{"result":"OK"}');
      await writing;
    });
  }
}

/** Runs a command with a file system of 24 MB mounted at `place`. */
async function withSmallDisk(place: string, words: readonly string[]): Promise<{ code: number; output: string }> {
  if (process.platform !== "linux") return { code: 1, output: "" };
  const mount = 'mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"';
  const { NODE_TEST_CONTEXT: _context, ...environment } = process.env;
  const child = spawn("unshare", ["-rm", "sh", "-c", mount, place, ...words], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...environment, FULL_DISK_OF_TEST: place },
  });
  const ended = once(child, "close")
    .then(([code]) => Number(code ?? 1))
    .catch(() => 1);
  const output = await text(child.stdout).catch(() => "");
  return { code: await ended, output };
}

/** Uses all free space, down to the last page. */
function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (;;) writeSync(file, BLOCK);
  } catch (fault) {
    assert.equal((fault as NodeJS.ErrnoException).code, "ENOSPC");
  } finally {
    closeSync(file);
  }
}

function storeOf({ storeUrl }: RunningProgram, token: string) {
  return async (path: string): Promise<{ status: number; text: string }> => {
    const reply = await fetch(`${storeUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    return { status: reply.status, text: await reply.text() };
  };
}

/** The metrics of a server whose store refuses writes. */
async function untilRefusing({ adminUrl }: RunningProgram): Promise<string> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    if (/^larder_journal_refusing\{area="store"\} 1$/m.test(metrics)) return metrics;
  }
  return assert.fail("no write was refused");
}

/** Writes other keys until `isExpected` accepts an answer. */
async function until(
  ask: (path: string) => Promise<{ status: number; text: string }>,
  isExpected: (answer: { status: number }) => boolean,
): Promise<string> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const answer = await ask(`/set/other/${"x".repeat(2_000)}`);
    if (isExpected(answer)) return answer.text;
  }
  return assert.fail("the answer never came");
}
