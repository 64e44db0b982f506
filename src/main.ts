/**
 * The entry of the program and of each of its threads: the main thread reads
 * the command line, a worker runs the area that it was given.
 */
import "./program/prototype.ts";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

if (isMainThread) {
  const { runCommandLine } = await import("./program/cli/command-line.ts");
  await runCommandLine(process.argv.slice(2));
} else if (parentPort !== null) {
  const { runAreaWorker } = await import("./program/workers/area-worker.ts");
  // Main starts workers only with this data.
  await runAreaWorker(workerData as Parameters<typeof runAreaWorker>[0], parentPort);
}
