/**
 * Main's view of one area: its API and its state. The area may be in this thread,
 * in its own thread, or its shards in several threads.
 */
import { Worker } from "node:worker_threads";
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { ShardEvent } from "../cluster/shard-plan.ts";
import type { ThreadStart } from "../cluster/shards/threads/thread-plan.ts";
import type { LoggedProblem } from "../events/problems.ts";
import { entryFile } from "../package-files.ts";
import { codeOf } from "../refusal.ts";
import type { AreaWorkerStart } from "../workers/area-worker.ts";
import { DEAD_CPU_MS, DEAD_CPU_MS_IN_CLUSTER, Heartbeat } from "../workers/heartbeat.ts";
import { newProgressMemory, ProgressReader } from "../workers/thread-progress.ts";
import type { AreaApi, AreaEvents, AreaName, AreaPlans, AreaState, ReplayProgress } from "./area.ts";
import type { AreaThread, LocalArea } from "./area-thread.ts";
import { remoteArea } from "./remote-area.ts";
import { percentOf } from "./replay-report.ts";

export interface SlotEvents {
  /** The progress of its replay; undefined: it has ended, or never will. */
  replayed(area: AreaName, progress: ReplayProgress | undefined): void;
  /** Of the shard, if the area has several. */
  snapshotDue(area: AreaName, shard?: number): void;
  snapshotRequested(area: AreaName, shard?: number): void;
  /** Of an area that is a shard. */
  shard(area: AreaName, event: ShardEvent): void;
  /** A thread of the area has logged a warning or an error. */
  problem(problem: LoggedProblem): void;
  /** The thread ended unexpectedly, or no longer answers. `reason` is a sentence. */
  crashed(area: AreaName, reason: string): void;
}

export class AreaSlot implements AreaEvents {
  readonly name: AreaName;
  /** Undefined until the area is created. */
  api: AreaApi | undefined;
  /** Set for an area in this thread. */
  local: LocalArea | undefined;
  /** Of each thread of the area; the first is the one with its port. */
  #reports: readonly [ThreadReports, ...ThreadReports[]];
  /** While another node serves the area, its requests are forwarded: that is no reason not to send them here. */
  #forwards = false;
  #isEnding = false;
  readonly #events: SlotEvents;
  #threads: readonly RunningThread[] = [];

  constructor(name: AreaName, events: SlotEvents) {
    this.name = name;
    this.#events = events;
    this.#reports = [this.#newReports()];
  }

  /** Runs the area in this thread. One plan for each of its shards. */
  async makeHere(plans: AreaPlans, thread: AreaThread): Promise<void> {
    this.#forwards = plans[0].shard?.forwarding !== undefined;
    this.local = await thread.make(plans, this);
    this.api = this.local;
  }

  /** Runs the area in threads of its own. One plan for each of its shards. */
  async makeInWorker(plans: AreaPlans, options: WorkerOptions): Promise<void> {
    this.#forwards = plans[0].shard?.forwarding !== undefined;
    if (options.threadCount > 1) return this.#makeInWorkers(plans, options);
    const only = this.#start({ plans, links: undefined, shards: [], ports: [] }, 0, options);
    this.#threads = [only];
    this.#reports = [only.reports];
    this.api = only.api;
  }

  /** Its shards in several threads. The code for that is loaded only for them. */
  async #makeInWorkers(plans: AreaPlans, options: WorkerOptions): Promise<void> {
    const { planThreads } = await import("../cluster/shards/threads/thread-plan.ts");
    const { threadedArea } = await import("../cluster/shards/threads/threaded-area.ts");
    const starts = planThreads(plans, options.threadCount);
    const [first, ...others] = starts.map((start, index) => this.#start(start, index, options));
    assert(first !== undefined, "an area has a thread");
    this.#threads = [first, ...others];
    this.#reports = [first.reports, ...others.map(({ reports }) => reports)];
    this.api = threadedArea([first, ...others]);
  }

  #start(start: ThreadStart, index: number, { heapBytesMax, threadCount, clock }: WorkerOptions): RunningThread {
    const { plans, links, ports } = start;
    const [plan] = plans;
    const reports = this.#newReports();
    const heapMb = Math.floor(heapBytesMax / 2 ** 20);
    const memory = newProgressMemory();
    const progress = new ProgressReader(memory);
    const worker = new Worker(entryFile("main"), {
      name: threadCount === 1 ? plan.area : `${plan.area}-${index}`,
      workerData: { plans, links, progress: memory } satisfies AreaWorkerStart,
      transferList: [...ports],
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    const heartbeat = new Heartbeat({
      clock,
      deadCpuMs: plan.shard === undefined ? DEAD_CPU_MS : DEAD_CPU_MS_IN_CLUSTER,
      progress: () => progress.count,
      cpuMs: async () => {
        const { user, system } = await worker.cpuUsage();
        return (user + system) / 1_000;
      },
      // No client is served while the area opens.
      isWatched: () => reports.current !== "opening",
      onSilent: (isSilent) => {
        reports.isSilent = isSilent;
      },
      onDead: () => {
        this.#crashed(describeStuck(progress));
        void worker.terminate();
      },
    });
    const heap = { heapMb, threadCount };
    worker.on("error", (fault) => this.#crashed(describeCrash(fault, plan.area, heap)));
    worker.on("exit", (code) => this.#crashed(`its thread ended with code ${code}`));
    return { ...start, worker, heartbeat, reports, api: remoteArea(worker, reports, () => heartbeat.beat()) };
  }

  /** Closes the area and ends its threads. */
  async close(graceMs: number): Promise<void> {
    this.#isEnding = true;
    try {
      await this.api?.control.close(graceMs);
    } finally {
      await this.#endThreads();
    }
  }

  /** Ends the threads at once. */
  async abandon(): Promise<void> {
    this.#isEnding = true;
    await this.#endThreads();
  }

  get status(): string {
    const [first, ...others] = this.#reports;
    return stateOfThreads([first.current, ...others.map(({ current }) => current)]);
  }

  /** The reasons why this area makes the server not ready. */
  get reasons(): readonly string[] {
    const reasons: string[] = [];
    const { status } = this;
    const isReady = status === "serving" || (status === "standby" && this.#forwards);
    if (!isReady) reasons.push(`${this.name} is ${status}${this.#replayText()}`);
    const trouble = this.#reports.find((each) => each.reason !== undefined)?.reason;
    if (trouble !== undefined) reasons.push(`${this.name} cannot write: ${trouble}`);
    if (this.#reports.some(({ isSilent }) => isSilent)) reasons.push(`${this.name} does not answer`);
    return reasons;
  }

  state(state: AreaState): void {
    this.#reports[0].state(state);
  }

  trouble(reason: string | undefined): void {
    this.#reports[0].trouble(reason);
  }

  replayed(progress: ReplayProgress | undefined): void {
    this.#reports[0].replayed(progress);
  }

  snapshotDue(shard?: number): void {
    this.#reports[0].snapshotDue(shard);
  }

  snapshotRequested(shard?: number): void {
    this.#reports[0].snapshotRequested(shard);
  }

  shard(event: ShardEvent): void {
    this.#reports[0].shard(event);
  }

  problem(problem: LoggedProblem): void {
    this.#reports[0].problem(problem);
  }

  #newReports(): ThreadReports {
    return new ThreadReports(this.name, this.#events);
  }

  #replayText(): string {
    const replay = this.#reports.find(({ current, progress }) => current === "opening" && progress !== undefined);
    return this.status !== "opening" || replay?.progress === undefined
      ? ""
      : `: ${percentOf(replay.progress)} % replayed`;
  }

  async #endThreads(): Promise<void> {
    for (const { heartbeat } of this.#threads) heartbeat.stop();
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #crashed(reason: string): void {
    for (const { heartbeat } of this.#threads) heartbeat.stop();
    if (this.#isEnding) return;
    this.#isEnding = true;
    for (const reports of this.#reports) reports.state("closed");
    this.replayed(undefined);
    this.#events.crashed(this.name, reason);
  }
}

const LIVING = ["serving", "opening", "standby"] as const satisfies readonly AreaState[];

/**
 * The state of an area by those of its threads, the one with its port first: it serves if one of them does, and drains when
 * that one does.
 */
export function stateOfThreads(states: readonly [AreaState, ...AreaState[]]): AreaState {
  const [first] = states;
  if (states.every((state) => state === "closed")) return "closed";
  if (first === "draining" || first === "closed") return "draining";
  return LIVING.find((state) => states.includes(state)) ?? first;
}

export interface WorkerOptions {
  /** Of each thread. */
  readonly heapBytesMax: number;
  /** At most the number of plans. */
  readonly threadCount: number;
  readonly clock: Clock;
}

interface RunningThread extends ThreadStart {
  readonly api: AreaApi;
  readonly worker: Worker;
  readonly heartbeat: Heartbeat;
  readonly reports: ThreadReports;
}

/** What a thread of an area has reported. */
class ThreadReports implements AreaEvents {
  readonly #area: AreaName;
  readonly #events: SlotEvents;
  current: AreaState = "opening";
  progress: ReplayProgress | undefined;
  /** Why it cannot write. */
  reason: string | undefined;
  isSilent = false;

  constructor(area: AreaName, events: SlotEvents) {
    this.#area = area;
    this.#events = events;
  }

  state(state: AreaState): void {
    this.current = state;
  }

  trouble(reason: string | undefined): void {
    this.reason = reason;
  }

  replayed(progress: ReplayProgress | undefined): void {
    this.progress = progress;
    this.#events.replayed(this.#area, progress);
  }

  snapshotDue(shard?: number): void {
    this.#events.snapshotDue(this.#area, shard);
  }

  snapshotRequested(shard?: number): void {
    this.#events.snapshotRequested(this.#area, shard);
  }

  shard(event: ShardEvent): void {
    this.#events.shard(this.#area, event);
  }

  problem(problem: LoggedProblem): void {
    this.#events.problem(problem);
  }
}

function describeStuck({ tenant, command }: Pick<ProgressReader, "tenant" | "command">): string {
  const what = command === "" ? "something" : JSON.stringify(command);
  const whose = tenant === "" ? "" : ` of ${JSON.stringify(tenant)}`;
  return `its thread has run ${what}${whose} for a minute without finishing`;
}

function describeCrash(
  fault: unknown,
  area: AreaName,
  { heapMb, threadCount }: { readonly heapMb: number; readonly threadCount: number },
): string {
  const whose = threadCount === 1 ? `the ${area} area` : `one of the ${threadCount} threads of the ${area} area`;
  if (codeOf(fault) === "ERR_WORKER_OUT_OF_MEMORY")
    return `the heap of ${whose} is full at its limit of ${heapMb}mb: raise --${area}-memory or --heap-limit, or store less data`;
  return `its thread crashed: ${fault instanceof Error ? fault.message : String(fault)}`;
}
