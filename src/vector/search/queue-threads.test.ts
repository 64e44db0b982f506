/** Which searches of a queue go to other threads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type Tenant, Turns } from "../../kernel/turns.ts";
import type { SearchTask, TaskTaker } from "../threads/search-task.ts";
import type { SearchThreads } from "../threads/search-threads.ts";
import { type SearchJob, SearchQueue } from "./queue.ts";

const LONG_MS = 2;
const SHORT_MS = 0.06;
/** Long enough for a hop, not for one that is alone. */
const MEDIUM_MS = 0.5;

/** Threads that hold their tasks until they are ended. */
class HeldThreads
  implements Pick<SearchThreads, "shortMs" | "longMs" | "threadCount" | "tasksMax" | "hasIdle" | "hasRoom" | "take">
{
  readonly shortMs = SHORT_MS;
  readonly longMs = LONG_MS;
  readonly threadCount = 1;
  readonly tasksMax = 2;
  readonly held: ((threadMs: number) => void)[] = [];
  onWake: () => void = () => {};
  isIdle = true;

  get hasIdle(): boolean {
    return this.isIdle && this.held.length === 0;
  }

  get hasRoom(): boolean {
    return this.isIdle && this.held.length < this.tasksMax;
  }

  take(task: SearchTask, onBack: (threadMs: number) => void): boolean {
    this.held.push((threadMs) => {
      task.done(undefined);
      onBack(threadMs);
    });
    return true;
  }

  collect(): void {}

  sleep(): void {}

  /** Ends all tasks, each after this time of a thread. */
  endAll(threadMs = 0): void {
    for (const end of this.held.splice(0)) end(threadMs);
  }
}

/** A search with one task; it is done in the step after that, or at once if no thread takes the task. */
class OneTask implements SearchJob {
  readonly #costMs: number;
  isAway = false;
  isDone = false;

  constructor(costMs: number) {
    this.#costMs = costMs;
  }

  step(taker?: TaskTaker): boolean {
    const task = { kind: "walk", costMs: this.#costMs, done: () => {} } as unknown as SearchTask;
    if (!this.isAway && taker?.wants(this.#costMs) === true && taker.take(task)) {
      this.isAway = true;
      return false;
    }
    this.isDone = true;
    return true;
  }
}

function openQueue(): { queue: SearchQueue; threads: HeldThreads; main: Tenant } {
  const threads = new HeldThreads();
  const queue = new SearchQueue({ monotonicMs: () => 0 }, threads as unknown as SearchThreads);
  return { queue, threads, main: new Turns({ clock: new VirtualClock() }).tenant("vector", "main") };
}

test("a search that is alone runs at once, and a long one goes to another thread", async () => {
  const { queue, threads, main } = openQueue();
  assert.equal(queue.run(new OneTask(MEDIUM_MS), main), undefined);
  assert.equal(threads.held.length, 0);

  const long = new OneTask(LONG_MS);
  const done = queue.run(long, main);
  assert.ok(done instanceof Promise && long.isAway);
  threads.endAll();
  await done;
  assert.equal(queue.waitingCount, 0);
});

test("of two searches at the same time, one is away, and a third waits here while no thread has room", async () => {
  const { queue, threads, main } = openQueue();
  const long = queue.run(new OneTask(LONG_MS), main);
  threads.isIdle = false;
  const second = new OneTask(MEDIUM_MS);
  const done = queue.run(second, main);
  assert.ok(done instanceof Promise);
  await done;
  assert.ok(second.isDone && !second.isAway, "this thread did it");
  threads.isIdle = true;
  threads.endAll();
  await long;
});

test("while searches come at the same time, an idle thread gets the next one, but no short one", async () => {
  const { queue, threads, main } = openQueue();
  const first = queue.run(new OneTask(LONG_MS), main);
  threads.isIdle = false;
  await queue.run(new OneTask(MEDIUM_MS), main);
  threads.isIdle = true;
  threads.endAll();
  await first;
  assert.equal(queue.run(new OneTask(SHORT_MS / 2), main), undefined);
  const next = new OneTask(MEDIUM_MS);
  const done = queue.run(next, main);
  assert.ok(next.isAway);
  threads.endAll();
  await done;
});

test("a task that comes back lost is done here", async () => {
  const { queue, threads, main } = openQueue();
  const job = new OneTask(LONG_MS);
  const done = queue.run(job, main);
  threads.endAll();
  await done;
  assert.ok(job.isDone);
});

test("the time of another thread is charged to the tenant of the search, as a share of all threads", async () => {
  const { queue, threads, main } = openQueue();
  const { creditMs } = main;
  const done = queue.run(new OneTask(LONG_MS), main);
  assert.equal(main.usedMs, 0);
  threads.endAll(40);
  assert.equal(main.usedMs, 40);
  // That thread and this one.
  assert.equal(main.creditMs, creditMs - 20);
  await done;
});
