/**
 * One life of a server: it starts on the contents of a disk and serves random
 * clients while time passes, segments are closed, snapshots are made and the
 * disk fills up. The power may go at every boundary of a disk operation: each
 * such moment becomes a `CrashState` with what a recovery must then find.
 *
 * (1) What clients, disk and clock do, and in which order, comes from one seed;
 *     what crashes leave comes from another, so that trying more of them does
 *     not change the run.
 * (2) What the engine must hold is noted after every unit of work. Nothing
 *     changes without a frame, and a unit of work is one frame.
 * (3) No sync takes longer than SYNC_MS_MAX.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { AreaClosing } from "../../../src/persistence/area-storage.ts";
import { codeOf } from "../../../src/persistence/disk/disk.ts";
import type { FsyncMode } from "../../../src/persistence/journal/journal.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import { dyingDisk, isDeath } from "../disk/intercepted-disk.ts";
import type { Fault, Operation, SimulatedDisk } from "../disk/simulated-disk.ts";
import { type Backup, backUp, type Harness, type Server, startServer, takeSnapshot } from "../server.ts";
import { SimulatedWorld } from "../world.ts";
import { Acknowledgements, type History } from "./history.ts";
import { differenceOf } from "./state-text.ts";
import type { Clients, Subject } from "./subject.ts";

/** Positions that a recovery must find at least. */
export interface Promised {
  /** After a power cut. */
  readonly powerCut: number;
  /** After the end of the process alone. */
  readonly kill: number;
}

/** A moment at which everything stopped, and what was promised until then. */
export interface CrashState<State> {
  readonly disk: SimulatedDisk;
  readonly isPowerCut: boolean;
  /** The place in the run, for the text of a failure. */
  readonly when: string;
  /** The promise if the recovery itself is interrupted. The recovery must find at least `promised.kill`. */
  readonly promised: Promised;
  /** It must not find more, because nothing else was appended. */
  readonly end: number;
  /** What the engine had to hold at each position. */
  readonly history: History<State>;
  readonly backups: readonly Backup[];
  readonly told: Acknowledgements;
  /** On the clocks of the life that ended. */
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export interface LifeOptions<Engine extends SnapshotEngine, State> {
  readonly subject: Subject<Engine, State>;
  /** Stepped. */
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly mode: FsyncMode;
  readonly seed: number;
  /** What the recovery at the start may find, and what it must find. */
  readonly history: History<State>;
  readonly promised: Promised;
  /** Made by earlier lives. */
  readonly backups: readonly Backup[];
  readonly harness: Harness<Engine>;
}

/** The server broke a rule. */
export class CrashViolation extends Error {
  override name = "CrashViolation";
}

const UNIT_COUNT_MIN = 5;
const UNIT_COUNT_MAX = 30;
const TICK_MS_MAX = 100;
const IDLE_TICKS_MAX = 30;
const SYNC_MS_MAX = 300;
/** With `everysec`: the second, the sync after it, and the ticks by which each may begin late. */
export const EVERYSEC_LOSS_MS_MAX = 1_000 + SYNC_MS_MAX + 2 * TICK_MS_MAX;
const POWER_CUTS_PER_MOMENT = 2;
const KILL_ONE_IN = 8;

export class Life<Engine extends SnapshotEngine, State> {
  readonly states: CrashState<State>[] = [];
  readonly #options: LifeOptions<Engine, State>;
  readonly #random: Random;
  readonly #crashRandom: Random;
  readonly #features: Features;
  readonly #world: SimulatedWorld;
  readonly #told = new Acknowledgements();
  #history: History<State>;
  /** Holds whatever happens: what was recovered, and what a clean stop left. */
  #promised: Promised;
  #backups: readonly Backup[];
  #server: Server<Engine> | undefined;
  #clients: Clients<State> | undefined;
  #unitCount = 0;
  /** The life continues at least until then. */
  #unitCountMin = 0;
  #busyCount = 0;
  #idleTicks = 0;
  #isBegun = false;
  #isSnapshotting = false;
  #isBackingUp = false;
  #lastMoment = "";

  constructor(options: LifeOptions<Engine, State>) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#crashRandom = seededRandom(options.seed + 1);
    this.#features = drawFeatures(this.#random);
    const { disk } = options;
    this.#world = new SimulatedWorld({
      ...{ disk, random: this.#random, violation: CrashViolation },
      step: () => this.#step(),
      wait: () => this.#tick(TICK_MS_MAX),
    });
    this.#history = options.history;
    this.#promised = options.promised;
    this.#backups = options.backups;
  }

  get unitCount(): number {
    return this.#unitCount;
  }

  /** Serves some tens of units of work. Rejects with a `CrashViolation` if something is wrong before any crash. */
  async run(): Promise<void> {
    const { disk } = this.#options;
    disk.onBoundary = ({ kind, path }) => this.#capture(`after a ${kind} of ${path}`);
    disk.faultOf = (operation) => this.#shortWrite(operation);
    await this.#start();
    this.#unitCountMin = UNIT_COUNT_MIN + this.#random.below(UNIT_COUNT_MAX - UNIT_COUNT_MIN);
    while (this.#unitCount < this.#unitCountMin) {
      this.#actOnce();
      await this.#world.settle();
    }
    await this.#finish();
    this.#capture("at the end");
  }

  get #running(): Server<Engine> & { readonly clients: Clients<State> } {
    if (this.#server === undefined || this.#clients === undefined) throw new Error("The server must have started");
    return { ...this.#server, clients: this.#clients };
  }

  // Start and end.

  async #start(): Promise<void> {
    const { subject, disk, clock, mode, harness } = this.#options;
    const { segmentBytesMax, reserveBytes } = this.#features;
    const onFatal = this.#world.fail;
    const options = {
      ...{ subject, disk, clock, mode, harness, segmentBytesMax, reserveBytes },
      ...{ random: this.#random, onFatal },
    };
    let isRefused = false;
    if (this.#features.has.fullStarts) disk.freeBytes = this.#random.below(100);
    startServer(options).then(
      (server) => this.#opened(server),
      (error) => {
        isRefused = codeOf(error) === "ENOSPC";
        if (!isRefused) onFatal(error);
      },
    );
    await this.#until("recovery", () => this.#server !== undefined || isRefused);
    disk.freeBytes = Number.POSITIVE_INFINITY;
    if (!isRefused) return;
    // An operator freed space and starts the program again.
    startServer(options).then((server) => this.#opened(server), onFatal);
    await this.#until("recovery", () => this.#server !== undefined);
  }

  #opened(server: Server<Engine>): void {
    const { subject } = this.#options;
    const { area, engine, journal } = server;
    const { position } = area.recovered;
    const state = this.#history.stateAt(position) ?? subject.empty;
    const found = subject.stateOf(engine);
    const expected = subject.textOf(state);
    if (position < this.#promised.kill || found !== expected) {
      const what = `The life began at position ${position}; at least ${this.#promised.kill} was promised`;
      this.#world.fail(new CrashViolation(`${what}\n${differenceOf(expected, found)}`));
    }
    const note = (): void => this.#noteState();
    this.#server = server;
    this.#clients = subject.clients({ engine, journal, random: this.#random, state, note });
    this.#history = this.#history.upTo(position);
    this.#promised = { powerCut: position, kill: position };
  }

  /** Stops cleanly, possibly in the middle of the work, or lets all requests finish. */
  async #finish(): Promise<void> {
    const { disk } = this.#options;
    this.#idleTicks = 0;
    const isSudden = this.#random.below(3) === 0;
    if (isSudden) {
      if (this.#features.has.fullDisks) await this.#askWithoutSpace();
    } else {
      disk.freeBytes = Number.POSITIVE_INFINITY;
      const isQuiet = (): boolean =>
        this.#busyCount === 0 && !this.#isSnapshotting && !this.#isBackingUp && disk.underwayCount === 0;
      await this.#until("the last reply", isQuiet);
    }
    if (isSudden || this.#random.below(2) === 0) await this.#stop();
  }

  async #askWithoutSpace(): Promise<void> {
    this.#options.disk.freeBytes = this.#random.below(200);
    for (let round = this.#random.below(10); round > 0; round -= 1) {
      this.#ask();
      await this.#world.settle();
    }
  }

  async #stop(): Promise<void> {
    const { disk } = this.#options;
    const { end } = this.#history;
    const mayLose = Number.isFinite(disk.freeBytes);
    let lost: number | undefined;
    this.#running.area.close().then((count) => {
      lost = count;
    }, this.#world.fail);
    await this.#until("the end of the journal", () => lost !== undefined);
    if (lost === undefined) return;
    if (disk.openCount > 0 && !this.#isSnapshotting && !this.#isBackingUp) {
      throw new CrashViolation(`${disk.openCount} files are still open`);
    }
    if (lost > 0 && !mayLose) throw new CrashViolation(`${lost} frames were lost although the disk had space`);
    this.#promised = { powerCut: end - lost, kill: end - lost };
  }

  // Events.

  #actOnce(): void {
    if (this.#idleTicks > 0) {
      this.#idleTicks -= 1;
      if (this.#random.below(2) === 0) this.#tick(TICK_MS_MAX);
      else this.#step();
      return;
    }
    const { has } = this.#features;
    const chance = this.#random.below(100);
    if (chance < 40) this.#ask();
    else if (chance < 80) this.#step();
    else if (chance < 88) this.#tick(this.#random.below(TICK_MS_MAX));
    else if (chance < 90 && has.idleTimes) this.#idleTicks = this.#random.below(IDLE_TICKS_MAX);
    else if (chance < 92 && has.upkeep) this.#running.clients.upkeep();
    else if (chance < 94 && has.closings) this.#running.area.closeSegment().catch(this.#world.fail);
    else if (chance < 96 && has.snapshots) void this.#makeSnapshot();
    else if (chance < 97 && has.backups) void this.#backUp();
    else if (chance < 98 && has.fullDisks) this.#fillOrFreeDisk();
    else if (chance < 99 && has.tenants) this.#changeTenants();
    else this.#step();
  }

  /** One client sends a request. While all clients wait for an answer, the disk continues. */
  #ask(): void {
    if (this.#busyCount >= this.#features.clientCount) {
      this.#step();
      return;
    }
    const { journal, clients } = this.#running;
    if (!this.#isBegun) {
      this.#isBegun = true;
      const { end } = journal;
      clients.begin();
      this.#noteState();
      // Existing frames do not make the life shorter.
      this.#unitCountMin += journal.end - end;
    }
    const endBefore = journal.refusal === undefined ? undefined : journal.end;
    const reply = clients.ask();
    this.#noteState();
    if (reply.kind === "blind") return;
    const position = journal.end;
    if (endBefore !== undefined && endBefore < position) {
      throw new CrashViolation(`A write began after position ${endBefore} although writes were refused`);
    }
    const tell = (): void => this.#told.note(position, this.#options.clock.monotonicMs());
    if (reply.kind === "waits") {
      this.#busyCount += 1;
      reply.sent.then(() => {
        this.#busyCount -= 1;
        tell();
      }, this.#world.fail);
    } else {
      tell();
    }
  }

  /** keeps (2) */
  #noteState(): void {
    const { journal, clients } = this.#running;
    const state = clients.state();
    const known = journal.end === this.#history.end ? this.#history.stateAt(journal.end) : undefined;
    if (known === undefined) {
      this.#unitCount += 1;
      this.#history.note(journal.end, state);
    } else if (known !== state) {
      this.#assertSame(known, state);
    }
  }

  #assertSame(known: State, state: State): void {
    const { subject } = this.#options;
    const [before, after] = [subject.textOf(known), subject.textOf(state)];
    if (before === after) return;
    const text = `The state changed without a frame after position ${this.#history.end}`;
    throw new CrashViolation(`${text}\n${differenceOf(before, after)}`);
  }

  #changeTenants(): void {
    this.#running.clients.changeTenants();
    this.#noteState();
  }

  #fillOrFreeDisk(): void {
    const { disk } = this.#options;
    const isFull = Number.isFinite(disk.freeBytes);
    disk.freeBytes = isFull ? Number.POSITIVE_INFINITY : this.#random.below(3) * this.#random.below(2_000);
  }

  async #makeSnapshot(): Promise<void> {
    if (this.#isSnapshotting) return;
    this.#isSnapshotting = true;
    const { area } = this.#running;
    const dies = this.#features.has.dyingSnapshots && this.#random.below(2) === 0;
    const disk = dies ? dyingDisk(this.#options.disk, this.#random.below(30)) : this.#options.disk;
    try {
      await takeSnapshot(area, { ...this.#options, disk, random: this.#random });
    } catch (error) {
      if (!isDeath(error)) this.#violateUnlessFull(error);
      // The progress of the process is not known, and a snapshot that has its name is as good as any.
      else if (this.#random.below(2) === 0) await area.adoptSnapshot().catch(this.#world.fail);
    }
    this.#isSnapshotting = false;
  }

  async #backUp(): Promise<void> {
    if (this.#isBackingUp) return;
    this.#isBackingUp = true;
    const directory = `/backup-${this.#backups.length}-${this.#random.below(2 ** 32)}`;
    try {
      const backup = await backUp(this.#running.area, this.#options.disk, directory);
      this.#backups = [...this.#backups, backup];
    } catch (error) {
      if (!(error instanceof AreaClosing)) this.#violateUnlessFull(error);
    }
    this.#isBackingUp = false;
  }

  // Disk and time.

  #step(): void {
    this.#capture("under way");
    this.#options.disk.step(this.#random);
  }

  #tick(ms: number): void {
    const { disk, clock } = this.#options;
    // keeps (3)
    if (disk.waitedMs("sync") + ms > SYNC_MS_MAX) {
      this.#step();
    } else {
      disk.passTime(ms);
      clock.advance(ms);
    }
  }

  #shortWrite({ kind }: Operation): Fault | undefined {
    if (!this.#features.hasShortWrites || kind !== "write" || this.#random.below(8) > 0) return undefined;
    return { bytesMax: 1 + this.#random.below(200) };
  }

  async #until(what: string, isDone: () => boolean): Promise<void> {
    await this.#world.until(what, isDone);
    await this.#world.settle();
  }

  readonly #violateUnlessFull = (error: unknown): void => {
    if (codeOf(error) !== "ENOSPC") this.#world.fail(error);
  };

  // Crashes.

  /** Records what crashes at this moment leave. */
  #capture(when: string): void {
    const { disk, clock } = this.#options;
    const promised = this.#promisedNow();
    const moment = `${promised.powerCut} ${promised.kill} ${this.#end}`;
    if (when === "under way" && !disk.isChanging && moment === this.#lastMoment) return;
    this.#lastMoment = moment;
    const facts = {
      when,
      end: this.#end,
      history: this.#history,
      backups: this.#backups,
      told: this.#told,
      monotonicMs: clock.monotonicMs(),
      wallMs: clock.nowMs(),
    };
    for (let i = 0; i < POWER_CUTS_PER_MOMENT; i += 1) {
      const left = disk.afterPowerCut(this.#crashRandom);
      const { powerCut } = promised;
      this.states.push({ ...facts, disk: left, isPowerCut: true, promised: { powerCut, kill: powerCut } });
    }
    if (this.#crashRandom.below(KILL_ONE_IN) > 0) return;
    this.states.push({ ...facts, disk: disk.afterKill(this.#crashRandom), isPowerCut: false, promised });
  }

  get #end(): number {
    return this.#server?.journal.end ?? this.#history.end;
  }

  #promisedNow(): Promised {
    const server = this.#server;
    if (server === undefined) return this.#promised;
    const { clock, mode } = this.#options;
    const durable = Math.max(this.#promised.powerCut, server.area.journal.synced);
    const kill = Math.max(durable, this.#told.position);
    switch (mode) {
      case "always":
        return { powerCut: kill, kill };
      case "everysec":
        return { powerCut: Math.max(durable, this.#told.positionAt(clock.monotonicMs() - EVERYSEC_LOSS_MS_MAX)), kill };
      case "no":
        return { powerCut: durable, kill };
    }
  }
}

/** What happens in this life: each seed leaves out some of it, so that the rest meets more often. */
interface Features {
  readonly clientCount: number;
  readonly segmentBytesMax: number;
  readonly reserveBytes: number;
  readonly hasShortWrites: boolean;
  readonly has: Readonly<Record<(typeof FEATURES)[number], boolean>>;
}

const FEATURES = [
  "idleTimes",
  "upkeep",
  "closings",
  "snapshots",
  "dyingSnapshots",
  "fullDisks",
  "fullStarts",
  "tenants",
  "backups",
] as const;
const CLIENT_COUNT_MAX = 5;
const SEGMENT_BYTES = [1_000, 6_000, 2 ** 26];
const RESERVE_BYTES = [0, 0, 1_500];

function drawFeatures(random: Random): Features {
  const oneOf = (items: readonly number[]): number => items[random.below(items.length)] as number;
  const has = Object.fromEntries(FEATURES.map((feature) => [feature, random.below(3) > 0]));
  return {
    clientCount: 1 + random.below(CLIENT_COUNT_MAX),
    segmentBytesMax: oneOf(SEGMENT_BYTES),
    reserveBytes: oneOf(RESERVE_BYTES),
    hasShortWrites: random.below(4) === 0,
    has: has as Features["has"],
  };
}
