import assert from "node:assert/strict";
import { test } from "node:test";
import { TravelClock } from "./clock.travel.ts";
import { VirtualClock } from "./clock.virtual.ts";

const START_MS = 1_000_000;

function setUp(): { real: VirtualClock; clock: TravelClock; ran: string[]; note: (name: string) => () => void } {
  const real = new VirtualClock(START_MS);
  const clock = new TravelClock(real);
  const ran: string[] = [];
  return { real, clock, ran, note: (name) => () => ran.push(`${name}@${clock.nowMs() - START_MS}`) };
}

test("without jumps it runs as the real clock does", () => {
  const { real, clock, ran, note } = setUp();
  clock.after(10, note("after"));
  clock.at(START_MS + 5, note("at"));

  real.advance(7);
  assert.deepEqual(ran, ["at@5"]);
  real.advance(7);
  assert.deepEqual(ran, ["at@5", "after@10"]);
  assert.equal(clock.nowMs(), START_MS + 14);
});

test("a jump runs what falls due in order, each at its own time, and moves both times", async () => {
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

test("a task that asks for another within the jump sees it run in the same jump", async () => {
  const { clock, ran, note } = setUp();
  const tick = (): void => {
    note("tick")();
    clock.after(100, tick);
  };
  clock.after(100, tick);

  await clock.advance(350);

  assert.deepEqual(ran, ["tick@100", "tick@200", "tick@300"]);
});

test("housekeeping is run some thousand times in a long jump, the last time at its end, and then as before", async () => {
  const { real, clock } = setUp();
  const DAY_MS = 86_400_000;
  let count = 0;
  let lastMs = 0;
  const sweep = (): void => {
    count += 1;
    lastMs = clock.monotonicMs();
    clock.after(100, sweep);
  };
  clock.after(100, sweep);

  await clock.advance(30 * DAY_MS);
  assert.ok(count > 4_000 && count < 6_000, `${count} runs`);
  assert.ok(lastMs > 30 * DAY_MS - 200, `the last at ${lastMs}`);

  const before = count;
  real.advance(1_000);
  assert.ok(count - before >= 9, `${count - before} runs in a second after the jump`);
});

test("what a task starts and awaits goes on before the next task", async () => {
  const { clock, ran, note } = setUp();
  clock.after(1, () => {
    Promise.resolve().then(note("promise"));
  });
  clock.after(2, note("second"));

  await clock.advance(5);

  assert.deepEqual(ran, ["promise@1", "second@2"]);
});

test("real time goes on after a jump, and a cancelled task never runs", async () => {
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

test("C-25: a step of the wall clock moves tasks that name a time of day, not those that name a delay", () => {
  const { real, clock, ran, note } = setUp();
  clock.at(START_MS + 10_000, note("at"));
  clock.after(10_000, note("after"));

  real.stepWallClock(9_000);
  real.advance(1_000);
  assert.deepEqual(ran, ["at@10000"]);
  real.advance(9_000);
  assert.deepEqual(ran, ["at@10000", "after@19000"]);
});

test("time does not go back", () => {
  const { clock } = setUp();
  assert.throws(() => clock.advance(-1), /not below zero/);
  assert.throws(() => clock.advance(Number.NaN), /finite/);
});
