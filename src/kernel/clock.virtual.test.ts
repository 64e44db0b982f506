import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "./clock.virtual.ts";

const START_MS = 1_000_000;

test("C-25: a step of the wall clock moves tasks with a time, but not tasks with a delay", () => {
  const clock = new VirtualClock(START_MS);
  const ran: string[] = [];
  clock.at(START_MS + 10_000, () => ran.push(`at, after ${clock.monotonicMs()}`));
  clock.at(START_MS + 30_000, () => ran.push(`later, after ${clock.monotonicMs()}`));
  clock.after(10_000, () => ran.push(`after, after ${clock.monotonicMs()}`));

  clock.stepWallClock(20_000);
  clock.advance(0);
  assert.deepEqual(ran, ["at, after 0"]);
  clock.stepWallClock(-5_000);
  clock.advance(14_999);
  assert.deepEqual(ran, ["at, after 0", "after, after 10000"]);
  clock.advance(1);
  assert.deepEqual(ran, ["at, after 0", "after, after 10000", "later, after 15000"]);
});
