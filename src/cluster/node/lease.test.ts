import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { HELD_MS, LEASE_MS } from "./bounds.ts";
import { Lease, ReplyLease } from "./lease.ts";

function leased(): { clock: VirtualClock; lease: Lease } {
  const clock = new VirtualClock();
  const lease = new Lease(clock);
  lease.extend(lease.begin());
  return { clock, lease };
}

test("a lease that was never renewed is not fresh", () => {
  assert.equal(new Lease(new VirtualClock()).isFresh(), false);
});

test("a lease lasts 5,400 ms from the moment before its renewal was sent", () => {
  const clock = new VirtualClock();
  const lease = new Lease(clock);
  const start = lease.begin();
  clock.advance(2_000);
  lease.extend(start);
  clock.advance(3_399);
  assert.equal(lease.isFresh(), true);
  clock.advance(1);
  assert.equal(lease.isFresh(), false);
});

test("a holder whose clock is 5 % slow ends before a watcher whose clock is 5 % fast", () => {
  assert.ok(HELD_MS / 0.95 < LEASE_MS / 1.05);
});

test("each of the two clocks can end a lease, and a wall clock that is set back cannot prolong it", () => {
  const { clock, lease } = leased();
  clock.stepWallClock(5_400);
  assert.equal(lease.isFresh(), false);
  clock.stepWallClock(-60_000);
  assert.equal(lease.isFresh(), true);
  clock.advance(5_400);
  assert.equal(lease.isFresh(), false);
});

test("readers of a lease that has run out wait for a renewal that is fresh when it returns", async () => {
  const { clock, lease } = leased();
  clock.advance(6_000);
  let count = 0;
  const waiting = lease.whenFresh().then(() => {
    count += 1;
  });
  const late = lease.begin();
  clock.advance(6_000);
  lease.extend(late);
  await Promise.resolve();
  assert.equal(count, 0);
  lease.extend(lease.begin());
  await waiting;
  assert.equal(count, 1);
});

test("a lease that has ended is not fresh", () => {
  const { lease } = leased();
  lease.end();
  assert.equal(lease.isFresh(), false);
});

test("another thread reads the lease from the shared memory, and is woken", async () => {
  const clock = new VirtualClock();
  const lease = new Lease(clock);
  const other = new Lease(clock, lease.memory);
  const waiting = other.whenFresh();
  lease.extend(lease.begin());
  assert.equal(other.isFresh(), true);
  other.wake();
  await waiting;
});

test("the rest of a lease is the shorter one of its two clocks, and 0 at the end", () => {
  const { clock, lease } = leased();
  assert.equal(lease.leftMs, 5_400);
  clock.advance(400);
  assert.equal(lease.leftMs, 5_000);
  clock.advance(6_000);
  assert.equal(lease.leftMs, 0);
  assert.equal(new Lease(clock).leftMs, 0);
});

test("the lease for replies ends with that of the node, and earlier when it is limited", () => {
  const { clock, lease } = leased();
  const replies = new ReplyLease(clock);
  lease.extendWith(replies);
  lease.extend(lease.begin());
  clock.advance(1_000);
  replies.limit();
  clock.advance(5_000);
  lease.extend(lease.begin());
  assert.deepEqual([lease.leftMs, replies.leftMs], [5_400, 400]);
  assert.equal(new Lease(clock, replies.memory).leftMs, 400);
  replies.lift();
  assert.equal(replies.leftMs, 5_400);
  lease.end();
  assert.deepEqual([lease.isFresh(), replies.isFresh()], [false, false]);
  replies.lift();
  assert.equal(replies.isFresh(), false);
});
