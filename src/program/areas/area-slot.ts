/**
 * Main's view of one area: its API and its state. The area may be in this thread
 * or in its own thread.
 */
import { Worker } from "node:worker_threads";
import type { Clock } from "../../kernel/clock.ts";
import type { ShardEvent } from "../cluster/shard-plan.ts";
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
  /** The thread ended unexpectedly, or no longer answers. `reason` is a sentence. */
  crashed(area: AreaName, reason: string): void;
}

export class AreaSlot implements AreaEvents {
  readonly name: AreaName;
  /** Undefined until the area is created. */
  api: AreaApi | undefined;
  /** Set for an area in this thread. */
  local: LocalArea | undefined;
  #state: AreaState = "opening";
  #replay: ReplayProgress | undefined;
  #trouble: string | undefined;
  #isSilent = false;
  /** While another node serves the area, its requests are forwarded: that is no reason not to send them here. */
  #forwards = false;
  #isEnding = false;
  readonly #events: SlotEvents;
  #worker: Worker | undefined;
  #heartbeat: Heartbeat | undefined;

  constructor(name: AreaName, events: SlotEvents) {
    this.name = name;
    this.#events = events;
  }

  /** Runs the area in this thread. One plan for each of its shards. */
  async makeHere(plans: AreaPlans, thread: AreaThread): Promise<void> {
    this.#forwards = plans[0].shard?.forwarding !== undefined;
    this.local = await thread.make(plans, this);
    this.api = this.local;
  }

  /** Runs the area in its own thread. One plan for each of its shards. */
  makeInWorker(plans: AreaPlans, { heapBytesMax, clock }: { heapBytesMax: number; clock: Clock }): void {
    const [plan] = plans;
    this.#forwards = plan.shard?.forwarding !== undefined;
    const heapMb = Math.floor(heapBytesMax / 2 ** 20);
    const memory = newProgressMemory();
    const progress = new ProgressReader(memory);
    const worker = new Worker(entryFile("main"), {
      name: plan.area,
      workerData: { plans, progress: memory } satisfies AreaWorkerStart,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#worker = worker;
    const heartbeat = new Heartbeat({
      clock,
      deadCpuMs: plan.shard === undefined ? DEAD_CPU_MS : DEAD_CPU_MS_IN_CLUSTER,
      progress: () => progress.count,
      cpuMs: async () => {
        const { user, system } = await worker.cpuUsage();
        return (user + system) / 1_000;
      },
      // No client is served while the area opens.
      isWatched: () => this.#state !== "opening",
      onSilent: (isSilent) => {
        this.#isSilent = isSilent;
      },
      onDead: () => {
        this.#crashed(describeStuck(progress));
        void worker.terminate();
      },
    });
    this.#heartbeat = heartbeat;
    this.api = remoteArea(worker, this, () => heartbeat.beat());
    worker.on("error", (fault) => this.#crashed(describeCrash(fault, plan.area, heapMb)));
    worker.on("exit", (code) => this.#crashed(`its thread ended with code ${code}`));
  }

  /** Closes the area and ends its thread. */
  async close(graceMs: number): Promise<void> {
    this.#isEnding = true;
    try {
      await this.api?.control.close(graceMs);
    } finally {
      this.#heartbeat?.stop();
      await this.#worker?.terminate();
    }
  }

  /** Ends the thread at once. */
  async abandon(): Promise<void> {
    this.#isEnding = true;
    this.#heartbeat?.stop();
    await this.#worker?.terminate();
  }

  get status(): string {
    return this.#state;
  }

  /** The reasons why this area makes the server not ready. */
  get reasons(): readonly string[] {
    const reasons: string[] = [];
    const isReady = this.#state === "serving" || (this.#state === "standby" && this.#forwards);
    if (!isReady) reasons.push(`${this.name} is ${this.#state}${this.#replayText()}`);
    if (this.#trouble !== undefined) reasons.push(`${this.name} cannot write: ${this.#trouble}`);
    if (this.#isSilent) reasons.push(`${this.name} does not answer`);
    return reasons;
  }

  state(state: AreaState): void {
    this.#state = state;
  }

  trouble(reason: string | undefined): void {
    this.#trouble = reason;
  }

  replayed(progress: ReplayProgress | undefined): void {
    this.#replay = progress;
    this.#events.replayed(this.name, progress);
  }

  snapshotDue(shard?: number): void {
    this.#events.snapshotDue(this.name, shard);
  }

  snapshotRequested(shard?: number): void {
    this.#events.snapshotRequested(this.name, shard);
  }

  shard(event: ShardEvent): void {
    this.#events.shard(this.name, event);
  }

  #replayText(): string {
    if (this.#state !== "opening" || this.#replay === undefined) return "";
    return `: ${percentOf(this.#replay)} % replayed`;
  }

  #crashed(reason: string): void {
    this.#heartbeat?.stop();
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#state = "closed";
    this.replayed(undefined);
    this.#events.crashed(this.name, reason);
  }
}

function describeStuck({ tenant, command }: Pick<ProgressReader, "tenant" | "command">): string {
  const what = command === "" ? "something" : JSON.stringify(command);
  const whose = tenant === "" ? "" : ` of ${JSON.stringify(tenant)}`;
  return `its thread has run ${what}${whose} for a minute without finishing`;
}

function describeCrash(fault: unknown, area: AreaName, heapMb: number): string {
  if (codeOf(fault) === "ERR_WORKER_OUT_OF_MEMORY")
    return `the heap of the ${area} area is full at its limit of ${heapMb}mb: raise --${area}-memory or --heap-limit, or store less data`;
  return `its thread crashed: ${fault instanceof Error ? fault.message : String(fault)}`;
}
