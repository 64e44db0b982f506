/**
 * Search threads in this thread: their tasks run in small slices between turns of
 * the event loop, in an order that is drawn. So a task reads some rows before and
 * some after a change, and tasks end in any order.
 */
import type { Random } from "../../../src/kernel/random.ts";
import type { ReadFileNow } from "../../../src/vector/row-files/row-file-storage.ts";
import { SearchThreads } from "../../../src/vector/threads/search-threads.ts";
import { TaskRunner, type ToSearchThread } from "../../../src/vector/threads/task-runner.ts";

const THREADS = 2;

export interface SimulatedThreadsOptions {
  readonly random: Random;
  /** Multiplications of a slice. */
  readonly sliceWork: number;
  /** One slice in this many ends its thread; 0 for none. */
  readonly endsOneIn?: number;
  /** They read files by it; absent if they read none. */
  readonly readFile?: ReadFileNow | undefined;
}

/** They take every task that they have room for. */
export function simulatedThreads({
  random,
  sliceWork,
  endsOneIn = 0,
  readFile,
}: SimulatedThreadsOptions): SearchThreads {
  return new SearchThreads({
    count: THREADS,
    shortMs: 0,
    longMs: 0,
    start: (mailbox, events) => {
      const messages: ToSearchThread[] = [];
      const port = {
        receive: () => messages.shift(),
        report: () => events.woke(),
        nowMs: () => 0,
        ...(readFile !== undefined && { readFile }),
      };
      const runner = new TaskRunner(mailbox, port, sliceWork);
      let isRunning = true;
      const turn = (): void => {
        if (!isRunning) return;
        if (endsOneIn > 0 && random.below(endsOneIn) === 0) {
          isRunning = false;
          events.ended();
          return;
        }
        if (random.below(2) === 0) runner.step();
        setImmediate(turn);
      };
      setImmediate(turn);
      mailbox.setReady();
      return {
        post: (message) => void messages.push(message),
        close: async () => {
          isRunning = false;
        },
      };
    },
  });
}
