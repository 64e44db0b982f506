import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "./clock.virtual.ts";
import { MemoryAccount, MemoryGuard } from "./memory-guard.ts";

/** A thread with the memory of its accounts, `besideBytes`, `garbageBytes` and that of `underWayBytes` of bodies. */
function startThread(bytesMax = 1_000) {
  const thread = { besideBytes: 0, garbageBytes: 0, liveBytes: 0, underWayBytes: 0 };
  const guard = new MemoryGuard({
    bytesMax,
    readBytes: () => thread.liveBytes + thread.besideBytes + thread.garbageBytes + 2 * thread.underWayBytes,
    readUnderWayBytes: () => thread.underWayBytes,
  });
  const open = (name: string) => {
    const account = guard.open(name);
    return {
      account,
      add(bytes: number): void {
        thread.liveBytes += bytes;
        account.add(bytes);
      },
    };
  };
  return { guard, thread, open };
}

test("A-16: at 70 % of the limit the largest tenant may not grow, and the others may", () => {
  const { open } = startThread();
  const [large, small] = [open("large"), open("small")];
  small.add(100);
  large.add(590);
  assert.deepEqual([large.account.mayGrow, small.account.mayGrow], [true, true]);
  large.add(10);
  assert.deepEqual([large.account.mayGrow, small.account.mayGrow], [false, true]);
});

test("the others may grow until the threshold falls to their size, and only small tenants at 80 %", () => {
  const { open } = startThread();
  const [large, small] = [open("large"), open("small")];
  large.add(600);
  small.add(140);
  assert.deepEqual([large.account.mayGrow, small.account.mayGrow], [false, true]);
  small.add(35);
  assert.deepEqual([small.account.mayGrow, small.account.isAtEnd], [false, false]);
  small.add(25);
  assert.deepEqual([small.account.mayGrow, small.account.isAtEnd], [false, true]);
});

test("a tenant below a 64th of the limit may grow to 90 %, and none beyond", () => {
  const { open } = startThread();
  const [large, other, small, next] = [open("large"), open("other"), open("small"), open("next")];
  large.add(600);
  small.add(15);
  next.add(16);
  other.add(258);
  assert.deepEqual(
    [large, other, small, next].map(({ account }) => account.mayGrow),
    [false, false, true, false],
  );
  assert.deepEqual(
    [large, other, small, next].map(({ account }) => account.isAtEnd),
    [true, true, false, true],
  );
  other.add(11);
  assert.deepEqual([small.account.mayGrow, small.account.isAtEnd], [false, true]);
});

test("many tenants of one size are not small, even if each has little", () => {
  const { guard, open } = startThread();
  const many = Array.from({ length: 100 }, (_, i) => open(`${i}`));
  for (const { add } of many) add(7);
  guard.look();
  assert.deepEqual([many[0]?.account.mayGrow, Math.round(guard.thresholdBytes)], [false, 7]);
  const fresh = open("fresh");
  for (let i = 0; i < 12; i += 1) open(`more:${i}`).add(7);
  guard.look();
  assert.deepEqual([many[0]?.account.mayGrow, fresh.account.mayGrow, guard.thresholdBytes], [false, true, 1.75]);
});

test("requests under way do not cause refusals, before and after a collection", () => {
  const { guard, thread, open } = startThread();
  const { account, add } = open("only");
  add(500);
  thread.underWayBytes = 150;
  guard.look();
  assert.deepEqual([account.mayGrow, guard.usedBytes], [true, 500]);
  for (let i = 0; i < 8; i += 1) guard.collected();
  thread.besideBytes = 50;
  for (let i = 0; i < 8; i += 1) guard.collected();
  assert.deepEqual([account.mayGrow, guard.usedBytes], [true, 550]);
});

test("a few collections with garbage stop large tenants, and 64 of them the small ones", () => {
  const { guard, thread, open } = startThread();
  const [large, small] = [open("large"), open("small")];
  guard.collected();
  large.add(600);
  small.add(10);
  thread.garbageBytes = 300;
  for (let i = 0; i < 8; i += 1) guard.collected();
  assert.deepEqual([large.account.mayGrow, small.account.mayGrow, guard.usedBytes], [false, true, 910]);
  for (let i = 8; i < 63; i += 1) guard.collected();
  assert.equal(small.account.mayGrow, true);
  guard.collected();
  assert.equal(small.account.mayGrow, false);
});

test("the largest tenant may grow again at once after it deletes data", () => {
  const { open } = startThread();
  const { account, add } = open("only");
  add(720);
  assert.equal(account.mayGrow, false);
  add(-100);
  assert.equal(account.mayGrow, true);
});

test("garbage does not cause refusals, but memory that a full collection leaves outside the accounts does", () => {
  const { guard, thread, open } = startThread();
  const { account, add } = open("only");
  guard.collected();
  add(300);
  thread.garbageBytes = 690;
  guard.look();
  assert.deepEqual([account.mayGrow, guard.usedBytes], [true, 300]);
  thread.garbageBytes = 0;
  thread.besideBytes = 450;
  for (let i = 0; i < 7; i += 1) guard.collected();
  assert.equal(account.mayGrow, true);
  guard.collected();
  assert.deepEqual([account.mayGrow, guard.usedBytes], [false, 750]);
});

test("accounts that count too much do not cause refusals while the thread has room", () => {
  const guard = new MemoryGuard({ bytesMax: 1_000, readBytes: () => 500 });
  const account = guard.open("only");
  account.add(900);
  assert.deepEqual([account.mayGrow, guard.usedBytes], [true, 500]);
});

test("memory outside of the heap is measured each second", async () => {
  const { guard, open } = startThread();
  const clock = new VirtualClock();
  const { account } = open("only");
  account.set(1);
  let outsideBytes = 0;
  guard.watchOutside(() => outsideBytes);
  const stop = guard.watch(clock);
  outsideBytes = 700;
  assert.equal(account.mayGrow, true);
  await clock.advance(1_000);
  assert.equal(account.mayGrow, false);
  stop();
});

test("a dropped tenant counts for nothing", () => {
  const { guard, thread, open } = startThread();
  const [gone, other] = [open("gone"), open("other")];
  other.add(100);
  gone.add(650);
  assert.equal(gone.account.mayGrow, false);
  thread.liveBytes -= 650;
  gone.account.close();
  assert.deepEqual([other.account.mayGrow, guard.usedBytes], [true, 100]);
});

test("an account without a guard may grow", () => {
  const account = new MemoryAccount("free");
  account.add(1e15);
  assert.deepEqual([account.mayGrow, account.isAtEnd], [true, false]);
});
