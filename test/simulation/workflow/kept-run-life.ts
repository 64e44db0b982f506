/**
 * One life of workflow runs whose entries are on a simulated disk: runs with
 * long and short bodies, immediate and late results, waits and events, ends,
 * snapshots, moved bodies, removed segments. It may stop at any moment.
 *
 * The contents of an entry follow from its run and its step, so everything
 * delivered or found after a crash is compared byte for byte. The rules across
 * lives are in the `RunMemory`.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { Journal } from "../../../src/kernel/journal.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { MessagingApi } from "../../../src/messaging/api.ts";
import { moveBodies } from "../../../src/messaging/bodies/cleaning.ts";
import type { DeliveryRequest } from "../../../src/messaging/delivery/delivery.ts";
import { defaultLimits } from "../../../src/messaging/limits.ts";
import { Messaging } from "../../../src/messaging/messaging.ts";
import { readPublishOptions } from "../../../src/messaging/options/headers.ts";
import type { AreaStorage } from "../../../src/persistence/area-storage.ts";
import { SegmentRemoved } from "../../../src/persistence/journal/segment-reader.ts";
import { DeferredJournal } from "../deferred-journal.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { check, Violation } from "../messaging/violation.ts";
import { type Harness, recoverInto, type ServerOptions, takeSnapshot } from "../server.ts";
import { SimulatedWorld } from "../world.ts";
import { eventText, type RunMemory, resultText, startText, waitText } from "./run-memory.ts";

export interface KeptRunsBug extends Pick<Harness<Messaging>, "journal"> {
  readonly mayRemove?: () => boolean;
  /** Breaks the recovered engine. */
  readonly beforeStart?: (messaging: Messaging) => void;
}

const USER = "main";
const URL_OF_RUNS = "https://app.test/run";
const KEYS = { current: "sig_current", next: "sig_next" };
const SEGMENT_BYTES_MAX = 150_000;
const STEPS_MAX = 6;
const RUNS_GOING_MAX = 6;
const HOUR_MS = 3_600_000;

export class KeptRunLife {
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly messaging: Messaging;
  readonly #memory: RunMemory;
  readonly #bug: KeptRunsBug;
  readonly #random: Random;
  readonly #journal = new DeferredJournal();
  readonly #world: SimulatedWorld;
  #area: AreaStorage | undefined;
  #isDead = false;

  constructor(
    memory: RunMemory,
    { disk, clock, seed, bug }: { disk: SimulatedDisk; clock: VirtualClock; seed: number; bug: KeptRunsBug },
  ) {
    this.disk = disk;
    this.clock = clock;
    this.#memory = memory;
    this.#bug = bug;
    this.#random = seededRandom(seed);
    this.#world = new SimulatedWorld({
      ...{ disk, random: this.#random, violation: Violation },
      wait: () => this.#pass(this.#random.below(10)),
    });
    this.#journal.onAppend = (_frame, position) => {
      check(position > 0, () => "A recovery must append nothing");
    };
    this.messaging = this.#make(this.#journal, seed + 1);
  }

  /** Recovers, and compares everything found with the expected contents. */
  async open(): Promise<void> {
    const { bodies } = this.messaging.engine.state;
    const recovery = recoverInto(
      { engine: this.messaging, journal: this.#journal },
      {
        ...this.#server,
        onBatchWritten: (batch) => bodies.written(batch),
        mayRemove: this.#bug.mayRemove ?? ((segment) => !bodies.liveBytes.has(segment)),
      },
    );
    this.#area = (await this.#world.drive(recovery)).area;
    bodies.open(this.#open);
    await this.#world.drive(this.messaging.createUser(USER, KEYS));
    await this.checkRuns();
    this.#bug.beforeStart?.(this.messaging);
    this.messaging.engine.start();
    await this.#world.settle();
  }

  async run(actions: number): Promise<void> {
    for (let action = 0; action < actions; action += 1) {
      this.#act();
      await this.#world.settle();
      if (this.#random.below(3) === 0) await this.#world.until("the disk", () => this.disk.underwayCount === 0);
    }
  }

  /** All acknowledged entries exist, in order, and each body is the expected one. */
  async checkRuns(): Promise<void> {
    await this.#world.until("the end of the work under way", () => !this.#world.isBusy());
    const { state } = this.messaging.engine;
    for (const run of this.#api.workflows.list({}, { count: 10_000 }).runs) {
      if (!run.isStarted) {
        check(run.result === undefined || run.state === 1, () => `${run.id} has a result, but the state ${run.state}`);
        if (run.result !== undefined) {
          const result = await this.#world.drive(Promise.resolve(state.bodies.load(run.result)));
          check(result.equals(Buffer.from(resultText(run.id, 0))), () => `the result of ${run.id} is wrong`);
        }
        continue;
      }
      const found = this.#api.workflows.entries(run.id, { isRedacted: false });
      const entries = await this.#world.drive(found ?? Promise.resolve([]));
      // A crash may take back an entry that is not on the disk yet.
      await this.#world.until("the disk", () => this.#journal.safe === this.#journal.end);
      this.#memory.found(run.id, entries);
    }
    this.#memory.checkPresent((id) => this.#api.workflows.find(id));
  }

  die(): void {
    this.#isDead = true;
    this.#journal.die();
    this.messaging.engine.stop();
  }

  get #open(): AreaStorage {
    if (this.#area === undefined) throw new Error("The area must be open");
    return this.#area;
  }

  get #api(): MessagingApi {
    return this.messaging.user(USER) as MessagingApi;
  }

  /** How this life's server is wired. */
  get #server(): ServerOptions<Messaging> {
    return {
      subject: { area: "messaging", open: ({ journal }) => this.#make(journal, 0) },
      ...{ disk: this.disk, clock: this.clock, random: this.#random, mode: "always", harness: this.#bug },
      ...{ segmentBytesMax: SEGMENT_BYTES_MAX, onFatal: this.#fail },
    };
  }

  #make(journal: Journal, seed: number): Messaging {
    return new Messaging({
      ...{ journal, clock: this.clock, random: seededRandom(seed), limits: defaultLimits, log: silentLog },
      outbound: {
        send: (request, done) => {
          if (this.#isDead) return;
          this.#delivered(request);
          // Some calls are under way when everything stops.
          const ms = this.#random.below(4) === 0 ? this.#random.below(2_000) : 0;
          this.clock.after(ms, () => done({ kind: "answer", status: 200, headers: [], body: Buffer.alloc(0) }));
        },
        dropUser: () => {},
      },
      settings: { spelling: "both", region: "" },
      heartbeatMs: 60_000,
      logReader: { list: async () => ({ entries: [], cursor: undefined }) },
    });
  }

  #delivered({ headers, body }: DeliveryRequest): void {
    const given = (name: string): string => headers[headers.indexOf(name) + 1] ?? "";
    const pieces = Buffer.isBuffer(body) ? [body] : body;
    try {
      const entries = JSON.parse(Buffer.concat(pieces).toString()) as { messageId: string; body: string }[];
      const id = given("Upstash-Workflow-RunId");
      this.#memory.found(id, entries);
      const own = given("Upstash-Message-Id");
      check(entries.at(-1)?.messageId === own, () => `a delivery of ${id} does not end with the entry ${own}`);
      this.#memory.deliveries += 1;
    } catch (fault) {
      this.#fail(fault);
    }
  }

  // Events.

  #act(): void {
    const chance = this.#random.below(100);
    if (chance < 12) this.#start();
    else if (chance < 34) this.#append();
    else if (chance < 42) this.#wait();
    else if (chance < 50) this.#notify();
    else if (chance < 55) this.#end();
    else if (chance < 75) this.#world.step();
    else if (chance < 88) this.#pass(this.#random.below(3) === 0 ? HOUR_MS : this.#random.below(2_000));
    else if (chance < 94) this.#begin("snapshot", () => this.#takeSnapshot());
    else this.#begin("clean", () => this.#clean());
  }

  #start(): void {
    const going = this.#going();
    if (going.length >= RUNS_GOING_MAX || this.#journal.refusal !== undefined) return;
    const id = this.#memory.newRun(this.#random);
    this.#publish(id, startText(id), ["workflow-init", "true"]);
  }

  #append(): void {
    const run = this.#pick();
    if (run === undefined) return;
    const late = this.#random.below(3) === 0 ? ["delay", "1h"] : [];
    this.#publish(run, resultText(run, this.#memory.nextStep(run)), late);
  }

  #publish(id: string, body: string, headers: readonly string[]): void {
    const own = ["workflow-runid", id, ...headers];
    const context = { limits: defaultLimits, nowMs: this.clock.nowMs(), refusalOf: () => undefined };
    const options = readPublishOptions({ own, contentType: undefined, others: () => [] }, context);
    const request = { destination: URL_OF_RUNS, body: Buffer.from(body), options, callerIp: "203.0.113.7" };
    this.#api.publish([request]).then(([outcome]) => {
      if (outcome?.kind === "url") this.#memory.acknowledged(id, outcome.published.messageId);
    }, this.#fail);
  }

  #wait(): void {
    const run = this.#pick();
    if (run === undefined) return;
    const body = Buffer.from(waitText(URL_OF_RUNS, this.#memory.nextStep(run)));
    const facts = { headers: [], contentType: undefined, refusalOf: () => undefined };
    this.#api.workflows.wait({ eventId: "paid", runId: run, body, ...facts }).catch(this.#fail);
  }

  #notify(): void {
    const run = this.#pick();
    if (run === undefined) return;
    const { workflows } = this.#api;
    const event = Buffer.from(eventText());
    (this.#random.below(2) === 0 ? workflows.notifyRun(run, "paid", event) : workflows.notifyAll("paid", event)).catch(
      this.#fail,
    );
  }

  #end(): void {
    const run = this.#pick();
    if (run === undefined) return;
    this.#memory.isEnding(run);
    const { workflows } = this.#api;
    const isCancel = this.#random.below(2) === 0;
    const ends = isCancel ? workflows.cancel(run) : workflows.finish(run, Buffer.from(resultText(run, 0)));
    ends.catch(this.#fail);
  }

  #going(): readonly string[] {
    const { runs } = this.#api.workflows.list({ states: [0] }, { count: 1_000 });
    return runs.filter(({ entries }) => entries.length < STEPS_MAX).map(({ id }) => id);
  }

  #pick(): string | undefined {
    if (this.#journal.refusal !== undefined) return undefined;
    const going = this.#going();
    return going[this.#random.below(Math.max(1, going.length))];
  }

  async #takeSnapshot(): Promise<void> {
    await takeSnapshot(this.#open, this.#server);
  }

  async #clean(): Promise<void> {
    const covered = this.#open.segments.filter(({ isCovered }) => isCovered);
    if (covered.length === 0) return;
    this.#memory.moved += await moveBodies(this.messaging.engine, covered);
    const before = this.#open.segments.length;
    await this.#open.removeUnneeded();
    this.#memory.removed += Math.max(0, before - this.#open.segments.length);
  }

  // Disk and time.

  #begin(kind: string, work: () => Promise<unknown>): void {
    // A body may be dropped while it is moved; if it is needed, its reader notices.
    this.#world.begin(kind, work, (fault) => fault instanceof SegmentRemoved || this.#isDead);
  }

  #pass(ms: number): void {
    this.disk.passTime(ms);
    this.#world.guard(() => this.clock.advance(ms));
  }

  readonly #fail = (fault: unknown): void => {
    if (!this.#isDead) this.#world.fail(fault);
  };
}
