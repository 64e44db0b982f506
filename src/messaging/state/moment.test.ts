/** Wall clock and passed time when the clock is set (threats C-25). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, type Call, MessagingHarness, request } from "../../../test/harness/messaging-harness.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 0, 1);

function offsets(calls: readonly Call[]): number[] {
  return calls.map(({ atMs }) => atMs - START_MS);
}

for (const [what, stepMs] of [
  ["back", -24 * HOUR_MS],
  ["forward", 24 * HOUR_MS],
] as const) {
  // C.clock
  test(`C-25: delays, retries and windows of rates do not change when the clock is set ${what}`, async () => {
    const harness = await MessagingHarness.start();
    harness.destination = ({ url }) => answered(url.endsWith("/retried") ? 500 : 200);
    const flowControl = { key: "k", rate: 1, periodMs: 10_000 };
    const passedMs: [string, number][] = [];
    await harness.publish("https://a.test/rate", { flowControl });
    await harness.publish("https://a.test/rate", { flowControl });
    await harness.publish("https://a.test/delayed", { delayMs: 5_000 });
    await harness.publish("https://a.test/retried", { retriesMax: 1, retryDelay: "7000" });
    await harness.advance(SECOND_MS);
    harness.calls.splice(0);
    harness.clock.stepWallClock(stepMs);
    for (let second = 2; second <= 12; second += 1) {
      await harness.advance(SECOND_MS);
      for (const { url } of harness.calls.splice(0)) passedMs.push([url.slice("https://a.test/".length), second]);
    }

    assert.deepEqual(passedMs, [
      ["delayed", 5],
      ["retried", 7],
      ["rate", 10],
    ]);
  });
}

// C.clock
test("C-25: a message for a time is called when the clock shows that time, also after it was set", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", { notBeforeMs: START_MS + HOUR_MS });
  await harness.advance(HOUR_MS - 1);
  harness.clock.stepWallClock(-HOUR_MS);
  await harness.advance(HOUR_MS);
  assert.deepEqual(offsets(harness.calls), []);
  await harness.advance(1);
  assert.deepEqual(offsets(harness.calls), [HOUR_MS]);

  await harness.publish("https://b.test/", { notBeforeMs: START_MS + 3 * HOUR_MS });
  harness.clock.stepWallClock(3 * HOUR_MS);
  await harness.settle();
  assert.equal(harness.calls.length, 2);
});

test("C-25: a restart computes the rest of a delay by the clock", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", { delayMs: 10_000 });
  harness.clock.stepWallClock(4_000);
  harness.restart();
  await harness.advance(5_999);
  assert.equal(harness.calls.length, 0);
  await harness.advance(1);
  assert.equal(harness.calls.length, 1);
});

test("C-25: a delay counts from its acceptance, even if the clock is set before the acceptance is on the disk", async () => {
  const harness = await MessagingHarness.start();
  harness.journal.hold();
  void harness.publish("https://a.test/", { delayMs: 5_000 });
  await harness.advance(SECOND_MS);
  harness.clock.stepWallClock(-24 * HOUR_MS);
  harness.journal.release();
  await harness.advance(3_999);
  assert.equal(harness.calls.length, 0);
  await harness.advance(1);
  assert.equal(harness.calls.length, 1);
});

test("C-25: the start of a flow-control window is shown by the current wall clock", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", { flowControl: { key: "k", rate: 1, periodMs: HOUR_MS } });
  await harness.settle();
  harness.clock.stepWallClock(-24 * HOUR_MS);
  await harness.advance(SECOND_MS);

  assert.equal(harness.user.flowKey("k")?.windowStartMs, START_MS - 24 * HOUR_MS);
});

/** Creates a schedule with a clock that is `aheadMs` ahead; returns the calls until an hour after the correction. */
async function firingsAfterWrongClock(
  cron: string,
  { aheadMs, isRestarted }: { aheadMs: number; isRestarted: boolean },
): Promise<number[]> {
  const harness = await MessagingHarness.start();
  harness.clock.stepWallClock(aheadMs);
  const { options } = request("");
  await harness.user.putSchedule({
    ...{ cron, destination: "https://a.test/", options, body: Buffer.from("tick"), callerIp: "" },
  });
  await harness.advance(10 * 60_000);
  harness.calls.splice(0);
  if (isRestarted) harness.stop();
  harness.clock.stepWallClock(-aheadMs);
  if (isRestarted) harness.restart();
  await harness.advance(HOUR_MS);
  return harness.calls.map(({ atMs }) => (atMs - START_MS) / 60_000);
}

test("C-25: schedules fire after a clock that was ahead is corrected, with or without a restart", async () => {
  const aheadMs = 40 * 24 * HOUR_MS;
  for (const isRestarted of [true, false]) {
    const everyQuarter = await firingsAfterWrongClock("*/15 * * * *", { aheadMs, isRestarted });
    assert.deepEqual(everyQuarter, [15, 30, 45, 60]);
    const [first = 0] = await firingsAfterWrongClock("@every 20m", { aheadMs, isRestarted });
    assert.ok(first >= 20 && first <= 31, `@every 20m fires after ${first} minutes`);
  }
});

test("C-25: a time that has fired does not fire again when the clock is set back by less than a period", async () => {
  for (const isRestarted of [true, false]) {
    // Created at 00:50, fired at 01:00, and the corrected clock shows 00:10.
    assert.deepEqual(await firingsAfterWrongClock("0 * * * *", { aheadMs: 50 * 60_000, isRestarted }), []);
  }
});

test("C-25: a message accepted by a clock that was far ahead suppresses no duplicate after the correction", async () => {
  const harness = await MessagingHarness.start({}, START_MS + 24 * HOUR_MS);
  const ahead = await harness.publish("https://a.test/", { deduplicationId: "d" });
  harness.clock.stepWallClock(-24 * HOUR_MS);
  assert.notEqual(await harness.publish("https://a.test/", { deduplicationId: "d" }), ahead);
});
