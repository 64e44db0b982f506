import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { type PacedBody, paceBodies } from "./body-pace.ts";

/** A body with the number of bytes received after each second; the last number stays. */
function bodyOf(receivedBySecond: readonly number[], isPaused = false) {
  const body = { receivedBytes: 0, isPaused, waitedMs: 0, refusedAtS: 0, tooSlow: () => {} };
  return {
    body,
    at(second: number): void {
      body.receivedBytes = receivedBySecond[second - 1] ?? body.receivedBytes;
    },
  };
}

/** The second in which a body is refused; 0 if it is not refused within a minute. */
function refusedAfter(receivedBySecond: readonly number[], isPaused = false): number {
  const clock = new VirtualClock();
  const { body, at } = bodyOf(receivedBySecond, isPaused);
  let second = 0;
  let refusedAt = 0;
  const bodies = (): PacedBody[] => (refusedAt === 0 ? [body] : []);
  body.tooSlow = () => {
    refusedAt = second;
  };
  const stop = paceBodies({ clock, bytesPerSecondMin: 100, graceMs: 10_000, bodies });
  for (second = 1; second <= 60; second += 1) {
    at(second);
    clock.advance(1_000);
  }
  stop();
  return refusedAt;
}

test("S-01: a body needs the least rate on average, after ten seconds of grace", () => {
  const steady = (bytesPerSecond: number) => Array.from({ length: 60 }, (_, index) => (index + 1) * bytesPerSecond);
  assert.equal(refusedAfter([]), 11);
  assert.equal(refusedAfter(steady(99)), 11);
  assert.equal(refusedAfter(steady(100)), 0);
  // Silence is allowed while the average holds.
  assert.equal(refusedAfter([2_000]), 21);
});

test("does not count the time of a paused body", () => {
  assert.equal(refusedAfter([], true), 0);
});

test("counts one second for a thread that was busy for half a minute: bytes may lie unread in the kernel", () => {
  const clock = new VirtualClock();
  const { body } = bodyOf([]);
  body.tooSlow = () => assert.fail("it was refused");
  // Late timers fire once.
  const after = clock.after.bind(clock);
  const late = {
    ...clock,
    monotonicMs: () => 0,
    nowMs: () => 0,
    threadCpuMs: () => 0,
    at: () => () => {},
    after,
    housekeep: after,
  };
  const stop = paceBodies({ clock: late, bytesPerSecondMin: 100, graceMs: 10_000, bodies: () => [body] });
  for (let tick = 0; tick < 10; tick += 1) clock.advance(1_000);
  assert.equal(body.waitedMs, 10_000);
  stop();
});
