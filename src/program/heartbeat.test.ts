import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { Heartbeat } from "./heartbeat.ts";

function watch(): { clock: VirtualClock; heartbeat: Heartbeat; seen: string[] } {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const heartbeat = new Heartbeat({
    clock,
    onSilent: (isSilent) => seen.push(isSilent ? "silent" : "heard"),
    onDead: () => seen.push("dead"),
  });
  return { clock, heartbeat, seen };
}

test("a thread that gives signs of life is left alone", () => {
  const { clock, heartbeat, seen } = watch();
  for (let second = 0; second < 300; second += 1) {
    clock.advance(1_000);
    heartbeat.beat();
  }
  assert.deepEqual(seen, []);
});

test("silent for 5 s it is reported, for 60 s it is dead, once each", () => {
  const { clock, seen } = watch();
  clock.advance(4_999);
  assert.deepEqual(seen, []);
  clock.advance(1);
  assert.deepEqual(seen, ["silent"]);
  clock.advance(54_999);
  assert.deepEqual(seen, ["silent"]);
  clock.advance(1);
  assert.deepEqual(seen, ["silent", "dead"]);
  clock.advance(600_000);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("a thread that is heard again is no longer silent", () => {
  const { clock, heartbeat, seen } = watch();
  clock.advance(30_000);
  heartbeat.beat();
  clock.advance(59_000);
  assert.deepEqual(seen, ["silent", "heard", "silent"]);
});

test("after a stop nothing is reported", () => {
  const { clock, heartbeat, seen } = watch();
  heartbeat.stop();
  clock.advance(600_000);
  assert.deepEqual(seen, []);
});
