/**
 * Copies the history into a backup. It is derived from the whole journal: a
 * segment is removed when the history has read it, so without the history the log
 * of finished messages would be lost. A copy that is taken before the journal's
 * segments is never ahead of them, and never older than their beginning.
 */
import { existsSync, rmSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Log } from "../../kernel/log.ts";
import { withFile } from "../../persistence/disk/disk.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { entryFile } from "../package-files.ts";
import type { HistoryCopyPlan } from "./copy-worker.ts";
import { HISTORY_FILE } from "./history-store.ts";

/**
 * Copies the history of one directory into another, durably, in its own thread. A missing history is left out. So is an
 * unreadable one, with a log line: the log of messages then begins with the journal's first frame.
 */
export async function copyHistoryFile(from: string, to: string, log: Log): Promise<void> {
  const plan: HistoryCopyPlan = { from: `${from}/${HISTORY_FILE}`, to: `${to}/${HISTORY_FILE}` };
  if (!existsSync(plan.from)) return;
  const failure = await copyInThread(plan);
  if (failure !== undefined) {
    for (const suffix of ["", "-journal"]) rmSync(`${plan.to}${suffix}`, { force: true });
    log.warn("the backup has no log of messages, because the history cannot be read", { reason: failure });
    return;
  }
  await withFile(await fileDisk.open(plan.to, "update"), (file) => file.fsync());
  await fileDisk.syncDirectory(to);
}

/** The text of its failure. */
function copyInThread(plan: HistoryCopyPlan): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(entryFile("history-copy-worker"), { name: "history copy", workerData: plan });
    worker.on("message", (failure: string | undefined) => resolve(failure));
    worker.on("error", reject);
    worker.on("exit", (code) => reject(new Error(`The thread that copies the history ended with code ${code}`)));
  });
}
