/**
 * One life of an engine whose bodies are stored in the journal, with a history
 * that follows it: bodies are put, dropped and moved out of segments that hold
 * few of them, snapshots are made, unused segments are removed, the disk fills
 * up, and everything may stop at any boundary of a disk operation.
 *
 * The history makes each frame durable as soon as it receives it, so a crash
 * that takes back a frame after it was reported is noticed.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { AreaClosing, type AreaStorage } from "../../../src/persistence/area-storage.ts";
import { codeOf } from "../../../src/persistence/disk/disk.ts";
import type { SyncedLocation } from "../../../src/persistence/journal/file-format.ts";
import { FrameFollower } from "../../../src/persistence/journal/frame-follower.ts";
import type { FileJournal } from "../../../src/persistence/journal/journal.ts";
import { SegmentRemoved } from "../../../src/persistence/journal/segment-reader.ts";
import { DeferredJournal } from "../deferred-journal.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import {
  type Backup,
  backUp,
  DIRECTORY,
  type EngineKind,
  recoverInto,
  type ServerOptions,
  takeSnapshot,
} from "../server.ts";
import { SimulatedWorld } from "../world.ts";
import { BodyEngine, bodiesBehind, dropFrame, putFrame } from "./body-engine.ts";

export const bodySubject: EngineKind<BodyEngine> = { area: "bodies", open: () => new BodyEngine() };

/** Mistakes of an engine that the checks must find. */
export interface BodyBug {
  /** Which segments it removes. */
  readonly mayRemove?: (segment: number) => boolean;
  /** What it reports to the history as durable. */
  readonly durableLocation?: (journal: FileJournal) => SyncedLocation;
}

/** What a life begins with, and what is known when everything stops. */
export interface BodyPast {
  /** All appended frames; the position of the first one is 1. */
  readonly frames: readonly Buffer[];
  /** A recovery must find at least this position. */
  readonly promised: number;
  /** The history has all frames up to this position. */
  readonly historyPosition: number;
  readonly backups: readonly Backup[];
}

export interface BodyCrash extends BodyPast {
  readonly disk: SimulatedDisk;
  readonly when: string;
}

export class BodyViolation extends Error {
  override name = "BodyViolation";
}

const ACTION_COUNT = 500;
const TICK_MS_MAX = 100;
const CAPTURE_ONE_IN = 12;
const KILL_ONE_IN = 4;
const SEGMENT_BYTES = [800, 5_000, 40_000];
const LONG_BYTES_MAX = 9_000;
const SHORT_BYTES_MAX = 200;

export class BodyLife {
  readonly crashes: BodyCrash[] = [];
  /** Bodies read back, frames reported to the history, segments kept and then removed. */
  readonly counts = { reads: 0, followed: 0, removed: 0 };
  readonly #disk: SimulatedDisk;
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #crashRandom: Random;
  readonly #world: SimulatedWorld;
  readonly #bug: BodyBug;
  readonly #engine = new BodyEngine();
  #frames: Buffer[];
  #promised: number;
  #historyPosition: number;
  /** The history has everything before this segment. */
  #historySegment = 0;
  #backups: readonly Backup[];
  #area: AreaStorage | undefined;
  #follower: FrameFollower | undefined;

  constructor(options: { disk: SimulatedDisk; clock: VirtualClock; seed: number; past: BodyPast; bug: BodyBug }) {
    const { frames, promised, historyPosition, backups } = options.past;
    this.#disk = options.disk;
    this.#clock = options.clock;
    this.#random = seededRandom(options.seed);
    this.#crashRandom = seededRandom(options.seed + 1);
    this.#world = new SimulatedWorld({
      ...{ disk: options.disk, random: this.#random, violation: BodyViolation },
      step: () => this.#step(),
      wait: () => this.#tick(),
    });
    this.#bug = options.bug;
    this.#frames = [...frames];
    this.#promised = promised;
    this.#historyPosition = historyPosition;
    this.#backups = backups;
  }

  async run(): Promise<void> {
    this.#disk.onBoundary = ({ kind, path }) => this.#capture(`after a ${kind} of ${path}`);
    await this.#start();
    for (let action = 0; action < ACTION_COUNT; action += 1) {
      this.#act();
      await this.#world.settle();
    }
    await this.#finish();
  }

  async #start(): Promise<void> {
    const engine = this.#engine;
    const recovery = recoverInto(
      { engine, journal: new DeferredJournal() },
      {
        ...this.#server,
        segmentBytesMax: SEGMENT_BYTES[this.#random.below(SEGMENT_BYTES.length)] as number,
        onBatchWritten: (batch) => {
          engine.written(batch);
          // The history may ask at any time, and finds most while something is under way.
          if (this.#random.below(2) === 0) this.#begin("follow", () => this.#follow());
        },
        mayRemove: this.#bug.mayRemove ?? ((segment) => this.#mayRemove(segment)),
      },
    );
    this.#area = (await this.#world.drive(recovery)).area;
    const { position } = this.#area.recovered;
    this.#frames = this.#frames.slice(0, position);
    this.#promised = position;
    const { historyPosition } = this;
    this.#follower = new FrameFollower({
      ...{ disk: this.#disk, directory: DIRECTORY, area: bodySubject.area, position: historyPosition },
      frame: (payload, told, { segment }) => {
        const isNext = told === this.#historyPosition + 1;
        if (!isNext || !this.#frames[told - 1]?.equals(payload))
          this.#world.fail(new BodyViolation(`The history received a wrong frame ${told}`));
        this.#historyPosition = told;
        this.#historySegment = segment;
        this.counts.followed += 1;
      },
    });
  }

  /** How this life's server is wired. */
  get #server(): ServerOptions<BodyEngine> {
    return {
      ...{ subject: bodySubject, harness: {}, mode: "always", onFatal: this.#world.fail },
      ...{ disk: this.#disk, clock: this.#clock, random: this.#random },
    };
  }

  get historyPosition(): number {
    return this.#historyPosition;
  }

  get #open(): AreaStorage {
    if (this.#area === undefined) throw new Error("The area must be open");
    return this.#area;
  }

  #mayRemove(segment: number): boolean {
    return segment < this.#historySegment && this.#engine.liveIn(segment).length === 0;
  }

  /** Stops in the middle of the work, or lets all work finish. */
  async #finish(): Promise<void> {
    const area = this.#open;
    const mayLose = this.#random.below(2) === 0 && Number.isFinite(this.#disk.freeBytes);
    if (!mayLose) this.#disk.freeBytes = Number.POSITIVE_INFINITY;
    if (!mayLose && this.#random.below(2) === 0)
      await this.#world.until("the last answer", () => !this.#world.isBusy());
    let lost: number | undefined;
    area.close().then((count) => {
      lost = count;
    }, this.#world.fail);
    let isLeft = false;
    this.#follower?.close().then(() => {
      isLeft = true;
    }, this.#world.fail);
    await this.#world.until("the end of the area", () => lost !== undefined && isLeft);
    this.#promised = this.#frames.length - (lost ?? 0);
    if (this.#disk.openCount > 0 && !this.#world.isBusy("snapshot", "backup"))
      throw new BodyViolation(`${this.#disk.openCount} files are still open`);
    this.#capture("at the end");
  }

  // Events.

  #act(): void {
    const area = this.#open;
    const chance = this.#random.below(100);
    if (chance < 14) this.#put();
    else if (chance < 24) this.#drop();
    else if (chance < 66) this.#step();
    else if (chance < 69) this.#tick();
    else if (chance < 72) this.#begin("close", () => area.closeSegment());
    else if (chance < 75) this.#begin("snapshot", () => this.#makeSnapshot());
    else if (chance < 79) this.#begin("removal", () => this.#removeUnneeded());
    else if (chance < 82) this.#clean();
    else if (chance < 86) this.#begin("read", () => this.#read());
    else if (chance < 96) this.#begin("follow", () => this.#follow());
    else if (chance < 97) this.#begin("backup", () => this.#backUp());
    else this.#fillOrFreeDisk();
  }

  #put(): void {
    const id = `${this.#frames.length}-${this.#random.below(2 ** 32)}`;
    const bytes =
      this.#random.below(6) === 0 ? this.#random.below(LONG_BYTES_MAX) : this.#random.below(SHORT_BYTES_MAX);
    this.#append(putFrame(id, Buffer.alloc(bytes, `${id}:${this.#random.below(2 ** 32)} `)), id);
  }

  #drop(): void {
    const ids = [...this.#engine.bodies.keys()];
    const id = ids[this.#random.below(ids.length)];
    if (id === undefined || this.#open.journal.refusal !== undefined) return;
    this.#frames.push(dropFrame(id));
    this.#engine.drop(this.#open.journal, id);
    this.#promise();
  }

  /** Moves all bodies out of a covered segment, as an engine does with nearly empty segments. */
  #clean(): void {
    const covered = this.#open.segments.filter(({ isCovered }) => isCovered);
    const segment = covered[this.#random.below(covered.length)];
    if (segment === undefined) return;
    const bodies = bodiesBehind(this.#frames);
    for (const id of this.#engine.liveIn(segment.number)) {
      this.#append(putFrame(id, bodies.get(id) as Buffer), id);
    }
  }

  #append(frame: Buffer, id: string): void {
    const { journal } = this.#open;
    if (journal.refusal !== undefined) return;
    this.#frames.push(frame);
    this.#engine.put(journal, id, frame);
    this.#promise();
  }

  #promise(): void {
    const { journal } = this.#open;
    const { end } = journal;
    if (end !== this.#frames.length) throw new BodyViolation(`The journal ends at ${end}, not ${this.#frames.length}`);
    void journal.whenSafe(end).then(() => {
      this.#promised = Math.max(this.#promised, end);
    });
  }

  async #read(): Promise<void> {
    const written = [...this.#engine.bodies].filter(([, place]) => place !== undefined);
    const [id, place] = written[this.#random.below(written.length)] ?? [];
    if (id === undefined || place === undefined) return;
    const expected = bodiesBehind(this.#frames).get(id);
    try {
      const body = await this.#open.read(place.segment, place.offset, place.bytes);
      this.counts.reads += 1;
      if (expected?.equals(body) !== true) throw new BodyViolation(`Body ${id} differs from what was put`);
    } catch (error) {
      // It may have been dropped or moved during the read.
      if (!(error instanceof SegmentRemoved) || this.#engine.bodies.get(id) === place) throw error;
    }
  }

  async #follow(): Promise<void> {
    const { journal } = this.#open;
    const place = this.#bug.durableLocation?.(journal) ?? journal.syncedLocation;
    await this.#follower?.follow(place);
    if (this.#historyPosition >= place.position) {
      this.#historySegment = Math.max(this.#historySegment, place.segment);
    }
  }

  async #removeUnneeded(): Promise<void> {
    const before = this.#coveredCount;
    await this.#open.removeUnneeded();
    this.counts.removed += Math.max(0, before - this.#coveredCount);
  }

  get #coveredCount(): number {
    return this.#open.segments.filter(({ isCovered }) => isCovered).length;
  }

  async #makeSnapshot(): Promise<void> {
    await takeSnapshot(this.#open, this.#server);
  }

  async #backUp(): Promise<void> {
    const directory = `/backup-${this.#random.below(2 ** 32)}`;
    const backup = await backUp(this.#open, this.#disk, directory);
    this.#backups = [...this.#backups, backup];
  }

  #fillOrFreeDisk(): void {
    const becomesFull = this.#random.below(4) === 0;
    this.#disk.freeBytes = becomesFull ? this.#random.below(3_000) : Number.POSITIVE_INFINITY;
  }

  // Disk and time.

  #begin(kind: string, work: () => Promise<unknown>): void {
    const isStop = (error: unknown): boolean => error instanceof AreaClosing || error instanceof SegmentRemoved;
    this.#world.begin(kind, work, (error) => codeOf(error) === "ENOSPC" || isStop(error));
  }

  #step(): void {
    this.#capture("under way");
    this.#disk.step(this.#random);
  }

  #tick(): void {
    const ms = this.#random.below(TICK_MS_MAX);
    this.#disk.passTime(ms);
    this.#clock.advance(ms);
  }

  #capture(when: string): void {
    const random = this.#crashRandom;
    if (random.below(CAPTURE_ONE_IN) > 0 && when !== "at the end") return;
    const disk = random.below(KILL_ONE_IN) === 0 ? this.#disk.afterKill(random) : this.#disk.afterPowerCut(random);
    this.crashes.push({
      ...{ disk, when, promised: this.#promised, historyPosition: this.#historyPosition },
      frames: [...this.#frames],
      backups: this.#backups,
    });
  }
}
