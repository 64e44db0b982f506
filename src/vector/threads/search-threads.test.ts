import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphKernel, NO_NODE } from "../graph/graph-kernel.ts";
import type { Mailbox } from "./mailbox.ts";
import type { WalkTask } from "./search-task.ts";
import { SearchThreads } from "./search-threads.ts";
import { TaskRunner, type ToSearchThread } from "./task-runner.ts";

const DIMENSION = 16;
/** The virtual time of a slice. */
const SLICE_MS = 3;

interface Started {
  readonly mailbox: Mailbox;
  readonly runner: TaskRunner;
  isClosed: boolean;
}

/** Threads that do a slice when they are told to. */
function openThreads(): { threads: SearchThreads; started: Started[] } {
  const started: Started[] = [];
  let nowMs = 0;
  const threads = new SearchThreads({
    count: 1,
    start: (mailbox, events) => {
      const messages: ToSearchThread[] = [];
      const runner = new TaskRunner(mailbox, {
        receive: () => messages.shift(),
        report: () => events.woke(),
        nowMs: () => {
          nowMs += SLICE_MS;
          return nowMs;
        },
      });
      const thread: Started = { mailbox, runner, isClosed: false };
      started.push(thread);
      mailbox.setReady();
      return {
        post: (message) => void messages.push(message),
        close: async () => {
          thread.isClosed = true;
        },
      };
    },
  });
  return { threads, started };
}

/** A graph with three rows, and this much more memory. */
function graphOf(bytes = 0): GraphKernel {
  const kernel = GraphKernel.create(DIMENSION, "EUCLIDEAN") ?? assert.fail("there is memory");
  for (let record = 0; record < 3; record += 1) {
    kernel.putRow(new Float32Array(DIMENSION).fill(record));
    kernel.code.setLive(kernel.code.insert(record + 10, 0, 8, NO_NODE), 1);
  }
  if (bytes > 0) assert.notEqual(kernel.code.allocate(bytes), 0);
  return kernel;
}

function walkOf(kernel: GraphKernel, done: WalkTask["done"], accepts?: WalkTask["accepts"]): WalkTask {
  const query = new Float32Array(DIMENSION).fill(2);
  return { kind: "walk", costMs: 1, kernel, query, effort: 4, visitsMax: 100, accepts, done };
}

test("a thread walks, with the bits of a filter that were set when the task was sent", async () => {
  const { threads, started } = openThreads();
  assert.equal(threads.hasIdle, false);
  assert.equal(threads.hasIdle, true);
  const kernel = graphOf();
  const found: (readonly number[] | undefined)[] = [];
  const done: WalkTask["done"] = (result) => found.push(result && [...result.records]);
  const matches = Uint32Array.of((1 << 10) | (1 << 11));
  const backMs: number[] = [];
  const onBack = (threadMs: number): void => void backMs.push(threadMs);
  assert.ok(threads.take(walkOf(kernel, done), onBack));
  assert.ok(threads.take(walkOf(kernel, done, { matches, version: 1 }), onBack));
  matches[0] = 1 << 12;
  assert.ok(threads.take(walkOf(kernel, done, { matches, version: 2 }), onBack));
  while (started[0]?.runner.step() === true);
  threads.collect();
  assert.deepEqual(found, [[12, 11, 10], [11, 10], [12]]);
  assert.deepEqual(backMs, [3, 3, 3]);
  assert.equal(threads.taskCount, 0);
  assert.equal(threads.takenCount, 3);
  await threads.close();
});

test("a task for a graph that was retired comes back as lost", async () => {
  const { threads, started } = openThreads();
  assert.equal(threads.hasIdle, false);
  const kernel = graphOf();
  const results: unknown[] = [];
  assert.ok(
    threads.take(
      walkOf(kernel, (result) => results.push(result)),
      () => {},
    ),
  );
  kernel.retire();
  while (started[0]?.runner.step() === true);
  threads.collect();
  assert.deepEqual(results, [undefined]);
  await threads.close();
});

test("a thread that has let go of much memory takes no task any more, and another one replaces it", async () => {
  const { threads, started } = openThreads();
  assert.equal(threads.hasIdle, false);
  const kernel = graphOf(70_000_000);
  assert.ok(
    threads.take(
      walkOf(kernel, () => {}),
      () => {},
    ),
  );
  kernel.retire();
  assert.equal(threads.hasRoom, false);
  assert.equal(started[0]?.isClosed, false);
  while (started[0]?.runner.step() === true);
  threads.collect();
  assert.equal(started[0]?.isClosed, true);
  assert.equal(threads.hasIdle, false);
  assert.equal(threads.hasIdle, true);
  assert.equal(started.length, 2);
  await threads.close();
});

test("closing ends the tasks as lost, and no thread is started after that", async () => {
  const { threads } = openThreads();
  assert.equal(threads.hasIdle, false);
  const results: unknown[] = [];
  assert.ok(
    threads.take(
      walkOf(graphOf(), (result) => results.push(result)),
      () => {},
    ),
  );
  await threads.close();
  assert.deepEqual(results, [undefined]);
  assert.equal(threads.hasIdle, false);
  assert.equal(threads.threadCount, 0);
});
