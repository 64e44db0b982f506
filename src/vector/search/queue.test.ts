import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type Tenant, Turns } from "../../kernel/turns.ts";
import { type SearchJob, SearchQueue } from "./queue.ts";

const tenant = (name = "main"): Tenant => new Turns({ clock: new VirtualClock() }).tenant("vector", name);

/** A clock that only jobs move. */
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

test("a job that fits into this turn's time is done at once", () => {
  const clock = stoppedClock();

  assert.equal(new SearchQueue(clock).run(jobOf(clock, 8), tenant()), undefined);
});

test("a longer job continues in later turns", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const main = tenant();
  const done = queue.run(jobOf(clock, 30), main);

  assert.ok(done instanceof Promise);
  assert.equal(queue.waitingCount, 1);
  await done;
  assert.equal(queue.waitingCount, 0);
});

test("jobs share the time of a turn: a job that comes when it is used up waits for the next turn", () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const main = tenant();

  assert.equal(queue.run(jobOf(clock, 8), main), undefined);
  assert.ok(queue.run(jobOf(clock, 1), main) instanceof Promise);
});

test("waiting jobs take steps in rotation, and the shorter one is done first", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const main = tenant();
  const log: string[] = [];
  const ends: string[] = [];
  const long = Promise.resolve(queue.run(jobOf(clock, 20, log, "long"), main)).then(() => ends.push("long"));
  const short = Promise.resolve(queue.run(jobOf(clock, 2, log, "short"), main)).then(() => ends.push("short"));
  await Promise.all([long, short]);

  assert.deepEqual(log.slice(8, 12), ["long", "short", "long", "short"]);
  assert.deepEqual(ends, ["short", "long"]);
});

test("a failing job rejects only its own promise", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const main = tenant();
  const good = queue.run(jobOf(clock, 20), main);
  const bad = queue.run(
    {
      step() {
        throw new Error("broken");
      },
    },
    main,
  );

  await assert.rejects(Promise.resolve(bad), /broken/);
  await good;
});

test("at most sixteen jobs run, and the others begin when one of them ends", async () => {
  const clock = stoppedClock();
  const queue = new SearchQueue(clock);
  const main = tenant();
  const begun = new Set<number>();
  let mostAtOnce = 0;
  const jobs = Array.from({ length: 40 }, (_, name) => {
    let left = 20;
    return queue.run(
      {
        step() {
          clock.passMs(1);
          begun.add(name);
          mostAtOnce = Math.max(mostAtOnce, begun.size);
          left -= 1;
          if (left === 0) begun.delete(name);
          return left === 0;
        },
      },
      main,
    );
  });
  await Promise.all(jobs);

  assert.equal(mostAtOnce, 16);
  assert.equal(queue.waitingCount, 0);
});

test("a search of a tenant begins although another tenant has sixteen running, and is done first", async () => {
  const clock = new VirtualClock();
  const queue = new SearchQueue(clock);
  const turns = new Turns({ clock });
  const ends: string[] = [];
  const search = async (name: string, steps: number): Promise<void> => {
    await queue.run(jobOf({ passMs: (ms) => clock.advance(ms) }, steps), turns.tenant("vector", name));
    ends.push(name);
  };
  await Promise.all([...Array.from({ length: 40 }, () => search("many", 20)), search("one", 2)]);
  assert.equal(ends.indexOf("one"), 0);
});
