/**
 * Runs of lives on one shard. Two nodes with disks of their own take it from
 * each other, after crashes at any step, after clean stops, and while the former
 * owner still runs; PostgreSQL is slow, in doubt, full, and fails over.
 *
 * (1) Every owner finds what all earlier ones acknowledged (shard-life.ts).
 * (2) After every commit the shard obeys its rules (shard-rules.ts).
 * (3) At the end a node with an empty disk finds the same.
 * (4) In runs with standbys, the node that does not own the shard follows it with its
 *     disk, crashes, and takes over.
 *     In runs with objects, snapshots go to an object store, which fails too.
 * (5) With clients whose operations are noted, and where no failover may lose
 *     what was acknowledged, these operations are linearizable.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { FsyncMode } from "../../../src/persistence/journal/journal.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import type { Allowance } from "../../budget.ts";
import { History } from "../crash/history.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { describeNotLinearizable, findNotLinearizable } from "../linearizability/linearizability.ts";
import { OperationLog } from "../linearizability/operations.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { DIRECTORY } from "../server.ts";
import { ClusterViolation, ClusterWorld, SHARD } from "./cluster-world.ts";
import { FollowedDisk } from "./followed-disk.ts";
import { linearSubject } from "./linear-clients.ts";
import { ShardLife, type ShardSubject, type ShippedBug } from "./shard-life.ts";

export interface ShippedCounts {
  lives: number;
  /** Crashes before and after the recovery had ended. */
  crashedStarts: number;
  crashes: number;
  stops: number;
  /** Owners that found out that another node had claimed the shard. */
  deposed: number;
  /** How often `synced` moved. */
  acknowledged: number;
  snapshots: number;
  doubts: number;
  /** Failovers of the store, and how often an owner sent again what they had lost. */
  failovers: number;
  heals: number;
  refusals: number;
  /** How often a node that follows the shard had everything that had ended, and how often it took over. */
  follows: number;
  warmTakeovers: number;
  /** Snapshots that became objects, those that were removed, and how often the object store had trouble. */
  objects: number;
  removedObjects: number;
  objectTroubles: number;
}

export interface ShippedSummary extends ShippedCounts {
  runs: number;
  violation: SeedViolation | undefined;
}

/** Which lives are run, and what is counted. */
export interface RunOptions {
  /** Seed of the first run; each next run adds one. */
  readonly seed: number;
  /** Limit in lives or in time. A run under way at the limit is finished. */
  readonly allowance: Allowance;
  readonly bug?: ShippedBug;
  /** True: the other node follows the shard. */
  readonly hasStandbys?: boolean;
  /** True: snapshots go to an object store, or to parts in another life. */
  readonly hasObjects?: boolean;
}

export interface ShippedRunOptions<Engine extends SnapshotEngine, State> extends RunOptions {
  readonly subject: ShardSubject<Engine, State>;
}

/** What the clients of one run do. */
interface Scene<Engine extends SnapshotEngine, State> {
  readonly subject: ShardSubject<Engine, State>;
  /** True: each reply is a promise, so commits are synced before it, and each failover has what was acknowledged. */
  readonly isStrict: boolean;
  /** The rule that is broken at the end of the run. */
  readonly findBroken: () => string | undefined;
}

const NOTHING: ShippedCounts = {
  ...{ lives: 0, crashedStarts: 0, crashes: 0, stops: 0, deposed: 0, acknowledged: 0, snapshots: 0 },
  ...{ doubts: 0, failovers: 0, heals: 0, refusals: 0, follows: 0, warmTakeovers: 0 },
  ...{ objects: 0, removedObjects: 0, objectTroubles: 0 },
};
const OF_STANDBYS: readonly (keyof ShippedCounts)[] = ["follows", "warmTakeovers"];
const OF_OBJECTS: readonly (keyof ShippedCounts)[] = ["objects", "removedObjects", "objectTroubles"];
const ALL = Object.keys(NOTHING) as (keyof ShippedCounts)[];
const LIVES_PER_RUN = 4;
const RUNS_MIN = 1;
const ACTIONS_MIN = 50;
const ACTIONS_MAX = 500;
const BRANCH = "00000000-0000-4000-8000-000000000001";
const ADDRESS = "file:///objects";
const DOUBT_ONE_IN = [0, 20, 6];
/** Operations of clients at the end of a run, one after the other. */
const LAST_CALLS = 20;

export function runShippedLives<Engine extends SnapshotEngine, State>({
  subject,
  ...options
}: ShippedRunOptions<Engine, State>): Promise<ShippedSummary> {
  const unseen = [
    ...(subject.bodies === undefined ? [] : ["heals"]),
    ...(options.hasStandbys === true && options.hasObjects !== true ? [] : OF_STANDBYS),
    // Few lives have so many snapshots that one is removed.
    ...(options.hasObjects === true ? ["heals", "removedObjects"] : OF_OBJECTS),
  ];
  const mustSee = ALL.filter((name) => !unseen.includes(name));
  return runLives(() => ({ subject, isStrict: false, findBroken: () => undefined }), mustSee, options);
}

/** Runs of the store with clients whose operations must be linearizable. keeps (5) */
export async function runLinearLives(options: RunOptions): Promise<ShippedSummary & { readonly operations: number }> {
  let operations = 0;
  const summary = await runLives(
    () => {
      const log = new OperationLog();
      const findBroken = (): string | undefined => {
        operations += log.operations.length;
        const found = findNotLinearizable(log.operations);
        return found && describeNotLinearizable(found);
      };
      return { subject: linearSubject(log), isStrict: true, findBroken };
    },
    ["crashes", "stops", "deposed", "acknowledged", "failovers"],
    options,
  );
  return { ...summary, operations };
}

async function runLives<Engine extends SnapshotEngine, State>(
  openScene: () => Scene<Engine, State>,
  mustSee: readonly (keyof ShippedCounts)[],
  { seed, allowance, bug = {}, hasStandbys = false, hasObjects = false }: RunOptions,
): Promise<ShippedSummary> {
  const counts = { ...NOTHING };
  const seen = (): readonly number[] => mustSee.map((name) => counts[name]);
  const { runs, violation } = await runSeeds(
    { seed, allowance, runsMin: RUNS_MIN, seen, counted: () => counts.lives },
    (runSeed) =>
      new ShippedRun(openScene(), { random: seededRandom(runSeed), bug, counts, hasStandbys, hasObjects }).run(),
  );
  return { ...counts, runs, violation };
}

class ShippedRun<Engine extends SnapshotEngine, State> {
  readonly #scene: Scene<Engine, State>;
  readonly #subject: ShardSubject<Engine, State>;
  readonly #random: Random;
  readonly #bug: ShippedBug;
  readonly #counts: ShippedCounts;
  readonly #hasStandbys: boolean;
  readonly #world: ClusterWorld;
  readonly #disks = new Map<string, SimulatedDisk>();
  /** With the directory of the shard. */
  readonly #emptyDisk = new SimulatedDisk({ seed: 1 });
  /** The last life of each node. */
  readonly #lives = new Map<string, string>();
  #history: History<State>;
  /** What the next owner must find at least. */
  #promised: () => number = () => 0;
  /** The former owner, if it still runs. */
  #former: { readonly node: string; readonly life: ShardLife<Engine, State> } | undefined;
  /** The node that follows the shard. */
  #followed: { readonly node: string; readonly disk: FollowedDisk } | undefined;
  /** Commits up to the last claim: no failover loses them. */
  #claimCommits = 0;
  #lifeCount = 0;

  constructor(
    scene: Scene<Engine, State>,
    {
      random,
      bug,
      counts,
      hasStandbys,
      hasObjects,
    }: { random: Random; bug: ShippedBug; counts: ShippedCounts; hasStandbys: boolean; hasObjects: boolean },
  ) {
    const { subject } = scene;
    this.#scene = scene;
    this.#subject = subject;
    this.#random = random;
    this.#bug = bug;
    this.#counts = counts;
    this.#hasStandbys = hasStandbys;
    this.#world = new ClusterWorld(random, subject.area);
    this.#world.hasObjects = hasObjects;
    this.#history = new History([subject.empty]);
  }

  async run(): Promise<void> {
    await this.#emptyDisk.mkdir(DIRECTORY);
    await this.#emptyDisk.syncDirectory("/");
    const shard = { shard: SHARD, area: this.#subject.area, hashSeed: Buffer.alloc(4) };
    await this.#world.admin.addShards([shard]);
    for (let number = 1; number <= LIVES_PER_RUN; number += 1) {
      const other = this.#former?.node === "a" ? "b" : "a";
      await this.#live(this.#former === undefined && this.#random.below(2) === 0 ? "b" : other);
    }
    if (this.#former !== undefined) this.#end(this.#former);
    this.#crashFollowed();
    this.#world.shared.doubtOneIn = 0;
    this.#world.shared.isFull = false;
    // keeps (3)
    const last = await this.#claim("c");
    await this.#world.drive(last.start(this.#promised));
    for (let call = 0; this.#scene.isStrict && call < LAST_CALLS; call += 1) {
      last.ask();
      await this.#world.until("the last replies", () => last.isIdle);
    }
    last.crash();
    const broken = this.#scene.findBroken(); // keeps (5)
    if (broken !== undefined) throw new ClusterViolation(broken);
  }

  async #live(node: string): Promise<void> {
    this.#counts.lives += 1;
    const { shared } = this.#world;
    shared.doubtOneIn = DOUBT_ONE_IN[this.#random.below(DOUBT_ONE_IN.length)] as number;
    if (this.#world.hasObjects) shared.database.files = this.#random.below(5) > 0 ? ADDRESS : undefined;
    const life = await this.#claim(node);
    if (!(await this.#start(life))) {
      this.#counts.crashedStarts += 1;
      this.#end({ node, life });
      return;
    }
    if (this.#former !== undefined) this.#former.life.recoveredLater = life.recovered;
    this.#history = life.history;
    this.#promised = () => life.promised;
    const actions = ACTIONS_MIN + this.#random.below(ACTIONS_MAX - ACTIONS_MIN);
    for (let action = 0; action < actions; action += 1) {
      this.#act(life);
      if (this.#hasStandbys) this.#actFollowed(node);
      await this.#settle(life);
    }
    shared.isFull = false;
    await life.heal();
    if (this.#former !== undefined && this.#random.below(2) === 0) this.#end(this.#former);
    await this.#leave(node, life);
  }

  /** How a life ends: at once, cleanly, or not before another node has taken over. */
  async #leave(node: string, life: ShardLife<Engine, State>): Promise<void> {
    const how = this.#random.below(this.#scene.isStrict ? 3 : 4);
    if (how === 0 && this.#former === undefined) {
      life.hasOnlyReaders = this.#scene.isStrict && this.#random.below(4) > 0;
      // With nothing to commit it does not notice what it loses.
      if (life.hasOnlyReaders) await this.#world.until("the last call", () => life.isIdle);
      this.#former = { node, life };
      return;
    }
    if (how === 1) {
      await life.stop();
      this.#counts.stops += 1;
    } else {
      this.#counts.crashes += 1;
    }
    this.#end({ node, life });
  }

  /** Runs the start, or a part of it. False if the node is to crash before it has ended. */
  async #start(life: ShardLife<Engine, State>): Promise<boolean> {
    let isStarted = false;
    life.start(this.#promised).then(
      () => {
        isStarted = true;
      },
      (fault) => {
        if (!life.isOver) this.#world.fail(fault);
      },
    );
    const crashesAt = this.#random.below(3) === 0 ? this.#random.below(150) : Number.POSITIVE_INFINITY;
    let steps = 0;
    await this.#world.until("recovery", () => {
      steps += 1;
      this.#actFormer();
      return isStarted || steps > crashesAt;
    });
    return life.isServing;
  }

  /** The disk of the node is what the end has left on it. */
  #end({ node, life }: { readonly node: string; readonly life: ShardLife<Engine, State> }): void {
    this.#disks.set(node, life.crash());
    if (this.#former?.life === life) this.#former = undefined;
    const { acknowledged, snapshots, refusals, heals } = life.counts;
    this.#counts.acknowledged += acknowledged;
    this.#counts.snapshots += snapshots;
    this.#counts.refusals += refusals;
    this.#counts.heals += heals;
    this.#counts.doubts += life.link.counts.doubts;
    this.#counts.objects += life.objects.counts.stored;
    this.#counts.removedObjects += life.objects.counts.removed;
    this.#counts.objectTroubles += life.objects.counts.failures;
    if (life.isDeposed) this.#counts.deposed += 1;
  }

  async #claim(node: string): Promise<ShardLife<Engine, State>> {
    const { admin, shared } = this.#world;
    const { shards, nodes } = await admin.watch();
    const seen = shards[0];
    const owner = nodes.find(({ life }) => life === seen?.owner);
    if (owner !== undefined) await admin.declareDead(owner.life, owner.beat);
    await this.#endFollowing(node);
    this.#lifeCount += 1;
    const life = `${node}-${this.#lifeCount}`;
    const registration = { name: node, life, formerLife: this.#lives.get(node), address: "127.0.0.1:1", format: 1 };
    await admin.register({ ...registration, clockMs: 0 });
    this.#lives.set(node, life);
    const epoch = seen?.epoch ?? 0;
    const claimed = await this.#world.drive(admin.claim({ shard: SHARD, epoch, life, format: 1 }));
    if (claimed === undefined) throw new ClusterViolation(`${life} could not claim the shard`);
    this.#claimCommits = shared.database.commits;
    shared.replicated = shared.database.commits;
    return new ShardLife({
      ...{ world: this.#world, subject: this.#subject, branch: BRANCH, history: this.#history, bug: this.#bug },
      owner: { shard: SHARD, epoch: claimed.epoch },
      snapshot: claimed.snapshot,
      disk: this.#followed?.node === node ? this.#followed.disk.disk : this.#diskOf(node),
      mode: (!this.#scene.isStrict && this.#random.below(3) === 0 ? "everysec" : "always") satisfies FsyncMode,
    });
  }

  #diskOf(node: string): SimulatedDisk {
    const seed = this.#random.below(2 ** 32);
    return (this.#disks.get(node) ?? this.#emptyDisk).restarted({ seed, isStepped: true });
  }

  // Events.

  #act(life: ShardLife<Engine, State>): void {
    this.#actFormer();
    const chance = this.#random.below(100);
    if (chance < (this.#scene.isStrict ? 30 : 15)) life.ask();
    else if (chance < 85) this.#world.step();
    else if (chance < 90) this.#world.tick();
    else if (chance < 93) life.closeSegment();
    else if (chance < 97) void life.snapshot();
    else if (chance < 98) this.#world.shared.isFull = !this.#world.shared.isFull;
    else if (chance < 99) this.#failOver(life);
    else this.#world.tick();
  }

  /** The former owner goes on until it learns that it is not the owner. */
  #actFormer(): void {
    const former = this.#former;
    if (former === undefined) return;
    const { life } = former;
    life.look();
    if (life.isDeposed && this.#random.below(10) === 0) {
      this.#end(former);
      return;
    }
    if (life.isDeposed || !life.isServing) return;
    const chance = this.#random.below(100);
    if (chance < 20) life.ask();
    else if (life.hasOnlyReaders) return;
    else if (chance < 23) void life.snapshot();
    else if (chance < 25) life.closeSegment();
  }

  /** The node that neither owns the shard nor has owned it last, and still runs, follows it. keeps (4) */
  #actFollowed(owner: string): void {
    const node = owner === "a" ? "b" : "a";
    if (this.#followed === undefined && this.#former === undefined && this.#random.below(20) === 0) {
      const { area } = this.#subject;
      const disk = this.#diskOf(node);
      this.#followed = {
        node,
        disk: new FollowedDisk({ world: this.#world, disk, area, branch: BRANCH, see: this.#bug.followed }),
      };
    }
    const chance = this.#random.below(300);
    if (chance === 0) this.#crashFollowed();
    else if (chance < 40) this.#followed?.disk.follow();
  }

  #crashFollowed(): void {
    const followed = this.#followed;
    if (followed === undefined) return;
    this.#followed = undefined;
    this.#counts.follows += followed.disk.completeCount;
    this.#disks.set(followed.node, followed.disk.crash());
  }

  /** A node that claims the shard does not follow it. */
  async #endFollowing(node: string): Promise<void> {
    const followed = this.#followed;
    if (followed?.node !== node || this.#bug.keepsFollowing === true) return;
    if (followed.disk.completeCount > 0) this.#counts.warmTakeovers += 1;
    if (this.#random.below(2) === 0) {
      this.#crashFollowed();
      return;
    }
    this.#followed = undefined;
    this.#counts.follows += followed.disk.completeCount;
    await followed.disk.close();
    this.#disks.set(node, followed.disk.disk);
  }

  /**
   * Another server takes over. With a former owner, or mostly, it has everything that was acknowledged. With bodies always:
   * an owner does not send again what is lost of a segment that a snapshot covers. With objects always: the retention of a
   * replaced one is longer than what a failover may lose.
   */
  #failOver(life: ShardLife<Engine, State>): void {
    const { shared } = this.#world;
    const { commits } = shared.database;
    const isSafe = this.#scene.isStrict || this.#subject.bodies !== undefined || this.#world.hasObjects;
    const isComplete = isSafe || this.#former !== undefined || this.#random.below(3) > 0;
    const least = isComplete ? Math.max(this.#claimCommits, shared.replicated) : this.#claimCommits;
    const kept = least + this.#random.below(commits - least + 1);
    this.#counts.failovers += 1;
    if (kept < shared.replicated) life.forgive();
    shared.replicated = kept;
    shared.database.failOver(kept);
    life.link.breakAll();
    this.#followed?.disk.link.breakAll();
    this.#former?.life.link.breakAll();
  }

  async #settle(life: ShardLife<Engine, State>): Promise<void> {
    await this.#world.settle();
    life.look();
    this.#former?.life.look();
  }
}

/** One line for a person. */
export function describeShipped(summary: ShippedSummary, seed: number): string {
  const { violation: _, ...counts } = summary;
  const texts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return `SEED=${seed}: ${texts.join(", ")}`;
}
