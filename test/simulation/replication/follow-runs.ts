/**
 * Runs of a server whose data directory is copied, and of a follower of the copy: both
 * crash and lose power at any step, the server is restored to earlier moments, and the
 * store fails, doubts, lags and loses what no restore needs.
 *
 * (1) At every moment the directory of the follower, as a kill or a power cut leaves it,
 *     is either refused by a promotion, or becomes a data directory. After a promotion that
 *     ended at some step it is a data directory, or the next follower goes on.
 * (2) Each area of it has the state that the server of the recorded generation had at its
 *     position, with everything that was durable at the time to which the record calls it
 *     complete, and with its bodies.
 * (3) While a follower runs, its places and times in a generation do not go back.
 * (4) After the last life, a promotion that reads the store has everything.
 */
import assert from "node:assert/strict";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { listAreaFiles } from "../../../src/persistence/area-files.ts";
import { prepareDataDirectory } from "../../../src/persistence/data-directory.ts";
import { SyncFailure } from "../../../src/persistence/journal/segment-writer.ts";
import { readArea } from "../../../src/persistence/recovery.ts";
import { NotFollowing, promoteDirectory } from "../../../src/replication/follow/promotion.ts";
import { type FollowedPlace, type FollowRecord, readRecord } from "../../../src/replication/follow/record.ts";
import { type RestoredArea, restoreCopy } from "../../../src/replication/restore.ts";
import type { Allowance } from "../../budget.ts";
import { dyingDisk, isDeath } from "../disk/intercepted-disk.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { AREAS, COPY_KEY, CopyLife, DATA, KEEP_MS } from "./copy-life.ts";
import { FOLLOWER, type FollowBug, FollowLife, HISTORY_FILE } from "./follow-life.ts";
import { assertBodies, ModelState } from "./model-area.ts";
import { ModelObjectStore, type StoreTrouble } from "./model-object-store.ts";

export interface FollowCounts {
  /** Of followers. */
  lives: number;
  sources: number;
  /** Servers that were restored from the copy, to its newest moment or an earlier one. */
  restored: number;
  snapshots: number;
  promotions: number;
  /** Directories that had nothing to promote yet, and those between two states. */
  refusals: number;
  between: number;
  /** Promotions that ended at some step, after which a follower went on. */
  interrupted: number;
  /** Promotions of a generation after the first one, and with a snapshot or a log of messages. */
  laterGenerations: number;
  withSnapshots: number;
  histories: number;
}

export interface FollowSummary extends FollowCounts {
  readonly runs: number;
  readonly violation: SeedViolation | undefined;
}

export interface FollowRunOptions {
  readonly seed: number;
  readonly allowance: Allowance;
  readonly bug?: FollowBug;
}

type Texts = ReadonlyMap<string, ReadonlyMap<number, string>>;

const NOTHING: FollowCounts = {
  ...{ lives: 0, sources: 0, restored: 0, snapshots: 0, promotions: 0, refusals: 0, between: 0 },
  ...{ interrupted: 0, laterGenerations: 0, withSnapshots: 0, histories: 0 },
};
const ACTIONS_MIN = 1_000;
const ACTIONS_MAX = 5_000;
const ROUND_COUNT_MAX = 40_000;
const DOUBT_ONE_IN = [0, 100, 30];
const SNAPSHOT_ONE_IN = [0, 40, 150];
const TOKENS = '{"token":"secret"}\n';
const areaNames = AREAS.map(({ name }) => name);

export async function runFollowLives({
  seed,
  allowance,
  bug = (disk) => disk,
}: FollowRunOptions): Promise<FollowSummary> {
  const counts = { ...NOTHING };
  const { runs, violation } = await runSeeds(
    {
      ...{ seed, allowance, runsMin: 1, counted: () => counts.lives },
      seen: () => [counts.lives, counts.promotions, counts.refusals, counts.snapshots, counts.sources],
    },
    (runSeed) => new FollowRun(seededRandom(runSeed), bug, counts).run(),
  );
  return { ...counts, runs, violation };
}

export function describeFollowers({ violation: _, ...counts }: FollowSummary, seed: number): string {
  return `seed ${seed}: ${Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ")}`;
}

class FollowRun {
  readonly #random: Random;
  readonly #bug: FollowBug;
  readonly #counts: FollowCounts;
  readonly #store = new ModelObjectStore();
  readonly #sources: CopyLife[] = [];
  readonly #snapshotOneIn: number;
  readonly #doubtOneIn: number;
  /** By follower, generation and area. keeps (3) */
  readonly #reached = new Map<string, FollowedPlace>();
  #checked: FollowRecord | undefined;
  #wallMs = new VirtualClock().nowMs();
  #follower: FollowLife | undefined;
  #isDown = false;
  #isLagging = false;
  #fault: unknown;

  constructor(random: Random, bug: FollowBug, counts: FollowCounts) {
    this.#random = random;
    this.#bug = bug;
    this.#counts = counts;
    this.#snapshotOneIn = SNAPSHOT_ONE_IN[random.below(SNAPSHOT_ONE_IN.length)] as number;
    this.#doubtOneIn = DOUBT_ONE_IN[random.below(DOUBT_ONE_IN.length)] as number;
  }

  async run(): Promise<void> {
    const disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir(DATA);
    await prepareDataDirectory(disk, DATA, areaNames);
    disk.put(`${DATA}/tokens.json`, Buffer.from(TOKENS));
    if (this.#random.below(2) === 0) this.#store.listCountMax = 3;
    const followerDisk = new SimulatedDisk({ seed: 1 });
    await followerDisk.mkdir(FOLLOWER);
    await followerDisk.syncDirectory("/");
    this.#startSource(disk, new Map());
    this.#startFollower(followerDisk);
    // Later starts of the server are interrupted often enough.
    if (this.#random.below(4) > 0)
      await this.#until("a begin", () => this.#source.isStarted && this.#source.copier.state.phase !== "starting");
    const actions = ACTIONS_MIN + this.#random.below(ACTIONS_MAX - ACTIONS_MIN);
    for (let action = 0; action < actions; action += 1) {
      await this.#act();
      await this.#settle();
    }
    await this.#end();
  }

  // Lives.

  get #source(): CopyLife {
    return this.#sources.at(-1) as CopyLife;
  }

  #startSource(disk: SimulatedDisk, known: Texts): void {
    this.#counts.sources += 1;
    const life = new CopyLife({
      disk: disk.restarted({ seed: this.#random.below(2 ** 32), isStepped: true }),
      clock: new VirtualClock(this.#wallMs),
      ...{ store: this.#store, random: this.#random, bug: {}, known, hasReadFault: () => false },
      failed: (error) => this.#fail(error),
    });
    this.#sources.push(life);
    life.start().catch((error: unknown) => life.failed(error));
  }

  /** The server crashes, and starts again or on a machine with a restored directory. */
  async #restartSource(): Promise<void> {
    const life = this.#source;
    const how = this.#random.below(3);
    const disk = how === 0 ? life.disk.afterKill(this.#random) : life.disk.afterPowerCut(this.#random);
    const restored = how === 2 && !this.#isLagging ? await this.#restoredSource() : undefined;
    life.crash(this.#random);
    if (restored === undefined) this.#startSource(disk, life.texts);
    else this.#startSource(restored.disk, restored.known);
  }

  async #restoredSource(): Promise<{ readonly disk: SimulatedDisk; readonly known: Texts } | undefined> {
    const atMs = this.#random.below(2) === 0 ? undefined : this.#wallMs - this.#random.below(KEEP_MS / 4);
    const disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir(DATA);
    await disk.syncDirectory("/");
    try {
      const { areas, generation } = await restoreCopy({
        ...{ store: this.#store.client(), disk, directory: DATA, staging: `${DATA}/staging`, atMs, key: COPY_KEY },
        ...{ areas: areaNames, historyFile: HISTORY_FILE },
      });
      this.#counts.restored += 1;
      const { texts } = this.#sourceOf(generation);
      const upTo = (area: string, position: number): ReadonlyMap<number, string> =>
        new Map([...(texts.get(area) ?? [])].filter(([each]) => each <= position));
      return { disk, known: new Map(areas.map(({ area, position }) => [area, upTo(area, position)])) };
    } catch {
      return undefined; // Other simulations restore; here nothing may have been copied yet.
    }
  }

  #sourceOf(generation: number): CopyLife {
    return this.#sources.find(({ copier }) => copier.state.generation === generation) as CopyLife;
  }

  #startFollower(disk: SimulatedDisk): void {
    this.#counts.lives += 1;
    const life = new FollowLife({
      disk: disk.restarted({ seed: this.#random.below(2 ** 32), isStepped: true }),
      clock: new VirtualClock(this.#wallMs),
      ...{ store: this.#store, bug: this.#bug, failed: (error) => this.#fail(error) },
    });
    this.#follower = life;
    life.start().catch((error: unknown) => {
      if (!life.isOver) this.#fail(error);
    });
  }

  async #crashFollower(): Promise<void> {
    const life = this.#follower as FollowLife;
    const disk = this.#crashed(life);
    life.crash(this.#random);
    // A source of its own: runs without it stay what they were.
    const random = seededRandom(this.#wallMs % 2 ** 32);
    const left = random.below(3) === 0 ? await this.#interruptedPromotion(disk, random) : undefined;
    this.#startFollower(left ?? disk);
  }

  /** The disk after a promotion that ended at some step. Undefined: it was complete, or there was nothing to promote. */
  async #interruptedPromotion(disk: SimulatedDisk, random: Random): Promise<SimulatedDisk | undefined> {
    const own = disk.restarted({ seed: 1 });
    const record = await readRecord(own, FOLLOWER);
    if (record?.phase !== "following") return undefined;
    const dying = dyingDisk(own, random.below(60));
    const isDone = await promoteDirectory({ disk: dying, directory: FOLLOWER, record }).then(
      () => true,
      (error: unknown) => {
        if (!isDeath(error instanceof SyncFailure ? error.cause : error)) throw error;
        return false;
      },
    );
    const left = random.below(2) === 0 ? own : own.afterPowerCut(random);
    if (isDone || left.paths.includes(`${FOLLOWER}/format`)) return undefined;
    this.#counts.interrupted += 1;
    return left;
  }

  #crashed({ disk }: FollowLife): SimulatedDisk {
    return this.#random.below(2) === 0 ? disk.afterKill(this.#random) : disk.afterPowerCut(this.#random);
  }

  // Events.

  async #act(): Promise<void> {
    const source = this.#source;
    const follower = this.#follower as FollowLife;
    const chance = this.#random.below(100);
    if (chance < 15) this.#ask(source);
    else if (chance < 35) stepDisk(source.disk, this.#random, 12);
    else if (chance < 50) await this.#stepCalls(source);
    else if (chance < 70) stepDisk(follower.disk, this.#random, 12);
    else if (chance < 86) await this.#stepCalls(follower);
    else if (chance < 93) this.#advance(this.#random.below(300));
    else if (chance < 94) this.#advance(this.#random.below(3_000));
    else if (chance < 95) this.#isDown = !this.#isDown && this.#random.below(3) === 0;
    else if (chance < 96) {
      this.#isLagging = !this.#isLagging && this.#random.below(2) === 0;
      this.#store.lag(this.#isLagging);
    } else if (chance < 98) await this.#tryPromotion(this.#crashed(follower));
    else if (this.#random.below(6) === 0) await this.#crashFollower();
    else if (this.#random.below(16) === 0) await this.#restartSource();
    if (this.#snapshotOneIn > 0 && source.isStarted && this.#random.below(this.#snapshotOneIn) === 0) {
      this.#counts.snapshots += 1;
      source.snapshot(source.areas[this.#random.below(source.areas.length)] as CopyLife["areas"][number]);
    }
  }

  #ask(life: CopyLife): void {
    if (!life.isStarted) return;
    for (let count = this.#random.below(4); count >= 0; count -= 1)
      life.areas[this.#random.below(life.areas.length)]?.ask();
  }

  async #stepCalls({ calls }: CopyLife | FollowLife): Promise<void> {
    for (let count = this.#random.below(4); count >= 0; count -= 1) {
      if (calls.count > 0) calls.step(this.#random, this.#trouble());
      await nextTurn();
    }
  }

  #trouble(): StoreTrouble {
    if (this.#isDown) return "before";
    if (this.#doubtOneIn === 0 || this.#random.below(this.#doubtOneIn) > 0) return "none";
    return this.#random.below(2) === 0 ? "before" : "after";
  }

  #advance(ms: number): void {
    this.#wallMs += ms;
    this.#source.clock.advance(ms);
    this.#follower?.clock.advance(ms);
  }

  async #settle(): Promise<void> {
    await nextTurn();
    await nextTurn();
    this.#checkForwards();
    if (this.#fault !== undefined) throw this.#fault;
  }

  #fail(error: unknown): void {
    this.#fault ??= error;
  }

  /** keeps (4) */
  async #end(): Promise<void> {
    this.#isDown = false;
    this.#isLagging = false;
    this.#store.lag(false);
    const source = this.#source;
    const follower = this.#follower as FollowLife;
    await this.#until("a begin", () => source.isStarted && source.copier.state.phase !== "starting");
    await this.#drive("a stop of the server", async () => {
      for (const area of source.areas) await area.storage.close();
      await source.copier.close({ withinMs: 1_000_000_000 });
    });
    await this.#until("a follower", () => follower.follower !== undefined);
    await this.#drive("a last pass", () => follower.follower?.finish(1_000_000_000) ?? Promise.resolve());
    const promoted = await this.#tryPromotion(follower.disk.afterPowerCut(this.#random));
    assert.ok(promoted !== undefined, "a directory that has caught up is promoted");
    assert.equal(promoted.record.generation, source.copier.state.generation);
    for (const { area, position } of promoted.areas)
      assert.equal(position, source.area(area).synced.at(-1)?.position, `${area} has everything that was durable`);
    assert.equal(promoted.record.tokens, "restored");
    source.crash(this.#random);
    follower.crash(this.#random);
  }

  async #until(what: string, isDone: () => boolean): Promise<void> {
    for (let round = 0; !isDone(); round += 1) {
      if (round === ROUND_COUNT_MAX) throw new Error(`${what} never came`);
      for (const life of [this.#source, this.#follower]) {
        if (life === undefined) continue;
        if (life.disk.underwayCount > 0) life.disk.step(this.#random);
        if (life.calls.count > 0) life.calls.step(this.#random, "none");
      }
      if (this.#random.below(8) === 0) this.#advance(100);
      await this.#settle();
    }
  }

  async #drive(what: string, work: () => Promise<void>): Promise<void> {
    let isDone = false;
    work().then(
      () => {
        isDone = true;
      },
      (error: unknown) => this.#fail(error),
    );
    await this.#until(what, () => isDone);
  }

  // Promotions.

  /** Promotes on a disk of its own and compares. keeps (1), (2). Undefined: there was nothing to promote. */
  async #tryPromotion(
    disk: SimulatedDisk,
  ): Promise<{ readonly record: FollowRecord; readonly areas: readonly RestoredArea[] } | undefined> {
    assert.ok(!disk.paths.includes(`${FOLLOWER}/format`), "a directory that follows is no data directory");
    const record = await readRecord(disk, FOLLOWER);
    if (record === undefined) return undefined;
    const states = new Map(AREAS.map(({ name }) => [name, new ModelState()]));
    const engineOf = (area: string): ModelState | undefined => (area === "messaging" ? states.get(area) : undefined);
    let areas: readonly RestoredArea[];
    try {
      areas = await promoteDirectory({ disk, directory: FOLLOWER, record, engineOf });
    } catch (error) {
      if (!(error instanceof NotFollowing)) throw error;
      this.#counts.refusals += 1;
      if (record.phase === "fetching" && record.generation > 0) this.#counts.between += 1;
      return undefined;
    }
    this.#counts.promotions += 1;
    if (record.generation > 1) this.#counts.laterGenerations += 1;
    const left = disk.afterPowerCut(this.#random);
    assert.ok(!left.paths.includes(`${FOLLOWER}/follow.json`), "a promoted directory does not follow");
    await prepareDataDirectory(left, FOLLOWER, areaNames);
    const source = this.#sourceOf(record.generation);
    for (const report of areas) await this.#compare(source, left, { report, generation: record.generation });
    return { record, areas };
  }

  async #compare(
    source: CopyLife,
    disk: SimulatedDisk,
    { report, generation }: { report: RestoredArea; generation: number },
  ): Promise<void> {
    const { area: name, position, completeToMs, damaged, snapshot } = report;
    const { lost = [] } = source.copier.state.areas.find(({ area }) => area === name) ?? {};
    const isBetween = lost.some(({ toMs }) => completeToMs < toMs);
    if (damaged.length > 0 && isBetween) return;
    assert.deepEqual(damaged, [], `${name} has all its bodies`);
    if (snapshot !== undefined) this.#counts.withSnapshots += 1;
    const area = source.area(name);
    const state = new ModelState();
    const directory = `${FOLLOWER}/${name}`;
    const hasBodies = name === "messaging";
    const apply: ModelState["replay"] = (frame, location) => state.replay(frame, hasBodies ? location : undefined);
    const { open } = await readArea({ disk, directory, area: name, apply });
    assert.equal(open, undefined, `${name} ends with an end mark`);
    const what = `${name} of generation ${generation}`;
    assert.equal(state.text, area.texts.get(position), `${what} has the state of position ${position}`);
    if (hasBodies) await assertBodies(disk, directory, state);
    if (hasBodies && lost.length === 0) await this.#checkHistory(disk, source, position);
    const durable = area.syncedBefore(completeToMs);
    assert.ok(position >= durable, `${what}: complete to ${completeToMs} with ${durable}, not ${position}`);
  }

  /** keeps (3) */
  #checkForwards(): void {
    const record: FollowRecord | undefined = this.#follower?.copy?.record;
    if (record === undefined || record === this.#checked) return;
    this.#checked = record;
    for (const place of record.areas) {
      const key: string = `${this.#counts.lives} ${record.generation} ${place.name}`;
      const before: FollowedPlace = this.#reached.get(key) ?? place;
      const isForwards: boolean =
        place.segment > before.segment || (place.segment === before.segment && place.offset >= before.offset);
      assert.ok(isForwards && place.completeToMs >= before.completeToMs, `${place.name} goes back in a generation`);
      this.#reached.set(key, place);
    }
  }

  /** A log of messages is not ahead of the journal, and all later segments are there. */
  async #checkHistory(disk: SimulatedDisk, source: CopyLife, position: number): Promise<void> {
    const directory = `${FOLLOWER}/messaging`;
    const path = `${directory}/${HISTORY_FILE}`;
    if (!disk.paths.includes(path)) return;
    this.#counts.histories += 1;
    const [upTo = 0, from = 0] = disk.bytesOf(path).toString().split(" ").map(Number);
    assert.ok(upTo <= position, `the log of messages has position ${upTo}, and the journal ends at ${position}`);
    if (upTo <= (source.area("messaging").synced[0]?.position ?? 0)) return;
    const { segments } = await listAreaFiles(disk, directory);
    for (let number = from; number <= (segments.at(-1) ?? 0); number += 1)
      assert.ok(segments.includes(number), `segment ${number} is there for the log of messages`);
  }
}

function stepDisk(disk: SimulatedDisk, random: Random, countMax: number): void {
  for (let count = random.below(countMax); count > 0; count -= 1) disk.step(random);
}
