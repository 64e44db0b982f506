import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { SnapshotState } from "./snapshot-state.ts";

function start() {
  const clock = new VirtualClock(1_000_000);
  let requestCount = 0;
  const state = new SnapshotState({
    clock,
    mayRequest: true,
    request: () => {
      requestCount += 1;
    },
    readBytes: () => ({ snapshotBytes: 1, journalBytes: 2 }),
  });
  return { clock, state, requests: () => requestCount };
}

test("a snapshot that main writes by itself is counted, and a failed one keeps the time of the last", async () => {
  const { clock, state } = start();
  const seen: unknown[] = [];
  state.follow({ began: async () => void seen.push("began"), ended: (isWritten) => seen.push(isWritten) });
  await clock.advance(5_000);
  assert.deepEqual([state.lastSavedAtMs, state.writtenCount, state.runningMs], [1_000_000, 0, undefined]);
  await state.began();
  await clock.advance(2_000);
  assert.equal(state.runningMs, 2_000);
  state.ended(true);
  assert.deepEqual([state.lastSavedAtMs, state.writtenCount, state.lastTookMs], [1_007_000, 1, 2_000]);
  await state.began();
  await clock.advance(1_000);
  state.ended(false);
  assert.deepEqual([state.lastSavedAtMs, state.writtenCount, state.hasFailed], [1_007_000, 1, true]);
  assert.deepEqual(seen, ["began", true, "began", false]);
});

test("a request resolves with the outcome of a snapshot that began after it", async () => {
  const { clock, state, requests } = start();
  const asked = state.request();
  assert.equal(requests(), 1);
  await clock.advance(500);
  assert.equal(state.runningMs, 500);
  await state.began();
  state.ended(true);
  assert.equal(await asked, true);
  assert.equal(state.runningMs, undefined);

  const failing = state.request();
  await state.began();
  state.ended(false);
  assert.equal(await failing, false);
});

test("requested snapshots rest for four times the duration of the last one", async () => {
  const { clock, state, requests } = start();
  await state.began();
  await clock.advance(1_000);
  state.ended(true);
  await clock.advance(1_500);
  void state.request();
  assert.equal(requests(), 0);
  assert.equal(state.runningMs, 0);
  await clock.advance(2_499);
  assert.equal(requests(), 0);
  await clock.advance(1);
  assert.equal(requests(), 1);
});

test("a request that waits is not made after the close", async () => {
  const { clock, state, requests } = start();
  await state.began();
  await clock.advance(1_000);
  state.ended(true);
  void state.request();
  state.close();
  await clock.advance(60_000);
  assert.equal(requests(), 0);
});
