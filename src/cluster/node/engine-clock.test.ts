import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog, silentLog } from "../../kernel/log.ts";
import { clockFrom, usableFloorMs } from "./engine-clock.ts";

test("the wall clock stands at the floor until the clock of the machine has reached it", () => {
  const clock = new VirtualClock(1_000);
  const engine = clockFrom(1_500, clock);
  assert.equal(engine.nowMs(), 1_500);
  clock.advance(400);
  assert.equal(engine.nowMs(), 1_500);
  clock.advance(200);
  assert.equal(engine.nowMs(), 1_600);
  assert.equal(engine.monotonicMs(), 600);
});

test("a task that is due at the floor runs at once, and a later one at its time", () => {
  const clock = new VirtualClock(1_000);
  const engine = clockFrom(1_500, clock);
  const ran: string[] = [];
  engine.at(1_500, () => ran.push("due"));
  engine.at(1_600, () => ran.push("later"));
  clock.advance(0);
  assert.deepEqual(ran, ["due"]);
  clock.advance(599);
  assert.deepEqual(ran, ["due"]);
  clock.advance(1);
  assert.deepEqual(ran, ["due", "later"]);
});

test("a floor up to 5 s ahead is used", () => {
  assert.equal(usableFloorMs(6_000, { nowMs: 1_000, log: silentLog }), 6_000);
});

test("a floor that is further ahead is ignored with an error", () => {
  const lines: string[] = [];
  const clock = new VirtualClock(1_000);
  const log = createLog({ level: "error", format: "text", clock, sink: (line) => lines.push(line) });
  assert.equal(usableFloorMs(6_001, { nowMs: 1_000, log }), 0);
  assert.deepEqual(lines, [
    "1970-01-01T00:00:01.000Z error time of the former owner is too far ahead and is ignored aheadMs=5001\n",
  ]);
});
