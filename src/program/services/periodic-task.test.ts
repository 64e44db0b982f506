import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { PeriodicTask } from "./periodic-task.ts";

test("a task runs once per period, counted from the end of the last run", async () => {
  const clock = new VirtualClock();
  const ends: (() => void)[] = [];
  const task = new PeriodicTask({
    clock,
    periodMs: 10,
    run: () => new Promise((resolve) => ends.push(resolve)),
    onFault: (fault) => assert.fail(String(fault)),
  });
  task.start();
  await clock.advance(9);
  assert.equal(ends.length, 0);
  await clock.advance(1);
  assert.equal(ends.length, 1);
  await clock.advance(100);
  assert.equal(ends.length, 1);
  ends[0]?.();
  await nextTurn();
  await clock.advance(10);
  assert.equal(ends.length, 2);
});

test("stop waits for the current run, and no other follows", async () => {
  const clock = new VirtualClock();
  const steps: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const task = new PeriodicTask({
    clock,
    periodMs: 10,
    run: () => {
      steps.push("run");
      return promise;
    },
    onFault: (fault) => assert.fail(String(fault)),
  });
  task.start();
  await clock.advance(10);
  const stopped = task.stop().then(() => steps.push("stopped"));
  await clock.advance(100);
  assert.deepEqual(steps, ["run"]);
  resolve();
  await stopped;
  await clock.advance(100);
  assert.deepEqual(steps, ["run", "stopped"]);
});

test("reports a failed run, and no other follows", async () => {
  const clock = new VirtualClock();
  const faults: unknown[] = [];
  const task = new PeriodicTask({
    clock,
    periodMs: 10,
    run: () => Promise.reject(new Error("the disk is broken")),
    onFault: (fault) => faults.push(fault),
  });
  task.start();
  await clock.advance(100);
  assert.deepEqual(faults.map(String), ["Error: the disk is broken"]);
});
