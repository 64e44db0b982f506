/**
 * Runs of lives of a server whose data directory is copied: crashes, power cuts and
 * stops at any step, a former server that goes on, a store that fails, doubts and
 * lags, and old objects that are removed meanwhile.
 *
 * (1) A restore to any moment of the time that is kept succeeds, from the newest
 *     generation that had begun.
 * (2) The state of each area is the one that the server had at its position, which was
 *     durable at the moment, and has everything that was durable at the time up to
 *     which the copy says that it is complete.
 * (3) That time is not before the last part or proof that was stored up to the moment.
 * (4) After the last life, the newest state has everything.
 */
import assert from "node:assert/strict";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { listAreaFiles } from "../../../src/persistence/area-files.ts";
import { prepareDataDirectory } from "../../../src/persistence/data-directory.ts";
import { readArea } from "../../../src/persistence/recovery.ts";
import { readBegin, readGenerations } from "../../../src/replication/copy-view.ts";
import { DamagedCopy, UnusableCopy } from "../../../src/replication/errors.ts";
import { parseObjectName } from "../../../src/replication/names.ts";
import { type CopyRestored, restoreCopy } from "../../../src/replication/restore.ts";
import { verifyCopy } from "../../../src/replication/verify.ts";
import type { Allowance } from "../../budget.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { AREAS, COPY_KEY, type CopyBug, CopyLife, DATA, KEEP_MS } from "./copy-life.ts";
import { assertBodies, ModelState } from "./model-area.ts";
import { ModelObjectStore, type StoreTrouble } from "./model-object-store.ts";

export interface CopyCounts {
  lives: number;
  crashedStarts: number;
  crashes: number;
  stops: number;
  /** Lives that began in a directory restored from the copy. */
  burned: number;
  /** Lives during which a former server went on, and former servers that noticed. */
  formers: number;
  replaced: number;
  snapshots: number;
  restores: number;
  /** Restores to a moment, of a generation before the newest one, and into a closed segment. */
  earlierMoments: number;
  earlierGenerations: number;
  removed: number;
  /** Restores that lagging lists prevented. */
  lagged: number;
  lost: number;
  /** Restores with a log of messages. */
  histories: number;
}

export interface CopySummary extends CopyCounts {
  readonly runs: number;
  readonly violation: SeedViolation | undefined;
}

export interface CopyRunOptions {
  readonly seed: number;
  readonly allowance: Allowance;
  readonly bug?: CopyBug;
}

const NOTHING: CopyCounts = {
  ...{
    lives: 0,
    crashedStarts: 0,
    crashes: 0,
    stops: 0,
    burned: 0,
    formers: 0,
    replaced: 0,
    snapshots: 0,
    restores: 0,
  },
  ...{ earlierMoments: 0, earlierGenerations: 0, removed: 0, lagged: 0, lost: 0, histories: 0 },
};
const LIVES_PER_RUN = 4;
const ACTIONS_MIN = 100;
const ACTIONS_MAX = 900;
const ROUND_COUNT_MAX = 20_000;
const DOUBT_ONE_IN = [0, 30, 8];
const HISTORY_FILE = "history.sqlite";
const SNAPSHOT_ONE_IN = [0, 30, 120];
const TOKENS = '{"token":"secret"}\n';

/** What a life leaves: the disk of the next one, and the states of its areas by position. */
interface Left {
  readonly disk: SimulatedDisk;
  readonly known: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

export class CopyViolation extends Error {
  override name = "CopyViolation";
}

export async function runCopyLives({ seed, allowance, bug = {} }: CopyRunOptions): Promise<CopySummary> {
  const counts = { ...NOTHING };
  const { runs, violation } = await runSeeds(
    {
      ...{ seed, allowance, runsMin: 1, counted: () => counts.lives },
      seen: () => [counts.crashes, counts.stops, counts.burned, counts.restores, counts.snapshots, counts.removed],
    },
    (runSeed) => new CopyRun(seededRandom(runSeed), bug, counts).run(),
  );
  return { ...counts, runs, violation };
}

export function describeCopies({ violation: _, ...counts }: CopySummary, seed: number): string {
  return `seed ${seed}: ${Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ")}`;
}

class CopyRun {
  readonly #random: Random;
  readonly #bug: CopyBug;
  readonly #counts: CopyCounts;
  readonly #store = new ModelObjectStore();
  readonly #lives: CopyLife[] = [];
  #wallMs = new VirtualClock().nowMs();
  #former: CopyLife | undefined;
  #doubtOneIn = 0;
  #isDown = false;
  #isLagging = false;
  /** 0: never. */
  #snapshotOneIn = 0;
  /** So much slower is the store in this life. */
  #slowness = 1;
  #fault: unknown;

  constructor(random: Random, bug: CopyBug, counts: CopyCounts) {
    this.#random = random;
    this.#bug = bug;
    this.#counts = counts;
  }

  async run(): Promise<void> {
    let disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir(DATA);
    await prepareDataDirectory(
      disk,
      DATA,
      AREAS.map(({ name }) => name),
    );
    disk.put(`${DATA}/tokens.json`, Buffer.from(TOKENS));
    if (this.#random.below(2) === 0) this.#store.listCountMax = 3;
    let known: ReadonlyMap<string, ReadonlyMap<number, string>> = new Map();
    for (let number = 1; number <= LIVES_PER_RUN; number += 1) {
      const life = await this.#live(disk, known);
      if (number === LIVES_PER_RUN) {
        await this.#end(life);
        return;
      }
      ({ disk, known } = await this.#leave(life));
    }
  }

  async #live(disk: SimulatedDisk, known: ReadonlyMap<string, ReadonlyMap<number, string>>): Promise<CopyLife> {
    this.#counts.lives += 1;
    this.#slowness = this.#random.below(4) === 0 ? 10 : 1;
    this.#snapshotOneIn = SNAPSHOT_ONE_IN[this.#random.below(SNAPSHOT_ONE_IN.length)] as number;
    this.#doubtOneIn = DOUBT_ONE_IN[this.#random.below(DOUBT_ONE_IN.length)] as number;
    const life = new CopyLife({
      disk: disk.restarted({ seed: this.#random.below(2 ** 32), isStepped: true }),
      clock: new VirtualClock(this.#wallMs + (this.#random.below(4) === 0 ? this.#random.below(2_000) : 0)),
      ...{ store: this.#store, random: this.#random, bug: this.#bug, known },
      hasReadFault: () => this.#doubtOneIn > 0 && this.#random.below(20 * this.#doubtOneIn) === 0,
      failed: (error) => this.#fail(error),
    });
    this.#lives.push(life);
    life.start().catch((error: unknown) => life.failed(error));
    const actions = this.#random.below(8) === 0 ? this.#random.below(60) : this.#actionCount();
    for (let action = 0; action < actions; action += 1) {
      await this.#act(life);
      await this.#settle();
    }
    if (!life.isStarted) this.#counts.crashedStarts += 1;
    return life;
  }

  #actionCount(): number {
    return ACTIONS_MIN + this.#random.below(ACTIONS_MAX - ACTIONS_MIN);
  }

  /** How a life ends: at once, cleanly, not before another server copies, or with its disk. */
  async #leave(life: CopyLife): Promise<Left> {
    const how = this.#random.below(5);
    const restored = how === 4 && !this.#isLagging ? await this.#restoreForLife() : undefined;
    if (restored === undefined) return { disk: await this.#endLife(life, how), known: life.texts };
    this.#counts.burned += 1;
    this.#endFormer();
    // Its owner may think that the machine is lost, while it goes on.
    if (life.isStarted && this.#random.below(2) === 0) this.#former = life;
    else this.#over(life);
    return restored;
  }

  async #endLife(life: CopyLife, how: number): Promise<SimulatedDisk> {
    if (how === 0 || this.#random.below(3) === 0) this.#endFormer();
    if (how === 0 && life.isStarted) {
      this.#counts.formers += 1;
      this.#former = life;
      return life.disk.afterPowerCut(this.#random);
    }
    if (how === 1 && life.isStarted) {
      this.#counts.stops += 1;
      await this.#stop(life, this.#random.below(2) === 0 ? 500 : 60_000);
      return life.disk.restarted({ seed: 1 });
    }
    this.#counts.crashes += 1;
    const disk =
      this.#random.below(3) === 0 ? life.disk.afterKill(this.#random) : life.disk.afterPowerCut(this.#random);
    this.#over(life);
    return disk;
  }

  /** The directory of the next life, from the copy; undefined if nothing can be restored. */
  async #restoreForLife(): Promise<Left | undefined> {
    const atMs = this.#random.below(2) === 0 ? undefined : this.#moment();
    if ((await this.#restore(atMs)) === undefined) return undefined;
    const disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir(DATA);
    await disk.syncDirectory("/");
    const { areas, generation } = await restoreCopy({
      ...{ store: this.#store.client(), disk, directory: DATA, staging: `${DATA}/staging`, atMs, key: COPY_KEY },
      ...{ areas: AREAS.map(({ name }) => name), historyFile: HISTORY_FILE },
    });
    const { texts } = this.#lives.find(({ copier }) => copier.state.generation === generation) as CopyLife;
    const known = new Map(
      areas.map(({ area, position }) => [
        area,
        new Map([...(texts.get(area) ?? [])].filter(([each]) => each <= position)),
      ]),
    );
    return { disk: this.#random.below(2) === 0 ? disk : disk.afterPowerCut(this.#random), known };
  }

  async #stop(life: CopyLife, withinMs: number): Promise<void> {
    await this.#drive(life, async () => {
      for (const area of life.areas) await area.storage.close();
      await life.copier.close({ withinMs });
    });
    this.#over(life);
  }

  #over(life: CopyLife): void {
    this.#counts.lost += life.copier.state.areas.reduce((sum, { lost }) => sum + lost.length, 0);
    if (life.copier.state.phase === "replaced") this.#counts.replaced += 1;
    life.crash(this.#random);
  }

  #endFormer(): void {
    if (this.#former !== undefined) this.#over(this.#former);
    this.#former = undefined;
  }

  /** keeps (4) */
  async #end(life: CopyLife): Promise<void> {
    this.#isDown = false;
    this.#doubtOneIn = 0;
    this.#store.lag(false);
    this.#isLagging = false;
    await this.#until("a start", life, () => life.isStarted);
    await this.#until("a begin", life, () => life.copier.state.phase !== "starting");
    await this.#stop(life, 1_000_000_000);
    this.#endFormer();
    const restored = await this.#restore(undefined);
    // A former server may have been slower to claim: then its generation is the newest one, even if it has not begun.
    if (restored === undefined) {
      assert.equal(life.copier.state.phase, "replaced", "the newest state can be restored");
      return;
    }
    const isOfLife = restored.generation === life.copier.state.generation;
    assert.ok(
      isOfLife || restored.generation > (life.copier.state.generation ?? 0) || life.copier.state.phase === "replaced",
    );
    for (const { area, position } of isOfLife ? restored.areas : []) {
      const { synced } = life.area(area);
      assert.equal(position, synced.at(-1)?.position, `${area} ends with everything that was durable`);
    }
    const { damaged, areas } = await verifyCopy(this.#store.client());
    assert.deepEqual(damaged, [], "nothing is damaged");
    for (const { area, spans } of areas)
      assert.equal(spans.at(-1)?.completeToMs, restored.areas.find((each) => each.area === area)?.completeToMs);
    for (let count = 0; count < 3; count += 1) {
      const atMs = this.#moment();
      if ((await this.#restore(atMs)) === undefined) continue;
      for (const { area, spans } of areas)
        assert.ok(spans[0] !== undefined && spans[0].fromMs <= atMs, `${area} is known to be restorable at ${atMs}`);
    }
  }

  // Events.

  async #act(life: CopyLife): Promise<void> {
    const chance = this.#random.below(100);
    if (chance < 20) this.#ask(life);
    else if (chance < 50) this.#stepDisks(life);
    else if (chance < 75) this.#stepCalls(life);
    else if (chance < 90) this.#advance(this.#random.below(300));
    else if (chance < 92) this.#advance(this.#random.below(3_000));
    else if (chance < 96) this.#former !== undefined && this.#ask(this.#former);
    else if (chance < 97) this.#isDown = !this.#isDown && this.#random.below(3) === 0;
    else if (chance < 98) {
      this.#isLagging = !this.#isLagging && this.#random.below(2) === 0;
      this.#store.lag(this.#isLagging);
    } else if (this.#random.below(4) === 0)
      await this.#restore(this.#random.below(4) === 0 ? undefined : this.#moment());
    if (this.#snapshotOneIn > 0 && this.#random.below(this.#snapshotOneIn) === 0) this.#snapshot(life);
    if (this.#former !== undefined && this.#random.below(40) === 0) this.#snapshot(this.#former);
  }

  #ask(life: CopyLife): void {
    if (!life.isStarted) return;
    const area = life.areas[this.#random.below(life.areas.length)];
    for (let count = this.#random.below(4); count >= 0; count -= 1) area?.ask();
  }

  #snapshot(life: CopyLife): void {
    if (!life.isStarted) return;
    this.#counts.snapshots += 1;
    life.snapshot(life.areas[this.#random.below(life.areas.length)] as CopyLife["areas"][number]);
  }

  #stepDisks(life: CopyLife): void {
    for (const each of [life, this.#former])
      for (let count = this.#random.below(12); count > 0 && each !== undefined; count -= 1)
        each.disk.step(this.#random);
  }

  #stepCalls(life: CopyLife): void {
    if (this.#random.below(this.#slowness) > 0) return;
    for (const each of [life, this.#former]) {
      if (each === undefined || each.calls.count === 0) continue;
      each.calls.step(this.#random, this.#trouble());
    }
  }

  #trouble(): StoreTrouble {
    if (this.#isDown) return "before";
    if (this.#doubtOneIn === 0 || this.#random.below(this.#doubtOneIn) > 0) return "none";
    return this.#random.below(2) === 0 ? "before" : "after";
  }

  #advance(ms: number): void {
    this.#wallMs += ms;
    for (const life of this.#lives) if (!life.isOver) life.clock.advance(ms);
  }

  async #settle(): Promise<void> {
    await nextTurn();
    await nextTurn();
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #until(what: string, life: CopyLife, isDone: () => boolean): Promise<void> {
    for (let round = 0; !isDone(); round += 1) {
      if (round === ROUND_COUNT_MAX)
        throw new CopyViolation(`${what} never came: ${JSON.stringify(life.copier.state)}`);
      if (life.disk.underwayCount > 0) life.disk.step(this.#random);
      if (life.calls.count > 0) life.calls.step(this.#random, this.#trouble());
      if (this.#random.below(8) === 0) this.#advance(100);
      await this.#settle();
    }
  }

  async #drive(life: CopyLife, work: () => Promise<void>): Promise<void> {
    let isDone = false;
    work().then(
      () => {
        isDone = true;
      },
      (error: unknown) => this.#fail(error),
    );
    await this.#until("an end", life, () => isDone);
  }

  #fail(error: unknown): void {
    this.#fault ??= error;
  }

  // Restores.

  /** A moment since the time that is kept. */
  #moment(): number {
    const nowMs = Math.max(...this.#lives.map(({ clock }) => clock.nowMs()));
    return nowMs - this.#random.below(KEEP_MS);
  }

  /** Restores to a moment and compares. keeps (1), (2), (3) */
  async #restore(atMs: number | undefined): Promise<CopyRestored | undefined> {
    const before = new Set(this.#store.objects.keys());
    this.#counts.removed = Math.max(this.#counts.removed, this.#store.everStored.size - before.size);
    const expected = await this.#generationAt(atMs);
    const disk = new SimulatedDisk({ seed: 1 });
    await disk.mkdir("/new");
    let restored: CopyRestored;
    const states = new Map(AREAS.map(({ name }) => [name, new ModelState()]));
    try {
      restored = await restoreCopy({
        ...{ store: this.#store.client(), disk, directory: "/new", staging: "/new/staging", atMs, key: COPY_KEY },
        ...{ areas: AREAS.map(({ name }) => name), historyFile: HISTORY_FILE },
        engineOf: (area) => (area === "messaging" ? states.get(area) : undefined),
      });
    } catch (error) {
      const isAboutCopy = error instanceof DamagedCopy || error instanceof UnusableCopy;
      if (isAboutCopy && this.#isLagging) {
        this.#counts.lagged += 1;
        return undefined;
      }
      if (error instanceof UnusableCopy && expected === undefined) return undefined;
      throw error;
    }
    this.#counts.restores += 1;
    const { generation } = restored;
    if (!this.#isLagging) assert.equal(generation, expected, "the newest generation of the moment is restored");
    if (atMs !== undefined) this.#counts.earlierMoments += 1;
    if (generation < ((await this.#generationAt(undefined)) ?? 0)) this.#counts.earlierGenerations += 1;
    assert.equal(disk.bytesOf("/new/tokens.json").toString(), TOKENS);
    const life = this.#lives.find(({ copier }) => copier.state.generation === generation) as CopyLife;
    for (const report of restored.areas) {
      // Until the copy is complete again after lost moments, bodies of the states between may be lost too.
      const { lost = [] } = life.copier.state.areas.find(({ area }) => area === report.area) ?? {};
      const isBetween = lost.some(({ toMs }) => report.completeToMs < toMs && toMs <= (atMs ?? toMs));
      if (report.damaged.length > 0 && isBetween) continue;
      assert.deepEqual(report.damaged, [], `${report.area} has all its bodies`);
      await this.#compare(life, disk, { ...report, generation, atMs: atMs ?? Number.MAX_SAFE_INTEGER });
    }
    return restored;
  }

  async #compare(
    life: CopyLife,
    disk: SimulatedDisk,
    {
      area: name,
      position,
      completeToMs,
      generation,
      atMs,
    }: CopyRestored["areas"][number] & { generation: number; atMs: number },
  ): Promise<void> {
    const area = life.area(name);
    const state = new ModelState();
    const directory = `/new/${name}`;
    const hasBodies = name === "messaging";
    const apply: ModelState["replay"] = (frame, location) => state.replay(frame, hasBodies ? location : undefined);
    await readArea({ disk, directory, area: name, apply });
    const what = `${name} of generation ${generation} at ${atMs}`;
    assert.equal(state.text, area.texts.get(position), `${what} has the state of position ${position}`);
    if (hasBodies) await assertBodies(disk, directory, state);
    if (hasBodies) await this.#checkHistory(disk, life, position);
    assert.ok(position <= area.syncedAt(atMs), `${what}: position ${position} was durable`);
    assert.ok(
      position >= area.syncedBefore(completeToMs),
      `${what}: complete up to ${completeToMs} with position ${area.syncedBefore(completeToMs)}, not ${position}`,
    );
    if (this.#isLagging) return;
    for (const text of this.#store.everStored) {
      const parsed = parseObjectName(text);
      if (parsed?.generation !== generation || !("area" in parsed.name) || parsed.name.area !== name) continue;
      if (parsed.name.kind !== "part" || parsed.name.timeMs > atMs || parsed.name.isLast) continue;
      assert.ok(
        completeToMs >= parsed.name.timeMs,
        `${what}: ${text} was stored, but it is complete to ${completeToMs}`,
      );
    }
  }

  /** A log of messages is not ahead of the journal, and all later segments are there, unless moments were lost. */
  async #checkHistory(disk: SimulatedDisk, life: CopyLife, position: number): Promise<void> {
    const directory = "/new/messaging";
    const path = `${directory}/${HISTORY_FILE}`;
    if (!disk.paths.includes(path)) return;
    this.#counts.histories += 1;
    const [upTo = 0, from = 0] = disk.bytesOf(path).toString().split(" ").map(Number);
    assert.ok(upTo <= position, `the log of messages has position ${upTo}, and the journal ends at ${position}`);
    const isOfLife = upTo > (life.area("messaging").synced[0]?.position ?? 0);
    const isWhole = life.copier.state.areas.every(({ lost }) => lost.length === 0);
    if (!isOfLife || !isWhole) return;
    const { segments } = await listAreaFiles(disk, directory);
    const last = segments.at(-1) ?? 0;
    for (let number = from; number <= last; number += 1)
      assert.ok(segments.includes(number), `segment ${number} is there for the log of messages`);
  }

  async #generationAt(atMs = Number.MAX_SAFE_INTEGER): Promise<number | undefined> {
    const store = this.#store.client();
    for (const generation of (await readGenerations(store)).toReversed()) {
      const begin = await readBegin(store, generation);
      if (begin !== undefined && begin.timeMs <= atMs) return generation;
    }
    return undefined;
  }
}
