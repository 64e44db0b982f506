/** Starts the thread of a local embedding model (`model-worker.ts`). */
import { Worker } from "node:worker_threads";
import type { FromModelThread, ModelThread, ModelThreadEvents } from "../../edge/embedding/local.ts";
import type { LocalModelSettings } from "../../edge/embedding/local-model.ts";
import { entryFile } from "../package-files.ts";
import { LOCAL_PACKAGE } from "../settings/embedding-settings.ts";
import type { ModelWorkerPlan } from "./model-worker.ts";

export function startModelThread(
  settings: LocalModelSettings,
  events: ModelThreadEvents,
  packageName = LOCAL_PACKAGE,
): ModelThread {
  const plan: ModelWorkerPlan = { settings, packageName };
  const worker = new Worker(entryFile("model-worker"), { name: "embedding model", workerData: plan });
  let isEnded = false;
  const ended = (reason: string): void => {
    if (isEnded) return;
    isEnded = true;
    events.ended(reason);
  };
  // The thread sends nothing else.
  worker.on("message", (message) => events.message(message as FromModelThread));
  worker.on("error", (fault) => ended(fault instanceof Error ? fault.message : String(fault)));
  worker.on("exit", (code) => ended(`The thread of the model ended with code ${code}`));
  return {
    post: (message) => worker.postMessage(message),
    async end() {
      isEnded = true;
      await worker.terminate();
    },
  };
}
