/**
 * The thread of one area, or one of several. Main starts it with the area's plan. It answers main's
 * calls, sends a heartbeat each second, and ends when it crashes: the next start
 * rebuilds its state from the journal.
 */
import type { MessagePort } from "node:worker_threads";
import { systemClock } from "../../kernel/clock.ts";
import { faultFields } from "../../kernel/log.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { type AreaApi, CRASH_CLOSE_MS } from "../areas/area.ts";
import { AreaThread } from "../areas/area-thread.ts";
import { answerQuestions, beat, eventsTo } from "../areas/remote-area.ts";
import type { ThreadStart } from "../cluster/shards/threads/thread-plan.ts";
import { recordedLog } from "../events/problems.ts";
import { measureThread } from "../metrics/thread.ts";
import { stderrEvents, stderrLog } from "../stderr.ts";
import { BEAT_MS } from "./heartbeat.ts";
import { ProgressWriter } from "./thread-progress.ts";

/** The data with which main starts a thread: one plan for each shard of its area, or for each shard that it hosts. */
export interface AreaWorkerStart extends Pick<ThreadStart, "plans" | "links"> {
  /** Memory in which the thread shows its progress (thread-progress.ts). */
  readonly progress: SharedArrayBuffer;
}

export async function runAreaWorker({ plans, links, progress }: AreaWorkerStart, port: MessagePort): Promise<void> {
  const [plan] = plans;
  const report = eventsTo(port);
  const { level, format } = plan.log;
  const recording = { level, clock: systemClock, note: report.problem };
  const log = recordedLog(stderrLog(level, format), recording).with({ area: plan.area });
  const events = stderrEvents({ ...plan.log, log });
  let area: AreaApi | undefined;
  let isCrashing = false;
  const crash = (fault: unknown): void => {
    log.error("the thread crashed", faultFields(fault));
    if (isCrashing) process.exit(1);
    isCrashing = true;
    systemClock.after(CRASH_CLOSE_MS, () => process.exit(1));
    Promise.resolve(area?.control.close(0)).finally(() => process.exit(1));
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);

  const beatOn = (): void => {
    beat(port);
    systemClock.after(BEAT_MS, beatOn);
  };
  beatOn();

  const metrics = new Metrics();
  measureThread(metrics);
  const observer = new ProgressWriter(progress);
  const { memoryBytesMax } = plan;
  const { requestBytesMax } = plan.limits;
  const thread = new AreaThread({
    log,
    events,
    clock: systemClock,
    onFatal: crash,
    observer,
    memoryBytesMax,
    requestBytesMax,
  });
  area = await thread.make(plans, report, { metrics, links });
  answerQuestions(port, area);
}
