/**
 * The n-th operation of a disk fails, for every n of every kind (threats.md
 * S-04 … S-07). After a failure other than lack of space the program is asked
 * to end, nothing acknowledged is lost, and the next start continues. After
 * lack of space everything continues without a restart. `npm test` draws a part of the operations.
 *
 * To repeat:  LARDER_TEST_SIZE=test LARDER_FAILING_SEED=… npm run t -- test/simulation/store/failing-operations.test.ts
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { AreaClosing } from "../../../src/persistence/area-storage.ts";
import { codeOf } from "../../../src/persistence/disk/disk.ts";
import type { FsyncMode } from "../../../src/persistence/journal/journal.ts";
import { SyncFailure } from "../../../src/persistence/journal/segment-writer.ts";
import { defaultUser } from "../../../src/store/acl/built-in-users.ts";
import { isProof } from "../../budget.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { seedFrom } from "../../harness/seed.ts";
import { checkCrashState } from "../crash/check.ts";
import { Acknowledgements, History } from "../crash/history.ts";
import {
  type Fault,
  OPERATION_KINDS,
  type Operation,
  type OperationKind,
  SimulatedDisk,
} from "../disk/simulated-disk.ts";
import { DIRECTORY } from "../server.ts";
import { stateOf } from "./store-state.ts";
import { type Server, startServer, storeSubject, writeStoreSnapshot } from "./store-subject.ts";

const drawn = { oneIn: 3, random: seededRandom(seedFrom("LARDER_FAILING_SEED")) };
const MODES: readonly FsyncMode[] = ["always", "everysec", "no"];
/** At each moment that is checked. */
const POWER_CUTS = isProof() ? 4 : 2;
/** At each moment of a clean stop on a full disk. */
const POWER_CUTS_OF_A_STOP = isProof() ? 200 : 50;
/** Turns and quarters of a second after which nothing more can happen. */
const PATIENCE_TURNS = 24;
const TURN_MS = 250;

const caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" } as const;

/** A server that works through a list of tasks, and what it reported. */
class Subject {
  readonly clock = new VirtualClock();
  readonly told = new Acknowledgements();
  readonly fatals: unknown[] = [];
  /** Rejected requests to the area. */
  readonly failures: unknown[] = [];
  readonly disk: SimulatedDisk;
  readonly #mode: FsyncMode;
  readonly #reserveBytes: number;
  history: History<string>;
  server: Server | undefined;
  waitingCount = 0;

  constructor(disk: SimulatedDisk, options: { mode: FsyncMode; history?: History<string>; reserveBytes?: number }) {
    this.disk = disk;
    this.#mode = options.mode;
    this.#reserveBytes = options.reserveBytes ?? 0;
    this.history = options.history ?? new History([""]);
  }

  get running(): Server {
    assert.ok(this.server !== undefined, "the server must have started");
    return this.server;
  }

  /** Starts, or notes the failure. */
  async start(): Promise<void> {
    const { disk, clock } = this;
    const options = { disk, clock, mode: this.#mode, harness: {}, reserveBytes: this.#reserveBytes };
    const onFatal = (error: unknown): void => {
      this.fatals.push(error);
    };
    await this.#wait(
      startServer({ ...options, random: seededRandom(1), onFatal }).then((server) => {
        this.server = server;
        this.history = this.history.upTo(server.area.recovered.position);
      }),
    );
  }

  async ask(...words: string[]): Promise<void> {
    const { store, journal } = this.running;
    const reply = store.database("main").command(caller, words);
    this.history.note(journal.end, stateOf(store));
    const { end } = journal;
    const answered = Promise.resolve(reply).then(() => this.told.note(end, this.clock.monotonicMs()));
    await this.#wait(answered);
  }

  async closeSegment(): Promise<void> {
    await this.#wait(this.running.area.closeSegment());
  }

  async makeSnapshot(): Promise<void> {
    const { disk, clock } = this;
    const snapshot = async (): Promise<void> => {
      if (await writeStoreSnapshot({ disk, clock, random: seededRandom(2), harness: {} }))
        await this.running.area.adoptSnapshot();
    };
    await this.#wait(snapshot());
  }

  async close(): Promise<void> {
    await this.#wait(
      this.running.area.close().then((lost) => {
        assert.equal(lost, 0, "nothing is lost");
      }),
    );
  }

  /** Lets time pass, longer than any operation takes. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < PATIENCE_TURNS; turn += 1) await this.#turn();
  }

  /** Resolves when the work is done or failed, or cannot progress. */
  async #wait(work: Promise<unknown>): Promise<void> {
    this.waitingCount += 1;
    let isSettled = false;
    work.then(
      () => {
        isSettled = true;
        this.waitingCount -= 1;
      },
      (error: unknown) => {
        isSettled = true;
        this.waitingCount -= 1;
        this.failures.push(error);
      },
    );
    for (let turn = 0; turn < PATIENCE_TURNS && !isSettled && this.fatals.length === 0; turn += 1) await this.#turn();
  }

  async #turn(): Promise<void> {
    await nextTurn();
    await nextTurn();
    this.clock.advance(TURN_MS);
  }

  /** Checks that power cuts and a kill at this moment leave a right state with everything promised. */
  async check(): Promise<void> {
    const { disk, clock, history, told, server } = this;
    const random = seededRandom(3);
    const restart = { subject: storeSubject, harness: {} };
    const durable = server?.area.journal.synced ?? 0;
    const kill = Math.max(durable, told.position);
    const powerCut = this.#mode === "always" ? kill : durable;
    const facts = { history, told, when: "after a failure", end: history.end, backups: [] };
    const clocks = { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
    for (let i = 0; i < POWER_CUTS; i += 1) {
      const left = disk.afterPowerCut(random);
      const promised = { powerCut, kill: powerCut };
      await checkCrashState({ ...facts, ...clocks, disk: left, isPowerCut: true, promised }, restart, random);
    }
    const left = disk.afterKill(random);
    await checkCrashState(
      { ...facts, ...clocks, disk: left, isPowerCut: false, promised: { powerCut, kill } },
      restart,
      random,
    );
  }
}

async function emptyDisk(seed = 1): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed });
  await disk.mkdir(DIRECTORY);
  await disk.syncDirectory("/");
  return disk;
}

const tasks: readonly ((subject: Subject) => Promise<void>)[] = [
  (subject) => subject.ask("SET", "a", "1"),
  (subject) => subject.ask("SET", "b", "2", "PX", "100"),
  (subject) => subject.closeSegment(),
  (subject) => subject.ask("GET", "b"),
  (subject) => subject.ask("HSET", "h", "f", "v"),
  (subject) => subject.makeSnapshot(),
  (subject) => subject.ask("SET", "long", "x".repeat(9_000)),
  (subject) => subject.closeSegment(),
  (subject) => subject.ask("INCR", "a"),
  (subject) => subject.makeSnapshot(),
  (subject) => subject.close(),
];

/** Starts and works until the end, or until the program is asked to end. */
async function work(subject: Subject): Promise<void> {
  await subject.start();
  for (const task of tasks) {
    if (subject.fatals.length > 0 || subject.server === undefined) return;
    await task(subject);
  }
}

function failing(kind: OperationKind, ordinal: number, code: string): (operation: Operation) => Fault | undefined {
  return (operation) => (operation.kind === kind && operation.ordinal === ordinal ? { code } : undefined);
}

/** How many operations of each kind the work takes without failures. */
async function countOperations(mode: FsyncMode): Promise<(kind: OperationKind) => number> {
  const subject = new Subject(await emptyDisk(), { mode });
  await work(subject);
  assert.deepEqual([subject.fatals, subject.failures, subject.waitingCount], [[], [], 0]);
  return (kind) => subject.disk.countOf(kind);
}

/** The operations of some kinds, each kind from number 1 on. */
function operationsOf(
  kinds: readonly OperationKind[],
  countOf: (kind: OperationKind) => number,
): (readonly [OperationKind, number])[] {
  return kinds.flatMap((kind) => Array.from({ length: countOf(kind) }, (_, i) => [kind, i + 1] as const));
}

for (const mode of MODES) {
  test(`${mode}: loses nothing acknowledged when the n-th operation fails`, async (context) => {
    const countOf = await countOperations(mode);
    const operations = drawnPart(operationsOf(OPERATION_KINDS, countOf), drawn);
    for (const [kind, ordinal] of operations) await checkFailure(mode, kind, ordinal);
    context.diagnostic(`${operations.length} operations failed, each in a run of its own`);
  });
}

async function checkFailure(mode: FsyncMode, kind: OperationKind, ordinal: number): Promise<void> {
  const what = `${mode}: ${kind} number ${ordinal}`;
  const subject = new Subject(await emptyDisk(ordinal), { mode });
  const { disk } = subject;
  const faultOf = failing(kind, ordinal, "EIO");
  let path = "";
  disk.faultOf = (operation) => {
    const fault = faultOf(operation);
    if (fault !== undefined) path = operation.path;
    return fault;
  };
  await work(subject);
  const { fatals, failures, told } = subject;
  assert.ok(fatals.length + failures.length <= 1, `${what}: fails once: ${[...fatals, ...failures]}`);
  for (const error of [...fatals, ...failures]) {
    assert.ok(codeOf(error) === "EIO" || error instanceof SyncFailure, `${what}: ${error}`);
  }
  const isOfJournal = path.endsWith(".journal") && (kind === "write" || kind === "sync");
  // Another process makes snapshots: its failures do not concern the server.
  const isOfSnapshot = path.includes(".snapshot") || failures.length > 0;
  if (isOfJournal && !isOfSnapshot && subject.server !== undefined)
    assert.equal(fatals.length, 1, `${what}: the program is asked to end`);
  if (isOfSnapshot && kind !== "close") assert.equal(fatals.length, 0, what);
  if (fatals.length > 0) {
    const before = told.position;
    await subject.ask("SET", "late", "x");
    await subject.rest();
    assert.equal(told.position, before, `${what}: nothing more is acknowledged`);
  }
  await subject.check();
  disk.faultOf = () => undefined;
  const next = new Subject(disk.afterKill(seededRandom(1)), { mode, history: subject.history });
  await next.start();
  await next.ask("SET", "again", "1");
  assert.deepEqual([next.fatals, next.failures, next.waitingCount], [[], [], 0], `${what}: the next start`);
  await next.check();
}

test("a start on a failing disk changes nothing for the next start", async (context) => {
  const subject = new Subject(await emptyDisk(), { mode: "everysec" });
  await subject.start();
  for (const task of tasks.slice(0, -4)) await task(subject);
  const torn = subject.disk.afterKill(seededRandom(1));
  const last = [...torn.paths].filter((path) => path.endsWith(".journal")).at(-1);
  assert.ok(last !== undefined);
  torn.put(last, torn.bytesOf(last).subarray(0, -100));
  const clean = new Subject(torn.restarted({ seed: 1 }), { mode: "always", history: subject.history });
  await clean.start();
  const { position } = clean.running.area.recovered;
  assert.ok(clean.running.area.recovered.tail !== undefined, "the tail must have something to cut off");
  let runs = 0;
  for (const kind of OPERATION_KINDS) {
    for (let ordinal = 1; ordinal <= clean.disk.countOf(kind); ordinal += 1) {
      runs += 1;
      const disk = torn.restarted({ seed: ordinal });
      disk.faultOf = failing(kind, ordinal, "EIO");
      const failed = new Subject(disk, { mode: "always", history: subject.history });
      await failed.start();
      disk.faultOf = () => undefined;
      const next = new Subject(disk.afterPowerCut(seededRandom(ordinal)), { mode: "always", history: subject.history });
      await next.start();
      assert.deepEqual(next.failures, [], `${kind} number ${ordinal}`);
      const found = [next.running.area.recovered.position, stateOf(next.running.store)];
      assert.deepEqual(found, [position, subject.history.stateAt(position)], `${kind} number ${ordinal}`);
    }
  }
  context.diagnostic(`${runs} operations failed, each in a start of its own`);
});

test("a start that reads a few bytes at a time finds the same", async () => {
  const subject = new Subject(await emptyDisk(), { mode: "no" });
  await subject.start();
  for (const task of tasks.slice(0, -1)) await task(subject);
  const disk = subject.disk.afterKill(seededRandom(1));
  const random = seededRandom(2);
  disk.faultOf = ({ kind }) => (kind === "read" || kind === "write" ? { bytesMax: 1 + random.below(9) } : undefined);
  const next = new Subject(disk, { mode: "no", history: subject.history });
  await next.start();
  assert.equal(stateOf(next.running.store), stateOf(subject.running.store));
});

for (const mode of MODES) {
  test(`${mode}: continues when space is free after a disk full from the n-th write on`, async () => {
    const countOf = await countOperations(mode);
    for (const [kind, ordinal] of drawnPart(operationsOf(["write", "create"], countOf), drawn))
      await checkNoSpace(mode, kind, ordinal);
  });
}

async function checkNoSpace(mode: FsyncMode, kind: OperationKind, ordinal: number): Promise<void> {
  const what = `${mode}: no space from ${kind} number ${ordinal} on`;
  const subject = new Subject(await emptyDisk(ordinal), { mode });
  const { disk } = subject;
  let isFull = false;
  disk.faultOf = (operation) => {
    isFull ||= operation.kind === kind && operation.ordinal === ordinal;
    const needsSpace = operation.kind === "write" || operation.kind === "create";
    return isFull && needsSpace ? { code: "ENOSPC" } : undefined;
  };
  await subject.start();
  if (subject.server === undefined) {
    assert.deepEqual(subject.failures.map(codeOf), ["ENOSPC"], what);
    disk.faultOf = () => undefined;
    await subject.start();
    subject.failures.length = 0;
  }
  for (const task of tasks.slice(0, -1)) await task(subject);
  const { store, journal } = subject.running;
  if (journal.refusal !== undefined) {
    assert.equal(journal.refusal, "No space left on device", what);
    const before = stateOf(store);
    const { end } = journal;
    await subject.ask("SET", "refused", "x");
    assert.deepEqual([stateOf(store), journal.end], [before, end], `${what}: a refused write changes nothing`);
  }
  await subject.check();
  disk.faultOf = () => undefined;
  await subject.rest();
  assert.equal(journal.refusal, undefined, `${what}: writes are accepted again`);
  assert.equal(subject.waitingCount, 0, `${what}: every client has an answer`);
  assert.deepEqual(subject.fatals, [], what);
  for (const error of subject.failures) assert.equal(codeOf(error), "ENOSPC", what);
  subject.failures.length = 0;
  await subject.ask("SET", "after", "x");
  await subject.check();
  await subject.close();
  assert.deepEqual([subject.fatals, subject.failures, subject.waitingCount], [[], [], 0], what);
  const { end } = subject.history;
  assert.equal(subject.told.position, end, what);
  const next = new Subject(disk.afterPowerCut(seededRandom(ordinal)), { mode, history: subject.history });
  await next.start();
  assert.deepEqual([next.running.area.recovered.position, stateOf(next.running.store)], [end, stateOf(store)], what);
}

test("reserved space answers accepted requests on a full disk, and reads continue", async () => {
  const subject = new Subject(await emptyDisk(), { mode: "always", reserveBytes: 4_096 });
  await subject.start();
  await subject.ask("SET", "a", "1");
  subject.disk.freeBytes = 10;
  await subject.ask("SET", "b", "2");
  assert.equal(subject.running.journal.refusal, "No space left on device");
  await subject.ask("GET", "b");
  assert.equal(subject.waitingCount, 0);
  await subject.check();
  subject.disk.freeBytes = 100_000;
  await subject.rest();
  assert.equal(subject.running.journal.refusal, undefined);
});

test("a power cut in a clean stop on a full disk leaves a readable segment", async () => {
  const subject = new Subject(await emptyDisk(), { mode: "always" });
  await subject.start();
  await subject.ask("SET", "a", "1");
  subject.disk.freeBytes = 60;
  await subject.ask("SET", "b", "x".repeat(200));
  const cuts: SimulatedDisk[] = [];
  const random = seededRandom(1);
  subject.disk.onBoundary = () => {
    for (let i = 0; i < POWER_CUTS_OF_A_STOP; i += 1) cuts.push(subject.disk.afterPowerCut(random));
  };
  assert.equal(await subject.running.area.close(), 1);
  assert.ok(cuts.length > 0);
  for (const cut of cuts) {
    const next = new Subject(cut, { mode: "always" });
    await next.start();
    assert.deepEqual(next.failures, []);
    assert.equal(next.running.area.recovered.position, 2);
  }
});

test("a backup that waits for space does not delay a clean stop and does not count as made", async () => {
  const subject = new Subject(await emptyDisk(), { mode: "everysec" });
  await subject.start();
  await subject.ask("SET", "a", "1");
  await subject.disk.mkdir("/backup");
  subject.disk.freeBytes = 0;
  await subject.ask("SET", "b", "2");
  const backup = subject.running.area.backUp("/backup").then(
    () => "made",
    (error: unknown) => error,
  );
  await subject.rest();
  assert.equal(await subject.running.area.close(), 1);
  assert.ok((await backup) instanceof AreaClosing);
});
