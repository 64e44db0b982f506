/** A thread that searches for the vector area. Started by `search-threads.ts`; it never reads its event loop. */
import "../prototype.ts";
import { readSync } from "node:fs";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { systemClock } from "../../kernel/clock.ts";
import { Mailbox, runSearches, type ToSearchThread } from "../../vector/threads/mod.ts";

const port = parentPort;
if (port !== null) {
  runSearches(new Mailbox(workerData as SharedArrayBuffer), {
    // The area's thread sends nothing else.
    receive: () => receiveMessageOnPort(port)?.message as ToSearchThread | undefined,
    report: () => port.postMessage(undefined),
    nowMs: () => systemClock.monotonicMs(),
    readFile: (descriptor, target, offset) => readSync(descriptor, target, 0, target.length, offset),
  });
}
