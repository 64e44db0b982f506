/**
 * Starts the threads that search for the vector area when there is something for
 * them to do, and ends them with the area. If one ends earlier, that only costs
 * time: a log line, and its searches run on the area's thread.
 */
import { Worker } from "node:worker_threads";
import { faultFields, type Log } from "../../kernel/log.ts";
import { type SearchThread, type SearchThreadEvents, SearchThreads } from "../../vector/index/mod.ts";
import type { Mailbox } from "../../vector/threads/mod.ts";
import { entryFile } from "../package-files.ts";

/** Rows and graphs are outside the heap of the thread, which is nearly empty. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

export interface SearchThreadOptions {
  readonly log: Log;
  /** The threads that search, with the one of the area: 1 starts none, or only one that reads files. */
  readonly count: number;
  /** Whether dense vectors may be in files. */
  readonly readsFiles?: boolean;
  /** Another one in tests. */
  readonly workerFile?: URL;
}

/** Undefined if the area's thread does everything. */
export function openSearchThreads({
  log,
  count,
  readsFiles = false,
  workerFile = entryFile("search-worker"),
}: SearchThreadOptions): SearchThreads | undefined {
  if (count <= 1 && !readsFiles) return undefined;
  return new SearchThreads({
    count: Math.max(1, count - 1),
    onlyRead: count <= 1,
    start: (mailbox, events) => startThread(workerFile, mailbox, { events, log }),
  });
}

function startThread(
  file: URL,
  mailbox: Mailbox,
  { events, log }: { readonly events: SearchThreadEvents; readonly log: Log },
): SearchThread {
  const worker = new Worker(file, { name: "search", workerData: mailbox.buffer, resourceLimits });
  let isClosing = false;
  // The thread sends nothing else.
  worker.on("message", () => {
    if (!isClosing) events.woke();
  });
  worker.on("error", (fault) => log.error("a thread that searches crashed", faultFields(fault)));
  worker.on("exit", (code) => {
    if (isClosing) return;
    log.warn("a thread that searches ended, and its searches run on the thread of the area", { code });
    events.ended();
  });
  return {
    post: (message) => worker.postMessage(message),
    close: async () => {
      isClosing = true;
      mailbox.stop();
      await worker.terminate();
    },
  };
}
