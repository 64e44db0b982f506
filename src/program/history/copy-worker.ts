/** The thread that copies a history for a backup. Started by `copy.ts`; posts the reason of a failure, or nothing. */
import "../prototype.ts";
import { parentPort, workerData } from "node:worker_threads";
import { copyHistory } from "../../persistence/history/copy.ts";

export interface HistoryCopyPlan {
  readonly from: string;
  readonly to: string;
}

const port = parentPort;
if (port !== null) {
  const { from, to } = workerData as HistoryCopyPlan;
  let failure: string | undefined;
  try {
    copyHistory(from, to);
  } catch (fault) {
    failure = fault instanceof Error ? fault.message : String(fault);
  }
  port.postMessage(failure);
}
