/** Idle runs: many that sleep until the same time, many that wait for one event. */
import type { LarderServer } from "../messaging/larder.ts";
import { spreadOf } from "../messaging/times.ts";
import type { Application } from "./application.ts";

export interface WaitingResult {
  readonly name: string;
  readonly count: number;
  /** Until all of them slept or waited. */
  readonly beganMs: number;
  readonly emptyBytes: number;
  readonly waitingBytes: number;
  readonly wokenBytes: number;
  /** From their wake-up time to the delivery. */
  readonly wake: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  /** Until all had ended. */
  readonly endedMs: number;
}

/** Starts at a time. */
const STARTS = 64;
/** Longer than the starts take, so that all sleep before the first wakes; per thousand runs. */
const SLEEP_MS_PER_THOUSAND = 4_000;
const SLEEP_MS_MIN = 4_000;

export async function measureSleeping(
  larder: LarderServer,
  application: Application,
  count: number,
): Promise<WaitingResult> {
  const wakeAtMs = Math.ceil((Date.now() + SLEEP_MS_MIN + (count / 1_000) * SLEEP_MS_PER_THOUSAND) / 1_000) * 1_000;
  const step = { stepId: 1, stepName: "rest", stepType: "SleepUntil", concurrent: 1, sleepUntil: wakeAtMs / 1_000 };
  const begin = (runId: string): Promise<void> =>
    application.send(runId, [step], { "upstash-not-before": String(wakeAtMs / 1_000) });
  const wake = async (): Promise<number> => {
    const leftMs = wakeAtMs - Date.now();
    if (leftMs < 0) throw new Error(`The last of ${count} runs fell asleep ${-leftMs} ms after they were to wake`);
    return performance.now() + leftMs;
  };
  return measure(larder, application, { name: "sleep until one moment", count, begin, wake });
}

export async function measureWaiters(
  larder: LarderServer,
  application: Application,
  count: number,
): Promise<WaitingResult> {
  const step = { stepId: 1, stepName: "hold", stepType: "Wait", concurrent: 1 };
  const body = { url: application.url, timeout: "1d", step };
  const begin = (runId: string): Promise<undefined> =>
    application.ask("POST", "/v2/wait/all", body, application.stepHeaders(runId));
  const wake = async (): Promise<number> => {
    const atMs = performance.now();
    await application.ask("POST", "/v2/notify/all", "event");
    return atMs;
  };
  return measure(larder, application, { name: "wait for one event", count, begin, wake });
}

interface Wait {
  readonly name: string;
  readonly count: number;
  begin(runId: string): Promise<void>;
  /** Resolves with their wake-up time (of `performance.now`). */
  wake(): Promise<number>;
}

async function measure(
  larder: LarderServer,
  application: Application,
  { name, count, begin, wake }: Wait,
): Promise<WaitingResult> {
  const emptyBytes = larder.process.residentBytes() ?? Number.NaN;
  const arrivals: number[] = [];
  const haveBegun = Promise.withResolvers<void>();
  const haveEnded = Promise.withResolvers<void>();
  let begun = 0;
  let ended = 0;
  application.work = async ({ body, runId }) => {
    if (JSON.parse(body).length > 1) {
      arrivals.push(performance.now());
      return application.finish(runId);
    }
    await begin(runId);
    begun += 1;
    if (begun === count) haveBegun.resolve();
  };
  application.ended = () => {
    ended += 1;
    if (ended === count) haveEnded.resolve();
  };
  const startMs = performance.now();
  let started = 0;
  await Promise.all(
    Array.from({ length: STARTS }, async () => {
      while (started < count) {
        started += 1;
        await application.start();
      }
    }),
  );
  await haveBegun.promise;
  const beganMs = performance.now() - startMs;
  const waitingBytes = larder.process.residentBytes() ?? Number.NaN;
  const wokenAtMs = await wake();
  await haveEnded.promise;
  const endedMs = performance.now() - wokenAtMs;
  const wokenBytes = larder.process.residentBytes() ?? Number.NaN;
  const { p50Ms, p99Ms, maxMs } = spreadOf(arrivals.map((atMs) => atMs - wokenAtMs));
  return { name, count, beganMs, emptyBytes, waitingBytes, wokenBytes, wake: { p50Ms, p99Ms, maxMs }, endedMs };
}
