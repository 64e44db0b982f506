import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "./clock.virtual.ts";
import { afterPoll, nextTurn } from "./turn.ts";

test("input in the turn of a time limit still cancels it", async () => {
  const clock = new VirtualClock();
  const ended: string[] = [];
  afterPoll(clock, 100, () => ended.push("first"));
  const cancel = afterPoll(clock, 100, () => ended.push("second"));
  clock.advance(100);
  assert.deepEqual(ended, []);
  cancel();
  await nextTurn();
  assert.deepEqual(ended, ["first"]);
});

test("a cancelled limit does nothing", async () => {
  const clock = new VirtualClock();
  const ended: string[] = [];
  afterPoll(clock, 100, () => ended.push("ended"))();
  clock.advance(200);
  await nextTurn();
  assert.deepEqual(ended, []);
});
