/**
 * All of messaging in virtual time, run after run, each from a seed:
 *
 *     life -> crash or stop -> life on what it left -> … -> no more faults -> all is done
 *
 * The rules are in ledger.ts (messages, calls, answers), admission.ts (caps,
 * queues, rates), state-rules.ts (the engine's own counts), duplicates.ts,
 * firings.ts, freezes.ts and history-copy.ts.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { Allowance } from "../../budget.ts";
import { crashed, type LifePort, runLives } from "../lives.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { Admission } from "./admission.ts";
import { Duplicates } from "./duplicates.ts";
import { Firings } from "./firings.ts";
import { Freezes } from "./freezes.ts";
import { HistoryCopy } from "./history-copy.ts";
import { Ledger, type LedgerCounts } from "./ledger.ts";
import { Life, type MessagingBug, type Model } from "./life.ts";
import { Requests } from "./requests.ts";
import { comeToRest } from "./rest.ts";
import { drawSwarm, type Swarm } from "./swarm.ts";
import { Workload } from "./workload.ts";

export interface SimulationOptions {
  /** Seed of the first run; each next run adds one. */
  readonly seed: number;
  /** Limit in runs or in time. */
  readonly allowance: Allowance;
  readonly bug?: MessagingBug;
}

export interface SimulationSummary extends LedgerCounts {
  runs: number;
  virtualMs: number;
  violation: SeedViolation | undefined;
}

/** Enough for every event to happen, however slow the machine is. */
const RUNS_MIN = 20;
const LIVES_MAX = 4;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export async function runSimulation({ seed, allowance, bug = {} }: SimulationOptions): Promise<SimulationSummary> {
  const counts = { accepted: 0, calls: 0, delivered: 0, failed: 0, cancelled: 0, repeated: 0, crashes: 0 };
  const summary: SimulationSummary = { ...counts, runs: 0, virtualMs: 0, violation: undefined };
  const counted = (runs: number): number => runs;
  const seen = (): readonly number[] => [summary.delivered, summary.failed, summary.cancelled, summary.crashes];
  const { runs, violation } = await runSeeds({ seed, allowance, runsMin: RUNS_MIN, seen, counted }, (runSeed) =>
    runOnce(runSeed, bug, summary),
  );
  return { ...summary, runs, violation };
}

async function runOnce(seed: number, bug: MessagingBug, summary: SimulationSummary): Promise<void> {
  const random = seededRandom(seed);
  const swarm = drawSwarm(random, seed);
  const freezes = new Freezes();
  const ledger = new Ledger(swarm.limits.deadLetterRetentionMs, freezes);
  const duplicates = new Duplicates(swarm.limits.deduplicationWindowMs);
  const admission = new Admission(ledger, swarm);
  const history = new HistoryCopy();
  const model: Model = { swarm, ledger, admission, duplicates, history, firings: new Firings(), freezes, bug };
  const requests = new Requests(random, swarm);
  const hasEnds = swarm.features.has("crashes") || swarm.features.has("stops");
  const lives = hasEnds ? 1 + random.below(LIVES_MAX) : 1;
  let isCrash = false;
  const unhandled = new UnhandledRejections();
  const port: LifePort = {
    lives,
    async live(start, isLast) {
      const life = new Life(model, start());
      unhandled.told = life.fail;
      await life.open(isCrash);
      await live(life, { random, requests, stepCount: Math.ceil(swarm.stepCount / lives) });
      if (isLast) await comeToRest(life);
      summary.virtualMs += life.clock.monotonicMs();
      if (isLast) return { disk: life.disk, wallMs: life.clock.nowMs() };
      isCrash = swarm.features.has("crashes") && !(swarm.features.has("stops") && random.below(3) === 0);
      if (isCrash) life.die();
      else await life.stop();
      return {
        disk: isCrash ? crashed(life.disk, random) : life.disk,
        wallMs: life.clock.nowMs() + (random.below(3) === 0 ? random.below(2 * HOUR_MS) : random.below(SECOND_MS)),
      };
    },
  };
  try {
    await runLives(port, random);
  } finally {
    unhandled.end();
  }
  for (const name of Object.keys(ledger.counts) as (keyof LedgerCounts)[]) summary[name] += ledger.counts[name];
}

async function live(
  life: Life,
  { random, requests, stepCount }: { random: Random; requests: Requests; stepCount: number },
): Promise<void> {
  const { swarm } = life.model;
  const { features } = swarm;
  requests.nowMs = () => life.clock.nowMs();
  const workload = new Workload(life, random, requests);
  for (let step = 0; step < stepCount; step += 1) {
    const chance = random.below(100);
    if (chance < 40) life.guard(() => workload.act());
    else if (chance < 60) life.stepDisk();
    else if (chance < 90) life.pass(drawSpanMs(random));
    else disturb(life, random, swarm);
    await life.settle();
    const isSlow = features.has("slow disk") && Math.floor(step / 32) % 2 === 0;
    if (!isSlow && random.below(2) === 0) await life.drain();
  }
}

function drawSpanMs(random: Random): number {
  const chance = random.below(100);
  if (chance < 50) return random.below(50);
  if (chance < 75) return random.below(SECOND_MS);
  if (chance < 92) return random.below(MINUTE_MS);
  return random.below(chance < 98 ? 10 * MINUTE_MS : 3 * HOUR_MS);
}

/** What operators, clocks and disks do. */
function disturb(life: Life, random: Random, { features }: Swarm): void {
  const { disk, clock } = life;
  switch (random.below(4)) {
    case 0:
      if (!features.has("clock steps")) return;
      life.model.duplicates.clockSeen(clock.nowMs());
      clock.stepWallClock(drawStepMs(random));
      life.model.admission.clockStepped(clock.nowMs());
      return;
    case 1:
      if (!features.has("full disk")) return;
      disk.freeBytes = random.below(3) === 0 ? random.below(2_000) : Number.POSITIVE_INFINITY;
      return;
    case 2:
      if (features.has("snapshots")) life.begin("snapshot", () => life.takeSnapshot());
      return;
    default:
      if (features.has("snapshots")) life.begin("cleaning", () => life.clean());
  }
}

function drawStepMs(random: Random): number {
  const sizeMs = [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS][random.below(4)] ?? 0;
  return random.below(2) === 0 ? random.below(sizeMs) : -random.below(sizeMs);
}

/** A promise of the engine that is not awaited: its rejection is a fault like any other. */
class UnhandledRejections {
  told: (fault: unknown) => void = () => {};
  readonly #listener = (fault: unknown): void => this.told(fault);

  constructor() {
    process.on("unhandledRejection", this.#listener);
  }

  end(): void {
    process.off("unhandledRejection", this.#listener);
  }
}

/** One line for a person. */
export function describeSimulation(summary: SimulationSummary, seed: number): string {
  const { runs, virtualMs, accepted, calls, delivered, failed, cancelled, repeated, crashes } = summary;
  return [
    `SEED=${seed}: ${runs} runs, ${(virtualMs / DAY_MS).toFixed(1)} days of virtual time, ${accepted} messages, `,
    `${calls} calls, ${delivered} delivered, ${failed} failed, ${cancelled} cancelled, `,
    `${crashes} crashes, ${repeated} calls made again`,
  ].join("");
}
