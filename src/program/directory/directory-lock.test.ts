import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { lockDataDirectory } from "../../persistence/data-directory-lock.ts";
import { DirectoryInUse } from "../../persistence/errors.ts";
import { lockDirectory } from "./directory-lock.ts";

const isLinux = process.platform === "linux";

function newDirectory(context: TestContext): { directory: string; lockFile: string } {
  const directory = mkdtempSync(join(tmpdir(), "larder-lock-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return { directory, lockFile: join(directory, "lock.sqlite") };
}

function watcher() {
  const lines: string[] = [];
  const seen = { lines, lostCount: 0 };
  const log = createLog({
    level: "info",
    format: "json",
    clock: new VirtualClock(),
    sink: (line) => void lines.push(line),
  });
  const onLost = (): void => {
    seen.lostCount += 1;
  };
  return { seen, events: { log, onLost } };
}

test("S-08: deleting the lock file admits no other process while the holder runs", {
  skip: !isLinux,
}, async (context) => {
  const { directory, lockFile } = newDirectory(context);
  const lock = await lockDirectory(directory);
  rmSync(lockFile);

  await assert.rejects(lockDirectory(directory), new DirectoryInUse(directory));

  lock.release();
  (await lockDirectory(directory)).release();
});

test("S-08: the holder recreates a deleted lock file", async (context) => {
  const { directory, lockFile } = newDirectory(context);
  const clock = new VirtualClock();
  const lock = await lockDirectory(directory, { clock, hasSocket: false });
  context.after(() => lock.release());
  const { seen, events } = watcher();
  lock.watch(events);
  clock.advance(1_000);
  assert.deepEqual(seen.lines, []);

  rmSync(lockFile);
  clock.advance(1_000);

  assert.match(seen.lines.join(), /the lock file of the data directory was removed or replaced, and was created again/);
  assert.throws(() => lockDataDirectory(directory), new DirectoryInUse(directory));
  clock.advance(10_000);
  assert.deepEqual([seen.lines.length, seen.lostCount], [1, 0]);
});

test("S-08: without a socket, the holder ends before a process that came after a deletion reads", async (context) => {
  const { directory, lockFile } = newDirectory(context);
  writeFileSync(join(directory, "format"), "x");
  writeFileSync(lockFile, "");
  const clock = new VirtualClock();
  const first = await lockDirectory(directory, { clock, hasSocket: false });
  context.after(() => first.release());
  const { seen, events } = watcher();
  first.watch(events);

  rmSync(lockFile);
  let isLocked = false;
  const second = lockDirectory(directory, { clock, hasSocket: false }).then((lock) => {
    isLocked = true;
    return lock;
  });
  clock.advance(1_000);
  await nextTurn();
  assert.deepEqual([seen.lostCount, isLocked], [1, false]);
  clock.advance(1_500);
  (await second).release();
  assert.equal(seen.lostCount, 1);
});

test("does not wait for a directory that was never used, or that has its lock file", async (context) => {
  const { directory } = newDirectory(context);
  const clock = new VirtualClock();
  (await lockDirectory(directory, { clock })).release();
  writeFileSync(join(directory, "format"), "x");
  (await lockDirectory(directory, { clock })).release();
});

test("does not watch a released lock", async (context) => {
  const { directory, lockFile } = newDirectory(context);
  const clock = new VirtualClock();
  const lock = await lockDirectory(directory, { clock });
  const { seen, events } = watcher();
  lock.watch(events);
  lock.release();

  rmSync(lockFile);
  clock.advance(5_000);

  assert.deepEqual([seen.lines, seen.lostCount], [[], 0]);
});
