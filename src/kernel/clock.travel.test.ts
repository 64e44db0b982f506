import assert from "node:assert/strict";
import { test } from "node:test";
import { TravelClock, WAIT_MS_MAX } from "./clock.travel.ts";
import type { Clock } from "./clock.ts";
import { VirtualClock } from "./clock.virtual.ts";

const START_MS = 1_000_000;

function setUp(): { real: VirtualClock; clock: TravelClock; ran: string[]; note: (name: string) => () => void } {
  const real = new VirtualClock(START_MS);
  const clock = new TravelClock(real);
  const ran: string[] = [];
  return { real, clock, ran, note: (name) => () => ran.push(`${name}@${clock.nowMs() - START_MS}`) };
}

test("without jumps it runs like the real clock", () => {
  const { real, clock, ran, note } = setUp();
  clock.after(10, note("after"));
  clock.at(START_MS + 5, note("at"));

  real.advance(7);
  assert.deepEqual(ran, ["at@5"]);
  real.advance(7);
  assert.deepEqual(ran, ["at@5", "after@10"]);
  assert.equal(clock.nowMs(), START_MS + 14);
});

test("a jump runs due tasks in order, each at its own time, and moves both times", async () => {
  const { clock, ran, note } = setUp();
  clock.after(3_600_000, note("hour"));
  clock.at(START_MS + 60_000, note("minute"));
  clock.after(60_000, note("minute again"));
  clock.after(7_200_000, note("two hours"));

  await clock.advance(3_600_000);

  assert.deepEqual(ran, ["minute@60000", "minute again@60000", "hour@3600000"]);
  assert.equal(clock.nowMs(), START_MS + 3_600_000);
  assert.equal(clock.monotonicMs(), 3_600_000);
});

test("a task that a task creates within the jump runs in the same jump", async () => {
  const { clock, ran, note } = setUp();
  const tick = (): void => {
    note("tick")();
    clock.after(100, tick);
  };
  clock.after(100, tick);

  await clock.advance(350);

  assert.deepEqual(ran, ["tick@100", "tick@200", "tick@300"]);
});

test("housekeeping runs once in a jump, at its end, and by real time before and after", async () => {
  const { real, clock } = setUp();
  const TEN_YEARS_MS = 3_653 * 86_400_000;
  const ranAtMs: number[] = [];
  const sweep = (): void => {
    ranAtMs.push(clock.monotonicMs());
    clock.housekeep(100, sweep);
  };
  clock.housekeep(100, sweep);
  let eventCount = 0;
  clock.after(3_600_000, () => {
    eventCount = ranAtMs.length;
  });

  real.advance(250);
  assert.deepEqual(ranAtMs, [100, 200]);
  await clock.advance(TEN_YEARS_MS);
  assert.deepEqual(ranAtMs.slice(2), [TEN_YEARS_MS + 250]);
  assert.equal(eventCount, 2);
  real.advance(100);
  assert.deepEqual(ranAtMs.slice(3), [TEN_YEARS_MS + 350]);
});

test("cancelled housekeeping runs neither in a jump nor after it", async () => {
  const { real, clock, ran, note } = setUp();
  clock.housekeep(100, note("sweep"))();
  await clock.advance(1_000);
  real.advance(1_000);
  assert.deepEqual(ran, []);
});

test("asynchronous work of a task continues before the next task", async () => {
  const { clock, ran, note } = setUp();
  clock.after(1, () => {
    Promise.resolve().then(note("promise"));
  });
  clock.after(2, note("second"));

  await clock.advance(5);

  assert.deepEqual(ran, ["promise@1", "second@2"]);
});

test("real time continues after a jump, and a cancelled task never runs", async () => {
  const { real, clock, ran, note } = setUp();
  clock.after(1_000, note("later"));
  const cancel = clock.after(1_500, note("cancelled"));

  await clock.advance(600);
  cancel();
  assert.deepEqual(ran, []);

  real.advance(400);
  assert.deepEqual(ran, ["later@1000"]);
  real.advance(10_000);
  assert.deepEqual(ran, ["later@1000"]);
});

test("C-25: a step of the wall clock moves tasks with a time, but not tasks with a delay", () => {
  const { real, clock, ran, note } = setUp();
  clock.at(START_MS + 10_000, note("at"));
  clock.after(10_000, note("after"));

  real.stepWallClock(9_000);
  real.advance(1_000);
  assert.deepEqual(ran, ["at@10000"]);
  real.advance(9_000);
  assert.deepEqual(ran, ["at@10000", "after@19000"]);
});

test("a jump waits for calls that hold it before the next task, and at its end", async () => {
  const { real, clock, ran, note } = setUp();
  const releases: (() => void)[] = [];
  for (const [delayMs, name] of [
    [1_000, "first"],
    [2_000, "second"],
  ] as const) {
    clock.after(delayMs, () => {
      note(name)();
      releases.push(clock.hold());
    });
  }
  let isOver = false;
  const jump = clock.advance(5_000).then(() => {
    isOver = true;
  });

  await real.advanceAsync(0);
  await real.advanceAsync(100);
  assert.deepEqual(ran, ["first@1000"]);
  releases[0]?.();
  await real.advanceAsync(0);
  await real.advanceAsync(0);
  assert.deepEqual(ran, ["first@1000", "second@2000"]);
  assert.equal(isOver, false);
  releases[1]?.();
  await jump;
  assert.equal(clock.monotonicMs(), 5_000);
});

test("a jump waits for a call that never ends up to its limit, once", async () => {
  const { real, clock, ran, note } = setUp();
  clock.hold();
  clock.after(1_000, note("task"));
  const first = clock.advance(1_000);
  await real.advanceAsync(WAIT_MS_MAX - 1);
  assert.deepEqual(ran, []);
  await real.advanceAsync(1);
  await first;
  assert.deepEqual(ran, [`task@${WAIT_MS_MAX}`]);

  clock.after(1_000, note("other"));
  await clock.advance(1_000);
  assert.deepEqual(ran, [`task@${WAIT_MS_MAX}`, `other@${WAIT_MS_MAX + 2_000}`]);
});

test("a jump waits for watched work each time it is under way, up to its limit", async () => {
  const { real, clock, ran, note } = setUp();
  let underWay: PromiseWithResolvers<void> | undefined;
  clock.watch(() => underWay?.promise);
  const begin = (): void => {
    underWay = Promise.withResolvers();
  };
  clock.after(1_000, begin);
  clock.after(2_000, note("task"));
  const jump = clock.advance(3_000);
  await real.advanceAsync(0);
  await real.advanceAsync(0);
  assert.deepEqual(ran, []);
  const { resolve } = underWay ?? {};
  underWay = undefined;
  resolve?.();
  await jump;
  assert.deepEqual(ran, ["task@2000"]);

  begin();
  const late = clock.advance(1_000);
  await real.advanceAsync(0);
  await real.advanceAsync(WAIT_MS_MAX);
  await real.advanceAsync(WAIT_MS_MAX);
  await late;
});

test("times are whole milliseconds after jumps to tasks that are due at fractions of one", async () => {
  const real = new VirtualClock(START_MS);
  const finer: Clock = {
    nowMs: () => real.nowMs(),
    monotonicMs: () => real.monotonicMs() + 0.3982,
    threadCpuMs: () => real.threadCpuMs(),
    at: (atMs, task) => real.at(atMs, task),
    after: (delayMs, task) => real.after(delayMs, task),
    housekeep: (delayMs, task) => real.housekeep(delayMs, task),
    real,
  };
  const clock = new TravelClock(finer);
  const momentsMs: number[] = [];
  const task = (): void => void momentsMs.push(clock.nowMs() - START_MS);
  clock.after(10.7, task);
  clock.after(20.2, task);
  await clock.advance(50.5);

  assert.deepEqual(momentsMs, [11, 21]);
  assert.equal(clock.nowMs() - START_MS, 51);
});

test("a frozen clock moves only in jumps, and runs due tasks without one", async () => {
  const real = new VirtualClock(START_MS);
  const clock = new TravelClock(real, { isFrozen: true });
  const ran: string[] = [];
  const note = (name: string) => (): void => void ran.push(`${name}@${clock.nowMs() - START_MS}`);
  clock.after(10, note("after"));
  clock.at(START_MS + 5, note("at"));
  clock.at(START_MS - 1, note("past"));

  real.advance(3_600_000);
  assert.deepEqual(ran, ["past@0"]);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [START_MS, 0]);
  await clock.advance(7);
  assert.deepEqual(ran, ["past@0", "at@5"]);
  real.advance(3_600_000);
  await clock.advance(3);
  assert.deepEqual(ran, ["past@0", "at@5", "after@10"]);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [START_MS + 10, 10]);
});

test("a task that throws ends its jump, and the next jump continues", async () => {
  const { clock, ran, note } = setUp();
  clock.after(1, () => {
    throw new Error("a bug");
  });
  clock.after(2, note("task"));
  await assert.rejects(clock.advance(5), /a bug/);
  await clock.advance(5);
  assert.deepEqual(ran, ["task@2"]);
});

test("time does not go back", () => {
  const { clock } = setUp();
  assert.throws(() => clock.advance(-1), /0 or more/);
  assert.throws(() => clock.advance(Number.NaN), /finite/);
});
