/**
 * One life of the messaging engine on the code of persistence and a simulated
 * disk, from a recovery to a crash or a stop. Only the life moves time and the
 * disk, so a life is the same each time.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Journal, NullJournal, OWNER_MOVES } from "../../../src/kernel/journal.ts";
import { type Log, silentLog } from "../../../src/kernel/log.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { BodySource } from "../../../src/messaging/bodies/body.ts";
import { moveBodies } from "../../../src/messaging/bodies/cleaning.ts";
import { Messaging } from "../../../src/messaging/messaging.ts";
import { MovedUser } from "../../../src/messaging/records/moved-user.ts";
import { replayFrame } from "../../../src/messaging/records/replay.ts";
import { snapshotFrames } from "../../../src/messaging/records/snapshot.ts";
import type { MessagingState } from "../../../src/messaging/state/messaging-state.ts";
import type { User } from "../../../src/messaging/state/user.ts";
import type { AreaStorage } from "../../../src/persistence/area-storage.ts";
import { codeOf } from "../../../src/persistence/disk/disk.ts";
import { DeferredJournal } from "../deferred-journal.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { type Harness, recoverInto, type ServerOptions, takeSnapshot } from "../server.ts";
import { SimulatedWorld } from "../world.ts";
import type { Admission } from "./admission.ts";
import { SimulatedDestinations } from "./destinations.ts";
import type { Duplicates } from "./duplicates.ts";
import type { Firings } from "./firings.ts";
import { CALL_MS_MAX, type Freezes } from "./freezes.ts";
import type { HistoryCopy } from "./history-copy.ts";
import type { Ledger } from "./ledger.ts";
import { checkBodies, checkSlots, checkState } from "./state-rules.ts";
import { stateLines } from "./state-text.ts";
import type { Swarm } from "./swarm.ts";
import { check, Violation } from "./violation.ts";

/** Mistakes to be found. */
export interface MessagingBug extends Pick<Harness<Messaging>, "journal"> {
  readonly source?: (source: BodySource) => BodySource;
  /** Breaks a part of the engine before it recovers. */
  readonly beforeRecovery?: (messaging: Messaging) => void;
  /** Breaks the recovered engine. */
  readonly beforeStart?: (messaging: Messaging) => void;
  /** Where the history continues: it has everything up to `told`, and `recovered` was found. */
  readonly historyPosition?: (told: number, recovered: number) => number;
}

/** The checks of messaging across lives, with the settings of the run. */
export interface Model {
  readonly swarm: Swarm;
  readonly ledger: Ledger;
  readonly admission: Admission;
  readonly duplicates: Duplicates;
  readonly firings: Firings;
  readonly freezes: Freezes;
  readonly history: HistoryCopy;
  readonly bug: MessagingBug;
}

/** The disk must be idle after this many rounds. */
const DRAIN_ROUNDS_MAX = 20_000;
const WAIT_MS_MAX = 50;
/** Of every frame, where places of bodies do not matter. */
const PLACE = { segment: 1, offset: 0 };
const KEYS = { current: "sig_current", next: "sig_next" };

export class Life {
  readonly model: Model;
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly destinations: SimulatedDestinations;
  readonly messaging: Messaging;
  readonly #random: Random;
  readonly #journal = new DeferredJournal();
  readonly #world: SimulatedWorld;
  #area: AreaStorage | undefined;
  #isStarted = false;
  #isDead = false;

  constructor(model: Model, { disk, clock, seed }: { disk: SimulatedDisk; clock: VirtualClock; seed: number }) {
    const { swarm, ledger, admission, bug } = model;
    this.model = model;
    this.disk = disk;
    this.clock = clock;
    this.#random = seededRandom(seed);
    this.#world = new SimulatedWorld({
      ...{ disk, random: this.#random, violation: Violation },
      wait: () => this.pass(this.#random.below(WAIT_MS_MAX)),
      settled: () => this.#check(),
    });
    this.#journal.onAppend = (frame, position) => {
      check(position > 0, () => "A recovery must append nothing");
      this.guard(() => ledger.appended(frame, position));
    };
    this.destinations = new SimulatedDestinations({
      ...{ clock, swarm, random: seededRandom(seed + 1) },
      watcher: {
        called: (call) => this.guard(() => ledger.called(call)),
        ended: (call, result, tell) => {
          if (!this.#isDead) this.guard(() => ledger.ended(call, result, tell));
        },
      },
    });
    this.messaging = this.#make(this.#journal, seed + 2);
    ledger.onStart = (message, entry) => {
      admission.started(message, entry, { state: this.messaging.engine.state, clock });
    };
    ledger.onAccepted = (message) => {
      if (message.fields.scheduleId !== undefined) model.firings.seen(this.messaging.engine.state, message);
    };
    ledger.driftMs = () => clock.monotonicMs() - clock.nowMs();
    ledger.startDriftMs = ledger.driftMs();
    const { scheduler } = this.messaging.engine;
    const suspend = scheduler.suspend.bind(scheduler);
    scheduler.suspend = (message, now) => {
      this.guard(() => ledger.gaveUp(message.sequence));
      suspend(message, now);
    };
    bug.beforeRecovery?.(this.messaging);
  }

  get area(): AreaStorage {
    if (this.#area === undefined) throw new Error("The area must be open");
    return this.#area;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get refusal(): string | undefined {
    return this.#journal.refusal;
  }

  /** The position after the next appended frame. */
  get nextPosition(): number {
    return this.#journal.end + 1;
  }

  get position(): number {
    return this.#journal.end;
  }

  /** Everything is on the disk, and the disk is idle. */
  get isSynced(): boolean {
    return this.disk.underwayCount === 0 && this.area.journal.synced === this.position;
  }

  // Start.

  async open(isCrash: boolean): Promise<void> {
    const { swarm, ledger, admission, history, bug } = this.model;
    const { messaging } = this;
    const { bodies } = messaging.engine.state;
    const recovery = recoverInto(
      { engine: messaging, journal: this.#journal },
      {
        ...this.#server,
        onBatchWritten: (batch) => bodies.written(batch),
        onSyncedLocation: ({ position }) => {
          if (this.#random.below(4) === 0) history.follow(ledger.frames, position);
        },
        mayRemove: (segment) =>
          !bodies.liveBytes.has(segment) &&
          this.#area !== undefined &&
          segment < this.#area.journal.syncedLocation.segment,
      },
    );
    this.#area = (await this.#world.drive(recovery)).area;
    const { position } = this.area.recovered;
    ledger.recovered(position, isCrash);
    admission.recovered(position, messaging.engine.state);
    this.model.duplicates.recovered(position);
    this.model.firings.recovered(position);
    this.model.freezes.recovered();
    history.position = bug.historyPosition?.(history.position, position) ?? history.position;
    check(history.position <= position, () => `The history is at ${history.position}, but ${position} is recovered`);
    this.#compareWithReplay();
    // Each user takes as long as a replay of all.
    if (position % 4 === 0) this.#compareWithMoves();
    checkState(messaging.engine.state, ledger);
    bodies.open(bug.source?.(this.area) ?? this.area);
    await this.checkBodies();
    for (const name of swarm.userNames) await this.drive(messaging.createUser(name, KEYS));
    for (const name of this.model.freezes.names) this.freeze(name);
    bug.beforeStart?.(messaging);
    messaging.engine.start();
    this.#isStarted = true;
    await this.settle();
  }

  /** The state must be the result of all frames together, whatever snapshots lie between. */
  #compareWithReplay(): void {
    const { duplicates, ledger, swarm } = this.model;
    const plain = this.#make(new NullJournal(), 0);
    for (const frame of ledger.frames) plain.replay(frame, PLACE);
    const { deduplicationWindowMs } = swarm.limits;
    duplicates.clockSeen(this.clock.nowMs());
    const expected = stateLines(plain.engine.state, deduplicationWindowMs, duplicates.latestMs);
    const found = stateLines(this.messaging.engine.state, deduplicationWindowMs, duplicates.latestMs);
    for (let line = 0; line < Math.max(expected.length, found.length); line += 1) {
      const text = (): string => `The recovered state has\n${found[line]}\nbut the frames give\n${expected[line]}`;
      check(expected[line] === found[line], text);
    }
  }

  /** A user that moves to another journal takes along what a snapshot has of it. */
  #compareWithMoves(): void {
    const { ledger, swarm } = this.model;
    const whole = this.#make(new NullJournal(), 0).engine.state;
    for (const frame of ledger.frames) replayFrame(whole, frame, PLACE);
    const recordsOf = (state: MessagingState, name: string): readonly string[] =>
      Array.from(
        snapshotFrames(state, (user) => user.name === name),
        (frame) => Buffer.from(frame).toString("latin1"),
      ).slice(1);
    for (const name of swarm.userNames) {
      const moved = new MovedUser({ name, number: whole.findUser(name)?.number ?? 0, sequence: 0 });
      for (const frame of ledger.frames) moved.replay(frame, PLACE);
      const [expected, found] = [recordsOf(whole, name), recordsOf(moved.state, name)];
      const isSame = expected.length === found.length && expected.every((frame, index) => frame === found[index]);
      check(isSame, () => `The records of ${name} that move differ from those of a snapshot`);
    }
  }

  async checkBodies(): Promise<void> {
    await this.drive(checkBodies(this.messaging.engine.state, this.model.ledger));
  }

  /** How this life's server is wired. */
  get #server(): ServerOptions<Messaging> {
    const { swarm, bug } = this.model;
    return {
      subject: { area: "messaging", open: ({ journal }) => this.#make(journal, 0) },
      ...{ disk: this.disk, clock: this.clock, random: this.#random, mode: "always", harness: bug },
      ...{ segmentBytesMax: swarm.segmentBytesMax, onFatal: this.fail },
    };
  }

  #make(journal: Journal, seed: number): Messaging {
    const { swarm } = this.model;
    return new Messaging({
      ...{ journal, clock: this.clock, random: seededRandom(seed), limits: swarm.limits, log: this.#log },
      outbound: this.destinations,
      settings: { spelling: "both", region: "" },
      heartbeatMs: swarm.heartbeatMs,
      logReader: { list: async () => ({ entries: [], cursor: undefined }) },
    });
  }

  /** Reports schedules whose next moment was corrected. */
  get #log(): Log {
    const { firings } = this.model;
    return {
      ...silentLog,
      warn: (_text, { user, schedule } = {}) => {
        const number = this.messaging.engine.state.findUser(String(user))?.number;
        if (number !== undefined && schedule !== undefined) firings.put(number, String(schedule));
      },
    };
  }

  // Moves of users.

  /** As the service does when the user is to move, at a start too. */
  freeze(name: string): void {
    const { freezes, ledger } = this.model;
    const { engine } = this.messaging;
    const user = engine.state.findUser(name);
    if (user === undefined) return;
    freezes.begin(user, () => this.clock.monotonicMs());
    this.#journal.heldOf = (owner) => (freezes.isMoving((owner as User).number) ? OWNER_MOVES : undefined);
    engine.freeze(user, CALL_MS_MAX).then(() => {
      if (this.#isDead || !user.isFrozen || user.isDropped) return;
      this.guard(() => freezes.standsStill(user.number, ledger.inFlight.values()));
    }, this.fail);
  }

  thaw(user: User): void {
    this.model.freezes.end(user);
    this.messaging.engine.thaw(user);
  }

  // End.

  /** Nothing more happens in it; what is under way on the disk is left to chance. */
  die(): void {
    this.#isDead = true;
    this.#journal.die();
    this.messaging.engine.stop();
  }

  /** Ends as a server does that is asked to stop. */
  async stop(): Promise<void> {
    this.disk.freeBytes = Number.POSITIVE_INFINITY;
    await this.until("the end of what was begun", () => !this.#world.isBusy());
    this.die();
    await this.drive(this.area.close());
    check(this.disk.openCount === 0, () => `${this.disk.openCount} files are still open`);
  }

  // Background work.

  /** Work that takes time: one of a kind at a time, and a full disk may end it. */
  begin(kind: string, work: () => Promise<unknown>): void {
    this.#world.begin(kind, work, (fault) => this.#isDead || codeOf(fault) === "ENOSPC");
  }

  async takeSnapshot(): Promise<void> {
    await takeSnapshot(this.area, this.#server);
  }

  async clean(): Promise<void> {
    const covered = this.area.segments.filter(({ isCovered }) => isCovered);
    if (covered.length === 0 || this.refusal !== undefined) return;
    await moveBodies(this.messaging.engine, covered);
    await this.area.removeUnneeded();
  }

  // Disk and time.

  stepDisk(): void {
    this.#world.step();
  }

  /** Lets time pass without progress of the disk. */
  pass(ms: number): void {
    this.guard(() => this.clock.advance(ms));
  }

  /** Lets the disk do all that was requested. */
  async drain(): Promise<void> {
    for (let round = 0; round < DRAIN_ROUNDS_MAX; round += 1) {
      if (this.disk.underwayCount > 0) this.stepDisk();
      await this.settle();
      if (this.isSynced || this.refusal !== undefined) return;
    }
    throw new Violation("The disk never became idle");
  }

  /** Lets started work continue, and throws the first fault. */
  settle(): Promise<void> {
    return this.#world.settle();
  }

  #check(): void {
    const { ledger } = this.model;
    ledger.wallMaxMs = Math.max(ledger.wallMaxMs, this.clock.nowMs());
    if (!this.#isDead && this.#isStarted) checkSlots(this.messaging.engine, this.model, this.isSynced);
  }

  /** Drives disk and time until a promise is settled. */
  async drive(work: Promise<unknown>): Promise<void> {
    await this.#world.drive(work);
  }

  until(what: string, isDone: () => boolean): Promise<void> {
    return this.#world.until(what, isDone);
  }

  guard(work: () => void): void {
    this.#world.guard(work);
  }

  readonly fail = (fault: unknown): void => {
    this.#world.fail(fault);
  };
}
