import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { Lease } from "./lease.ts";
import { Suspension } from "./suspension.ts";

function serving(): { clock: VirtualClock; lease: Lease; suspension: Suspension } {
  const clock = new VirtualClock();
  const lease = new Lease(clock);
  lease.extend(lease.begin());
  return { clock, lease, suspension: new Suspension(lease, clock) };
}

test("a shard is suspended while the lease has run out, and resumed by a renewal", async () => {
  const { clock, lease, suspension } = serving();
  assert.equal(suspension.reason, undefined);
  clock.advance(5_400);
  assert.equal(suspension.reason, "PostgreSQL does not answer");
  const resumed = suspension.whenResumed();
  lease.extend(lease.begin());
  await resumed;
  assert.equal(suspension.reason, undefined);
});

test("a shard is suspended while a commit takes longer than 2 s, whatever later ones do", async () => {
  const { clock, lease, suspension } = serving();
  const first = suspension.commitBegins();
  clock.advance(2_000);
  lease.extend(lease.begin());
  assert.equal(suspension.reason, undefined);
  clock.advance(1);
  assert.equal(suspension.reason, "PostgreSQL does not answer");
  suspension.commitBegins()();
  assert.equal(suspension.reason, "PostgreSQL does not answer");
  const resumed = suspension.whenResumed();
  first();
  await resumed;
  assert.equal(suspension.reason, undefined);
});

test("a shard whose commit and lease are both late waits for both", async () => {
  const { clock, lease, suspension } = serving();
  const committed = suspension.commitBegins();
  clock.advance(6_000);
  let isResumed = false;
  const resumed = suspension.whenResumed().then(() => {
    isResumed = true;
  });
  lease.extend(lease.begin());
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
  assert.equal(isResumed, false);
  committed();
  await resumed;
});

test("no call starts while a write is not committed for more than 1 s, although writes go on", () => {
  const { clock, lease, suspension } = serving();
  const first = suspension.written();
  clock.advance(600);
  const second = suspension.written();
  clock.advance(400);
  assert.deepEqual([suspension.mayCall, suspension.lagMs], [true, 1_000]);
  clock.advance(1);
  assert.deepEqual([suspension.mayCall, suspension.reason], [false, undefined]);
  first();
  assert.deepEqual([suspension.mayCall, suspension.lagMs], [true, 401]);
  second();
  assert.deepEqual([suspension.mayCall, suspension.lagMs], [true, 0]);
  clock.advance(10_000);
  assert.equal(suspension.mayCall, false, "without a lease no call starts");
  lease.extend(lease.begin());
  assert.equal(suspension.mayCall, true);
});
