/**
 * Crashes at every boundary of recorded runs, recovers, compares with the model.
 *
 *     run of a seed:  life -> crash -> life on what it left -> crash -> life
 *
 * Every moment of every life is tried with several outcomes (life.ts),
 * each is recovered and compared (check.ts), and the next life begins on
 * one of them. So a recovery is itself interrupted at every boundary, and what
 * is written after one can be lost like everything else.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { FsyncMode } from "../../../src/persistence/journal/journal.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import type { Allowance } from "../../budget.ts";
import { type LifePort, runLives } from "../lives.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import type { Backup, Harness } from "../server.ts";
import { checkCrashState, checkDamage, checkLoss, type Restart } from "./check.ts";
import { History } from "./history.ts";
import { type CrashState, Life } from "./life.ts";
import type { Subject } from "./subject.ts";

export interface CrashRunOptions<Engine extends SnapshotEngine, State> {
  readonly subject: Subject<Engine, State>;
  /** Seed of the first run; each next run adds one. */
  readonly seed: number;
  /** Limit in crash states or in time. A run under way at the limit is finished. */
  readonly allowance: Allowance;
  /** Each life gets one of them; the default is all. */
  readonly modes?: readonly FsyncMode[];
  /** Number of crashes to check in each life, drawn from all of them; all if absent. */
  readonly statesPerLifeMax?: number;
  /** Planted bugs; a new harness for each run. */
  readonly harness?: (random: Random) => Harness<Engine>;
}

export interface CrashSummary {
  runs: number;
  lives: number;
  /** Units of work that were appended. */
  units: number;
  /** Crash states recovered and compared, damaged ones included. */
  states: number;
  powerCuts: number;
  kills: number;
  damaged: number;
  /** Damaged ones whose start was refused. */
  refused: number;
  /** The age of the oldest lost acknowledgement, with `everysec`. */
  oldestLostMs: number;
  violation: SeedViolation | undefined;
}

const ALL_MODES: readonly FsyncMode[] = ["always", "everysec", "no"];
const LIVES_PER_RUN = 3;
const DAMAGES_PER_LIFE = 20;

export async function runCrashStates<Engine extends SnapshotEngine, State>(
  options: CrashRunOptions<Engine, State>,
): Promise<CrashSummary> {
  const { seed, allowance } = options;
  const summary: CrashSummary = {
    ...{ runs: 0, lives: 0, units: 0, states: 0, powerCuts: 0, kills: 0, damaged: 0, refused: 0, oldestLostMs: 0 },
    violation: undefined,
  };
  const counted = (): number => summary.states;
  const seen = (): readonly number[] => [summary.states, summary.kills, summary.damaged];
  const { runs, violation } = await runSeeds({ seed, allowance, runsMin: 1, seen, counted }, (runSeed) =>
    runOnce(options, runSeed, summary),
  );
  return { ...summary, runs, violation };
}

async function runOnce<Engine extends SnapshotEngine, State>(
  options: CrashRunOptions<Engine, State>,
  seed: number,
  summary: CrashSummary,
): Promise<void> {
  const random = seededRandom(seed);
  const { subject, statesPerLifeMax, modes = ALL_MODES } = options;
  const harness = options.harness?.(random) ?? {};
  const none: readonly Backup[] = [];
  let past = { history: new History([subject.empty]), promised: { powerCut: 0, kill: 0 }, backups: none };
  const port: LifePort = {
    lives: LIVES_PER_RUN,
    async live(start) {
      const mode = modes[random.below(modes.length)] as FsyncMode;
      const life = new Life({ ...past, ...{ subject, mode, harness }, ...start() });
      await life.run();
      summary.lives += 1;
      summary.units += life.unitCount;
      const next = life.states[random.below(life.states.length)] as CrashState<State>;
      past = { history: next.history.upTo(next.end), promised: next.promised, backups: next.backups };
      // Checking a state recovers it, so the next life gets a copy made earlier.
      const left = { disk: next.disk.restarted({ seed: 0 }), wallMs: next.wallMs };
      await checkLife(life, { subject, mode, harness, random, summary, statesPerLifeMax });
      return left;
    },
  };
  await runLives(port, random);
}

async function checkLife<Engine extends SnapshotEngine, State>(
  life: Life<Engine, State>,
  context: Restart<Engine, State> & {
    mode: FsyncMode;
    random: Random;
    summary: CrashSummary;
    statesPerLifeMax: number | undefined;
  },
): Promise<void> {
  const { mode, random, summary, statesPerLifeMax } = context;
  const last = life.states.at(-1) as CrashState<State>;
  for (let i = 0; i < DAMAGES_PER_LIFE; i += 1) {
    if (await checkDamage(last, context, random)) summary.refused += 1;
    summary.damaged += 1;
    summary.states += 1;
  }
  if (await checkLoss(last, context, random)) summary.refused += 1;
  summary.damaged += 1;
  summary.states += 1;
  for (const state of drawnStates(life.states, random, statesPerLifeMax)) {
    const { lostMs } = await checkCrashState(state, context, random);
    if (mode === "everysec" && lostMs !== undefined) summary.oldestLostMs = Math.max(summary.oldestLostMs, lostMs);
    if (state.isPowerCut) summary.powerCuts += 1;
    else summary.kills += 1;
    summary.states += 1;
  }
}

/** A random subset, in order. */
function drawnStates<Item>(states: readonly Item[], random: Random, countMax = states.length): readonly Item[] {
  if (states.length <= countMax) return states;
  let left = countMax;
  return states.filter((_, index) => {
    const isDrawn = random.below(states.length - index) < left;
    if (isDrawn) left -= 1;
    return isDrawn;
  });
}

/** One line for a person. */
export function describeSummary(summary: CrashSummary, seed: number): string {
  const { runs, lives, units, states, powerCuts, kills, damaged, refused, oldestLostMs } = summary;
  return [
    `SEED=${seed}: ${states} crash states (${powerCuts} power cuts, ${kills} kills, ${damaged} damaged files, `,
    `${refused} of them refused) of ${lives} lives with ${units} units of work in ${runs} runs; `,
    `everysec: the oldest lost write was acknowledged ${oldestLostMs} ms before the cut`,
  ].join("");
}
