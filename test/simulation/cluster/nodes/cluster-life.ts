/**
 * The life of a simulated cluster: a few nodes, whose processes, clocks,
 * connections and store fail as the seed says, and then a time without faults in
 * which every shard must find an owner.
 */
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import { nextTurn } from "../../../../src/kernel/turn.ts";
import { emptyDirectory, type NodeDirectory } from "../node-options.ts";
import { ClusterRules, ClusterViolation } from "./cluster-rules.ts";
import { type ClusterBug, SimulatedProcess } from "./simulated-process.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { LATE_MS_MAX, StoreServer, type StoreState } from "./store-server.ts";

const NAMES: readonly string[] = ["a", "b", "c"];
const SHARDS: readonly number[] = [0, 1, 2, 3, 4, 5];
const START_MS = Date.UTC(2026, 0, 1);
const CHAOS_MS_MIN = 30_000;
const CHAOS_MS_MAX = 100_000;
/**
 * After the last fault: 1 s to the next poll, 6.4 s of a slow clock's lease, 1 s to the poll that sees the death, the ranks of two
 * other nodes (4 s), and three recoveries one after the other with retries of calls.
 */
const BOUND_MS = 18_000;
/** Then shards move back, and none is without service for longer than this. */
const MOVE_MS_MAX = 4_000;
const QUIET_MS = 45_000;

export interface ClusterSummary {
  readonly claims: number;
  readonly deaths: number;
  readonly moves: number;
  readonly replies: number;
  readonly calls: number;
  readonly rows: number;
  readonly broken: number;
  readonly lost: number;
  readonly refused: number;
}

interface Machine {
  readonly name: string;
  readonly directory: NodeDirectory;
  readonly rate: number;
  /** How far its wall clock is ahead. */
  aheadMs: number;
  readonly format: number;
  process: SimulatedProcess | undefined;
  /** Until when no other fault of its clock begins. */
  clockUntilMs: number;
  /** Until when its monotonic clock may hide the end of a lease, so that its wall clock must not be corrected. */
  hidingUntilMs: number;
}

/** One life. Rejects with the first violation. */
export async function liveCluster(seed: number, bug?: ClusterBug): Promise<ClusterSummary> {
  const life = new ClusterLife(seed, bug);
  return await life.run();
}

class ClusterLife {
  readonly #random: Random;
  /** Of the administrator who drains nodes. */
  readonly #drainRandom: Random;
  readonly #time = new SimulatedTime();
  readonly #server: StoreServer;
  readonly #rules: ClusterRules;
  readonly #bug: ClusterBug | undefined;
  readonly #machines: Machine[] = [];
  readonly #processes: SimulatedProcess[] = [];
  readonly #poisoned = new Set<number>();
  readonly #reads: "lease" | "confirm";
  readonly #latencyMs: number;
  readonly #doubtful: number;
  /** The kinds of faults of this life, and how often each is drawn. */
  readonly #faults: (() => void)[] = [];
  #serverAheadMs = 0;
  #isQuiet = false;
  #lives = 0;
  #lost = 0;
  #refused = 0;

  constructor(seed: number, bug: ClusterBug | undefined) {
    const random = seededRandom(seed);
    this.#random = random;
    this.#drainRandom = seededRandom(~seed >>> 0);
    this.#bug = bug;
    this.#server = new StoreServer(this.#time, random, () => START_MS + this.#time.nowMs + this.#serverAheadMs);
    this.#rules = new ClusterRules(this.#time, this.#server);
    this.#rules.hasEnded = (life) => this.#processes.every((each) => each.life !== life || each.hasEnded);
    this.#reads = random.below(3) === 0 ? "confirm" : "lease";
    this.#latencyMs = this.#pick([20, 20, 200, 600]);
    this.#doubtful = this.#pick([0, 2, 15]);
    const formats = this.#pick([
      [1, 1, 1],
      [1, 1, 1],
      [2, 1, 2],
    ]);
    for (const [index, name] of NAMES.entries()) this.#addMachine(name, formats[index] ?? 1);
    const all = [
      this.#pause,
      this.#kill,
      this.#startTwin,
      this.#cut,
      this.#cutRenewals,
      this.#isolate,
      this.#fail,
      this.#slowDown,
      this.#disturbClock,
      this.#drain,
      this.#pin,
      this.#poison,
      this.#disturbServerClock,
    ];
    for (const fault of all) {
      const weight = this.#pick([0, 0, 1, 4]);
      for (let i = 0; i < weight; i += 1) this.#faults.push(fault);
    }
    this.#rules.hasDisturbedClocks = this.#faults.includes(this.#disturbClock);
  }

  async run(): Promise<ClusterSummary> {
    for (const machine of this.#machines)
      this.#time.after(this.#random.below(3_000), () => this.#startProcess(machine));
    this.#time.after(5_000, this.#nextFault);
    if (this.#drainRandom.below(3) === 0) this.#time.after(5_000, this.#drainNode);
    const shards = SHARDS.map((shard) => ({ shard, area: "store", hashSeed: Buffer.alloc(4) }));
    await this.#drive(this.#server.backend().addShards(shards));
    await this.#until(CHAOS_MS_MIN + this.#random.below(CHAOS_MS_MAX - CHAOS_MS_MIN));
    this.#endFaults();
    await this.#until(Math.max(...this.#machines.map(({ hidingUntilMs }) => hidingUntilMs)));
    this.#correctWallClocks();
    await this.#drive(this.#mend());
    await this.#until(this.#time.nowMs + LATE_MS_MAX + BOUND_MS);
    await this.#watchService(this.#time.nowMs + QUIET_MS);
    return { ...this.#rules.seen, lost: this.#lost, refused: this.#refused };
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)] as Item;
  }

  #between(min: number, max: number): number {
    return min + this.#random.below(max - min);
  }

  #addMachine(name: string, format: number): void {
    this.#machines.push({
      name,
      directory: emptyDirectory(),
      rate: this.#pick([0.95, 1, 1.05, 0.95 + this.#random.unit() / 10]),
      aheadMs: this.#pick([0, 300, -300, 2_000, -2_000]),
      format,
      process: undefined,
      clockUntilMs: 0,
      hidingUntilMs: 0,
    });
  }

  #startProcess(machine: Machine): void {
    if (machine.process !== undefined && !machine.process.hasEnded) return;
    machine.process = this.#newProcess(machine, machine.directory);
  }

  #newProcess({ name, format, rate, aheadMs }: Machine, directory: Machine["directory"]): SimulatedProcess {
    const process = new SimulatedProcess({
      time: this.#time,
      server: this.#server,
      rules: this.#rules,
      random: this.#random,
      name,
      format,
      reads: this.#reads,
      directory,
      clock: { rate, wallMs: START_MS + this.#time.nowMs + aheadMs },
      latencyMs: this.#isQuiet ? 20 : this.#latencyMs,
      doubtful: this.#isQuiet ? 0 : this.#doubtful,
      drawLife: () => {
        this.#lives += 1;
        return `life ${this.#lives}`;
      },
      isPoisoned: (shard) => this.#poisoned.has(shard),
      bug: this.#bug,
    });
    this.#processes.push(process);
    return process;
  }

  async #until(endMs: number): Promise<void> {
    while (this.#time.nowMs < endMs) await this.#step();
  }

  async #drive(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const end = work.finally(() => {
      isDone = true;
    });
    while (!isDone) await this.#step();
    await end;
  }

  async #step(): Promise<void> {
    this.#time.runNext();
    // Promises, and what a turn puts off to its end.
    await nextTurn();
    await nextTurn();
    this.#reap();
    this.#rules.check(this.#processes);
  }

  /** Processes that lost their life, were refused, or have left end, and start again. */
  #reap(): void {
    for (const machine of this.#machines) {
      const { process } = machine;
      if (process === undefined || process.hasEnded) continue;
      if (process.host.lostReason !== undefined) this.#lost += 1;
      else if (process.isRefused) this.#refused += 1;
      else if (!process.hasLeft) continue;
      process.kill();
      this.#time.after(this.#between(100, 3_000), () => this.#startProcess(machine));
    }
    // Twins that were refused.
    for (const process of this.#processes) {
      if (process.hasEnded || this.#machines.some((machine) => machine.process === process)) continue;
      if (process.host.lostReason === undefined && !process.isRefused && !process.hasLeft) continue;
      if (process.isRefused) this.#refused += 1;
      process.kill();
    }
  }

  readonly #nextFault = (): void => {
    if (this.#isQuiet) return;
    if (this.#faults.length > 0) this.#pick(this.#faults).call(this);
    this.#time.after(this.#between(500, 8_000), this.#nextFault);
  };

  #running(): SimulatedProcess | undefined {
    const running = this.#processes.filter((each) => each.isRunning);
    return running.length === 0 ? undefined : this.#pick(running);
  }

  readonly #pause = (): void => {
    const process = this.#running();
    if (process === undefined) return;
    process.isPaused = true;
    this.#time.after(this.#pick([300, 3_000, 9_000, this.#between(100, 20_000)]), () => process.resume());
  };

  readonly #kill = (): void => {
    const machine = this.#pick(this.#machines);
    machine.process?.kill();
    // A data directory that was lost: the next process knows no former life.
    if (this.#random.below(4) === 0) machine.directory.lives = { former: undefined, next: undefined };
    this.#time.after(this.#pick([50, 50, this.#between(100, 12_000)]), () => this.#startProcess(machine));
  };

  /** Another process with the name of a node. */
  readonly #startTwin = (): void => {
    this.#newProcess(this.#pick(this.#machines), emptyDirectory());
  };

  readonly #cut = (): void => {
    const process = this.#running();
    if (process === undefined) return;
    process.faults.isCut = true;
    this.#time.after(this.#between(500, 15_000), () => {
      process.faults.isCut = false;
    });
  };

  readonly #cutRenewals = (): void => {
    const process = this.#running();
    if (process === undefined) return;
    process.faults.isRenewalCut = true;
    this.#time.after(this.#between(2_000, 15_000), () => {
      process.faults.isRenewalCut = false;
    });
  };

  readonly #isolate = (): void => {
    const process = this.#running();
    if (process === undefined) return;
    process.faults.frozen = this.#server.database.frozen();
    this.#time.after(this.#between(2_000, 15_000), () => {
      process.faults.frozen = undefined;
    });
  };

  readonly #fail = (): void => {
    this.#server.become(this.#pick<StoreState>(["down", "down", "hangs", "refuses"]));
    this.#time.after(this.#pick([1_500, 7_000, this.#between(500, 15_000)]), () => this.#server.become("up"));
  };

  readonly #slowDown = (): void => {
    this.#server.commitMs = this.#pick([500, 3_000]);
    this.#time.after(this.#between(1_000, 12_000), () => {
      this.#server.commitMs = 0;
    });
  };

  readonly #disturbClock = (): void => {
    const machine = this.#pick(this.#machines);
    const { process } = machine;
    // Two faults of one clock within a lease could hide each other.
    if (process === undefined || this.#time.nowMs < machine.clockUntilMs) return;
    machine.clockUntilMs = this.#time.nowMs + 25_000;
    const { clock } = process;
    const kind = this.#random.below(3);
    if (kind === 0) {
      const stepMs = this.#pick([-60_000, -4_000, -1_000, 1_000, 4_000, 60_000]);
      machine.aheadMs += stepMs;
      clock.wall.set({ value: clock.wall.value + stepMs });
      return;
    }
    if (kind === 2) machine.hidingUntilMs = machine.clockUntilMs;
    const hand = kind === 1 ? clock.wall : clock.monotonic;
    hand.set({ rate: 0 });
    this.#time.after(this.#between(1_000, 12_000), () => hand.set({ rate: clock.rate }));
  };

  readonly #drain = (): void => {
    const process = this.#running();
    process?.drain();
    // A drain that takes too long ends as a kill.
    this.#time.after(20_000, () => {
      if (process?.isDraining === true) process.hasLeft = true;
    });
  };

  readonly #pin = (): void => {
    const node = this.#pick([undefined, ...NAMES]);
    void this.#server
      .backend()
      .pin(this.#pick(SHARDS), node)
      .catch(() => {});
  };

  /** An administrator drains a node for a while, whether it runs or not. */
  readonly #drainNode = (): void => {
    if (this.#isQuiet) return;
    const random = this.#drainRandom;
    const name = NAMES[random.below(NAMES.length)] as string;
    const isDrained = random.below(3) > 0;
    void this.#server
      .backend()
      .setDrained(name, isDrained)
      .catch(() => {});
    this.#time.after(2_000 + random.below(20_000), this.#drainNode);
  };

  readonly #poison = (): void => {
    const shard = this.#pick(SHARDS);
    this.#poisoned.add(shard);
    this.#time.after(this.#between(3_000, 20_000), () => this.#poisoned.delete(shard));
  };

  readonly #disturbServerClock = (): void => {
    this.#serverAheadMs = this.#pick([-8_000, -700, 700, 8_000]);
    this.#time.after(this.#between(1_000, 15_000), () => {
      this.#serverAheadMs = 0;
    });
  };

  #endFaults(): void {
    this.#isQuiet = true;
    this.#server.become("up");
    this.#server.commitMs = 0;
    this.#serverAheadMs = 0;
    this.#poisoned.clear();
    for (const process of this.#processes) {
      process.faults.isCut = false;
      process.faults.isRenewalCut = false;
      process.faults.frozen = undefined;
      process.faults.doubtful = 0;
      process.faults.latencyMs = 20;
      process.clock.wall.set({ rate: process.clock.rate });
      process.clock.monotonic.set({ rate: process.clock.rate });
      process.resume();
      if (process.isDraining) process.hasLeft = true;
    }
  }

  #correctWallClocks(): void {
    for (const machine of this.#machines) machine.aheadMs = 0;
    for (const { clock } of this.#processes) clock.wall.set({ value: START_MS + this.#time.nowMs });
  }

  /** What an administrator does. */
  async #mend(): Promise<void> {
    const store = this.#server.backend();
    for (const shard of SHARDS) {
      await store.forgetTries(shard);
      await store.pin(shard, undefined);
    }
    // In some lives one node stays drained, and must not keep a shard from being served.
    const drained = this.#drainRandom.below(2) === 0 ? this.#drainRandom.below(NAMES.length) : -1;
    for (const [index, name] of NAMES.entries()) await store.setDrained(name, index === drained);
  }

  async #watchService(endMs: number): Promise<void> {
    const startMs = this.#time.nowMs;
    const servedMs = new Map<number, number>();
    while (this.#time.nowMs < endMs) {
      await this.#step();
      for (const { shard, owner } of this.#rules.shards) {
        const isServed = this.#processes.some((each) => each.life === owner && each.serves(shard));
        if (isServed) servedMs.set(shard, this.#time.nowMs);
        else if (this.#time.nowMs - (servedMs.get(shard) ?? startMs) > MOVE_MS_MAX)
          throw new ClusterViolation(
            servedMs.has(shard)
              ? `shard ${shard} has not been served for ${MOVE_MS_MAX} ms`
              : `shard ${shard} has no owner that serves it ${BOUND_MS} ms after the last fault`,
          );
      }
    }
  }
}
