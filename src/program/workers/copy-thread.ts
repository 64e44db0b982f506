/**
 * Main's side of the thread that copies the data directory (`copy-worker.ts`): its
 * state, its metrics, and another thread if it ends. The server never waits for it,
 * and a copy that is behind or has ended does not make the server unready.
 */
import { Worker } from "node:worker_threads";
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { type FamilySnapshot, type LabelledSnapshot, Metrics } from "../../kernel/metrics.ts";
import type { CopyState } from "../../replication/copier.ts";
import { printAddress } from "../../replication/objects/address.ts";
import type { StoreRequestCounts } from "../../replication/objects/store-requests.ts";
import type { AreaName } from "../areas/area.ts";
import type { LoggedProblem } from "../events/problems.ts";
import { measureCopiedArea, measureCopy } from "../metrics/copy.ts";
import { type CopyFigures, figuresOfCopy } from "../metrics/copy-figures.ts";
import { entryFile } from "../package-files.ts";
import { copyAddressOf } from "../services/objects/copy-settings.ts";
import type { CopyPlan, FromCopyThread, ToCopyThread } from "./copy-worker.ts";

/** The thread reads a megabyte at a time, and has the names of objects in its heap. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8 };
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 300_000;
/** What a thread may need beyond the time that its close has. */
const END_MS = 2_000;

export interface CopyThreadOptions {
  readonly plan: CopyPlan;
  readonly log: Log;
  readonly clock: Clock;
  /** Called for what the thread logs as a warning or an error. */
  readonly onProblem: (problem: LoggedProblem) => void;
  /** Another one in tests. */
  readonly workerFile?: URL;
}

const nothingYet: CopyState = {
  ...{ phase: "starting", reason: undefined, generation: undefined, storeFault: undefined },
  ...{ tokens: "no file", areas: [] },
};

export class CopyThread {
  readonly #options: CopyThreadOptions;
  readonly #address: string;
  readonly #metrics = new Metrics();
  readonly #areaMetrics: ReadonlyMap<AreaName, Metrics>;
  #worker: Worker | undefined;
  #state = nothingYet;
  #requests: StoreRequestCounts | undefined;
  #again = AGAIN_MS_MIN;
  #cancel: () => void = () => {};
  #isClosing = false;
  #closed = Promise.withResolvers<void>();

  constructor(options: CopyThreadOptions) {
    this.#options = options;
    this.#address = printAddress(copyAddressOf(options.plan.address));
    this.#areaMetrics = new Map(
      [...options.plan.synced.keys()].map((area) => {
        const metrics = new Metrics();
        measureCopiedArea(metrics, () => this.#state.areas.find((each) => each.area === area));
        return [area, metrics];
      }),
    );
    measureCopy(this.#metrics, { phase: () => this.#state.phase, requests: () => this.#requests });
  }

  /** Begins to copy. The areas serve. */
  start(): void {
    const { plan, workerFile = entryFile("copy-worker"), log } = this.#options;
    const worker = new Worker(workerFile, { name: "copy", workerData: plan, resourceLimits });
    this.#worker = worker;
    worker.on("message", (message: FromCopyThread) => this.#hear(message));
    worker.on("error", (fault) => log.error("the thread of the copy crashed", faultFields(fault)));
    worker.on("exit", () => this.#ended());
  }

  /** An area has a new snapshot. */
  filesChanged(area: AreaName): void {
    this.#post({ kind: "files changed", area });
  }

  tokensChanged(): void {
    this.#post({ kind: "tokens changed" });
  }

  /** Copies what is durable, for at most `withinMs`, and ends. Called after the journals are closed. Never rejects. */
  async close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#cancel();
    if (this.#worker === undefined) return;
    const { clock, log } = this.#options;
    const cancel = clock.after(withinMs + END_MS, () => this.#closed.resolve());
    this.#post({ kind: "close", withinMs });
    await this.#closed.promise;
    cancel();
    await this.#worker?.terminate();
    const behindBytes = this.#state.areas.reduce((sum, area) => sum + area.behindBytes, 0);
    if (behindBytes > 0 || this.#state.phase === "starting")
      log.warn("the copy is not complete; the next start goes on with it", { bytes: behindBytes });
  }

  get plan(): CopyPlan {
    return this.#options.plan;
  }

  /** The metrics of an area. */
  familiesOf(area: AreaName): readonly FamilySnapshot[] {
    return this.#areaMetrics.get(area)?.snapshot() ?? [];
  }

  get figures(): CopyFigures {
    return figuresOfCopy(this.#address, this.#state);
  }

  /** The metrics: of the copy, and of each area. */
  get snapshots(): readonly LabelledSnapshot[] {
    const areas = [...this.#areaMetrics.keys()].map((area) => ({ labels: { area }, families: this.familiesOf(area) }));
    return [{ labels: {}, families: this.#metrics.snapshot() }, ...areas];
  }

  #hear(message: FromCopyThread): void {
    if (message.kind === "closed") this.#closed.resolve();
    else if (message.kind === "problem") this.#options.onProblem(message.problem);
    else if (message.kind === "unopened") this.#state = { ...this.#state, reason: message.reason };
    else {
      this.#state = message.state;
      this.#requests = message.requests;
      if (message.state.phase === "copying") this.#again = AGAIN_MS_MIN;
    }
  }

  #ended(): void {
    this.#worker = undefined;
    this.#closed.resolve();
    // Another one would take the copy over again.
    if (this.#isClosing || this.#state.phase === "replaced") return;
    const { clock, log } = this.#options;
    log.warn("the thread of the copy ended, and another one is started", { waitMs: this.#again });
    this.#state = { ...this.#state, phase: "starting", reason: "its thread ended, and another one is started" };
    this.#cancel = clock.after(this.#again, () => this.start());
    this.#again = Math.min(2 * this.#again, AGAIN_MS_MAX);
  }

  #post(message: ToCopyThread): void {
    this.#worker?.postMessage(message);
  }
}
