/** Runs with bodies on a simulated disk, life after life, each after a power cut or a kill. */
import { seededRandom } from "../../../src/kernel/random.ts";
import type { Allowance } from "../../budget.ts";
import { crashed, type LifePort, runLives } from "../lives.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { KeptRunLife, type KeptRunsBug } from "./kept-run-life.ts";
import { RunMemory } from "./run-memory.ts";

export interface KeptRunsSummary {
  worlds: number;
  crashes: number;
  deliveries: number;
  compared: number;
  moved: number;
  removed: number;
  violation: SeedViolation | undefined;
}

const LIVES = 4;
const ACTIONS = 120;
/** Enough for every event to happen, however slow the machine is. */
const WORLDS_MIN = 2;

export async function runKeptRuns({
  seed,
  allowance,
  bug = {},
}: {
  readonly seed: number;
  readonly allowance: Allowance;
  readonly bug?: KeptRunsBug;
}): Promise<KeptRunsSummary> {
  const counts = { worlds: 0, crashes: 0, deliveries: 0, compared: 0, moved: 0, removed: 0 };
  const summary: KeptRunsSummary = { ...counts, violation: undefined };
  const counted = (): number => summary.crashes;
  const seen = (): readonly number[] => [summary.deliveries, summary.compared, summary.moved, summary.removed];
  const options = { seed, allowance, runsMin: WORLDS_MIN, seen, counted };
  const { runs: worlds, violation } = await runSeeds(options, (worldSeed) => runWorld(worldSeed, bug, summary));
  return { ...summary, worlds, violation };
}

async function runWorld(seed: number, bug: KeptRunsBug, summary: KeptRunsSummary): Promise<void> {
  const random = seededRandom(seed);
  const memory = new RunMemory();
  const port: LifePort = {
    lives: LIVES,
    async live(start) {
      const life = new KeptRunLife(memory, { ...start(), bug });
      await life.open();
      await life.run(ACTIONS);
      if (random.below(2) === 0) await life.checkRuns();
      life.die();
      summary.crashes += 1;
      return { disk: crashed(life.disk, random), wallMs: life.clock.nowMs() + 1 };
    },
  };
  await runLives(port, random);
  for (const name of ["deliveries", "compared", "moved", "removed"] as const) summary[name] += memory[name];
}
