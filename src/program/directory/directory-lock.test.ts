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
  const told = { lines, lostCount: 0 };
  const log = createLog({
    level: "info",
    format: "json",
    clock: new VirtualClock(),
    sink: (line) => void lines.push(line),
  });
  const onLost = (): void => {
    told.lostCount += 1;
  };
  return { told, events: { log, onLost } };
}

test("S-08: deleting the lock file admits nobody while the holder lives", { skip: !isLinux }, async (context) => {
  const { directory, lockFile } = newDirectory(context);
  const lock = await lockDirectory(directory);
  rmSync(lockFile);

  await assert.rejects(lockDirectory(directory), new DirectoryInUse(directory));

  lock.release();
  (await lockDirectory(directory)).release();
});

test("S-08: the holder makes a lock file that was deleted again", async (context) => {
  const { directory, lockFile } = newDirectory(context);
  const clock = new VirtualClock();
  const lock = await lockDirectory(directory, { clock, hasSocket: false });
  context.after(() => lock.release());
  const { told, events } = watcher();
  lock.watch(events);
  clock.advance(1_000);
  assert.deepEqual(told.lines, []);

  rmSync(lockFile);
  clock.advance(1_000);

  assert.match(told.lines.join(), /the lock file of the data directory was removed or replaced, and was made again/);
  assert.throws(() => lockDataDirectory(directory), new DirectoryInUse(directory));
  clock.advance(10_000);
  assert.deepEqual([told.lines.length, told.lostCount], [1, 0]);
});

test("S-08: where no socket is held, the holder ends before a process reads that came after a deletion", async (context) => {
  const { directory, lockFile } = newDirectory(context);
  writeFileSync(join(directory, "format"), "x");
  writeFileSync(lockFile, "");
  const clock = new VirtualClock();
  const first = await lockDirectory(directory, { clock, hasSocket: false });
  context.after(() => first.release());
  const { told, events } = watcher();
  first.watch(events);

  rmSync(lockFile);
  let isLocked = false;
  const second = lockDirectory(directory, { clock, hasSocket: false }).then((lock) => {
    isLocked = true;
    return lock;
  });
  clock.advance(1_000);
  await nextTurn();
  assert.deepEqual([told.lostCount, isLocked], [1, false]);
  clock.advance(1_500);
  (await second).release();
  assert.equal(told.lostCount, 1);
});

test("a directory that was never used, or has its lock file, is not waited for", async (context) => {
  const { directory } = newDirectory(context);
  const clock = new VirtualClock();
  (await lockDirectory(directory, { clock })).release();
  writeFileSync(join(directory, "format"), "x");
  (await lockDirectory(directory, { clock })).release();
});

test("a lock that was given up is not looked after", async (context) => {
  const { directory, lockFile } = newDirectory(context);
  const clock = new VirtualClock();
  const lock = await lockDirectory(directory, { clock });
  const { told, events } = watcher();
  lock.watch(events);
  lock.release();

  rmSync(lockFile);
  clock.advance(5_000);

  assert.deepEqual([told.lines, told.lostCount], [[], 0]);
});
