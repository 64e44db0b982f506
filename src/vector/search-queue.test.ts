import assert from "node:assert/strict";
import { test } from "node:test";
import { type SearchJob, SearchQueue } from "./search-queue.ts";

/** A clock that moves when a job says so. */
function stoppedClock(): { monotonicMs(): number; passMs(ms: number): void } {
  let now = 0;
  return {
    monotonicMs: () => now,
    passMs: (ms) => {
      now += ms;
    },
  };
}

function jobOf(clock: { passMs(ms: number): void }, steps: number, log: string[] = [], name = ""): SearchJob {
  let left = steps;
  return {
    step() {
      clock.passMs(1);
      log.push(name);
      left -= 1;
      return left === 0;
    },
  };
}

test("a job that is done in this turn's time is done at once", () => {
  const clock = stoppedClock();

  assert.equal(new SearchQueue(clock).run(jobOf(clock, 8)), undefined);
});

test("a longer job goes on in later turns", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const done = queue.run(jobOf(clock, 30));

  assert.ok(done instanceof Promise);
  assert.equal(queue.waitingCount, 1);
  await done;
  assert.equal(queue.waitingCount, 0);
});

test("what a turn has is shared: a job that comes when it is used up waits for the next", () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);

  assert.equal(queue.run(jobOf(clock, 8)), undefined);
  assert.ok(queue.run(jobOf(clock, 1)) instanceof Promise);
});

test("jobs that wait take steps in rotation, and the short one is done first", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const log: string[] = [];
  const ends: string[] = [];
  const long = Promise.resolve(queue.run(jobOf(clock, 20, log, "long"))).then(() => ends.push("long"));
  const short = Promise.resolve(queue.run(jobOf(clock, 2, log, "short"))).then(() => ends.push("short"));
  await Promise.all([long, short]);

  assert.deepEqual(log.slice(8, 12), ["long", "short", "long", "short"]);
  assert.deepEqual(ends, ["short", "long"]);
});

test("a job that fails rejects its own promise and no other", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const good = queue.run(jobOf(clock, 20));
  const bad = queue.run({
    step() {
      throw new Error("broken");
    },
  });

  await assert.rejects(Promise.resolve(bad), /broken/);
  await good;
});

test("at most sixteen jobs are under way, and the others begin when one of them ends", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const begun = new Set<number>();
  let mostAtOnce = 0;
  const jobs = Array.from({ length: 40 }, (_, name) => {
    let left = 20;
    return queue.run({
      step() {
        clock.passMs(1);
        begun.add(name);
        mostAtOnce = Math.max(mostAtOnce, begun.size);
        left -= 1;
        if (left === 0) begun.delete(name);
        return left === 0;
      },
    });
  });
  await Promise.all(jobs);

  assert.equal(mostAtOnce, 16);
  assert.equal(queue.waitingCount, 0);
});
