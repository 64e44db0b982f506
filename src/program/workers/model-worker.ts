/**
 * The thread of a local embedding model: loads it, and then answers texts with
 * vectors, one message after the other. It exchanges messages with
 * `model-thread.ts`.
 */
import "../prototype.ts";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { FromModelThread, ToModelThread } from "../../edge/embedding/local.ts";
import { type LocalModel, type LocalModelSettings, loadLocalModel } from "../../edge/embedding/local-model.ts";

export interface ModelWorkerPlan {
  readonly settings: LocalModelSettings;
  /** The imported package, by its name or the address of its module. */
  readonly packageName: string;
}

async function run({ settings, packageName }: ModelWorkerPlan, port: MessagePort): Promise<void> {
  const post = (message: FromModelThread): void => port.postMessage(message);
  let model: LocalModel;
  try {
    model = await loadLocalModel(settings, () => import(packageName));
  } catch (fault) {
    post({ kind: "failed", text: textOf(fault) });
    return;
  }
  // The sender waits for the answer before it posts again.
  port.on("message", ({ texts }: ToModelThread) => {
    model.embed(texts).then(
      (vectors) => post({ kind: "vectors", vectors }),
      (fault) => post({ kind: "failed", text: textOf(fault) }),
    );
  });
  post({ kind: "ready" });
}

function textOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

if (parentPort !== null) await run(workerData as ModelWorkerPlan, parentPort);
