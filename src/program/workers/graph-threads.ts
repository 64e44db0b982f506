/**
 * Starts the thread that builds the graphs of the vector area when there is a
 * graph to build, and ends it with the area. If it ends earlier, that only costs
 * time: a log line, another thread, and graphs that are rebuilt.
 */
import { Worker } from "node:worker_threads";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { FromGraphWorker } from "../../vector/graph/mod.ts";
import { type GraphThread, type GraphThreadEvents, ThreadGraphBuilder } from "../../vector/index/mod.ts";
import { entryFile } from "../package-files.ts";

/** Rows and graphs are outside the heap of the thread, which is nearly empty. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

export interface GraphThreadOptions {
  readonly log: Log;
  /** Another one in tests. */
  readonly workerFile?: URL;
}

export function threadGraphBuilder({
  log,
  workerFile = entryFile("graph-worker"),
}: GraphThreadOptions): ThreadGraphBuilder {
  return new ThreadGraphBuilder({ start: (events) => startThread(workerFile, { events, log }) });
}

function startThread(file: URL, { events, log }: { events: GraphThreadEvents; log: Log }): GraphThread {
  const worker = new Worker(file, { name: "graph builder", resourceLimits });
  let isClosing = false;
  // The thread sends nothing else.
  worker.on("message", (message: FromGraphWorker) => {
    if (!isClosing) events.heard(message);
  });
  worker.on("error", (fault) => log.error("the thread that builds graphs crashed", faultFields(fault)));
  worker.on("exit", (code) => {
    if (isClosing) return;
    log.warn("the thread that builds graphs ended, and its graphs are rebuilt", { code });
    events.ended();
  });
  return {
    post: (message, transferred) => worker.postMessage(message, transferred),
    close: async () => {
      isClosing = true;
      await worker.terminate();
    },
  };
}
