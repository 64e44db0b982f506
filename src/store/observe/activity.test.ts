import assert from "node:assert/strict";
import { test } from "node:test";
import { Activity } from "./activity.ts";

function ratesOf({ commands, input, output }: Activity): readonly number[] {
  return [commands.perSecond, input.perSecond, output.perSecond];
}

test("a rate is the average of the last 16 samples, each of at least 100 ms", () => {
  const activity = new Activity();
  activity.commandCount = 5_000;
  activity.sample(1_000);
  assert.deepEqual(ratesOf(activity), [0, 0, 0]);
  activity.commandCount += 16;
  activity.addInput(1_600);
  activity.addOutput(32);
  activity.sample(1_050);
  assert.deepEqual(ratesOf(activity), [0, 0, 0]);
  activity.sample(1_100);
  assert.deepEqual(ratesOf(activity), [10, 1_000, 20]);
  activity.commandCount += 16;
  activity.sample(1_300);
  assert.deepEqual(ratesOf(activity), [15, 1_000, 20]);
  for (let atMs = 1_400; atMs <= 2_700; atMs += 100) activity.sample(atMs);
  assert.deepEqual(ratesOf(activity), [15, 1_000, 20]);
  activity.sample(2_800);
  assert.deepEqual(ratesOf(activity), [5, 0, 0]);
  activity.sample(2_900);
  assert.deepEqual(ratesOf(activity), [0, 0, 0]);
});

test("a reset counts and measures from zero", () => {
  const activity = new Activity();
  activity.sample(0);
  activity.commandCount = 160;
  activity.addInput(100);
  activity.sample(100);
  activity.reset();
  assert.deepEqual([activity.commandCount, activity.inputBytes, activity.readCount], [0, 0, 0]);
  assert.deepEqual(ratesOf(activity), [0, 0, 0]);
  activity.commandCount += 16;
  activity.sample(200);
  assert.deepEqual(ratesOf(activity), [10, 0, 0]);
});

test("the share of expired keys follows the sweeps slowly, and sweeps that ran out of time are counted", () => {
  const activity = new Activity();
  const sweep = { removedCount: 100, visitedKeyCount: 400, staleKeyCount: 100, isCutShort: false };
  activity.addSweep(sweep, 2);
  assert.equal(activity.stalePercent.toFixed(4), "1.2500");
  activity.addSweep({ ...sweep, isCutShort: true }, 3);
  assert.equal(activity.stalePercent.toFixed(4), "2.4375");
  assert.deepEqual([activity.sweepMs, activity.cutSweepCount], [5, 1]);
  activity.addSweep({ removedCount: 0, visitedKeyCount: 0, staleKeyCount: 0, isCutShort: false }, 0);
  assert.equal(activity.stalePercent.toFixed(4), "2.3156");
});
