/**
 * Kills the real program again and again and looks whether it kept its word.
 *
 *     npm run crash -- --rounds 100 [--fsync always|everysec] [--seed 7]
 *
 * A supervisor (this process) remembers every acknowledgement; the rules that
 * it checks are in `process-kill/writes.ts`, the ways of ending a server in
 * `process-kill/round.ts`. One data directory lives for several rounds, so a
 * server also recovers from what earlier recoveries left.
 *
 * The seed fixes the ways, the moments and the order of writes that a client
 * draws. What the machine makes of the moments it does not fix, so a failing
 * seed is likely, not certain, to fail again; the data directory of a failure
 * is kept for a look with `larder check --data-dir`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/kernel/clock.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import type { Allowance } from "../budget.ts";
import type { RunningProgram } from "../program/program-process.ts";
import { type Damage, Ledger } from "./process-kill/ledger.ts";
import { type Ending, endings, type Life, type Round, runRound, startServer } from "./process-kill/round.ts";

export interface CrashLoopOptions {
  readonly allowance: Allowance;
  readonly seed: number;
  /** Without it each data directory gets one of the two in turn. */
  readonly fsync?: Life["fsync"];
  readonly print: (line: string) => void;
}

export interface CrashLoopSummary {
  readonly rounds: number;
  readonly roundsByEnding: Readonly<Record<Ending, number>>;
  readonly acknowledged: number;
  readonly damages: readonly Damage[];
}

const ROUNDS_OF_A_LIFE = 10;
const CLIENTS_MIN = 8;
const CLIENTS_MAX = 16;
/** Out of twenty rounds; the rest are plain kills. */
const SHARES: Readonly<Partial<Record<Ending, number>>> = { group: 3, "start-up": 4, snapshot: 1, stop: 2 };
const SHARES_SUM = 20;

/** Runs rounds until the allowance is used up or something is wrong. Rejects when a start fails or a write is refused. */
export async function runCrashLoop(options: CrashLoopOptions): Promise<CrashLoopSummary> {
  const { allowance, seed, print } = options;
  const startMs = systemClock.monotonicMs();
  const isLeft = (rounds: number): boolean =>
    "count" in allowance ? rounds < allowance.count : systemClock.monotonicMs() - startMs < allowance.budgetMs;
  const roundsByEnding: Record<Ending, number> = { kill: 0, group: 0, "start-up": 0, snapshot: 0, stop: 0 };
  const damages: Damage[] = [];
  let rounds = 0;
  let acknowledged = 0;
  for (let number = 0; isLeft(rounds) && damages.length === 0; number += 1) {
    const life = beginLife(options, number);
    let server: RunningProgram | undefined;
    try {
      server = await startServer(life, "per-area");
      for (let i = 0; i < ROUNDS_OF_A_LIFE && isLeft(rounds) && damages.length === 0; i += 1) {
        const round = drawRound(seed, rounds);
        const ended = await runRound(life, server, round);
        server = ended.server;
        damages.push(...ended.damages);
        rounds += 1;
        roundsByEnding[round.ending] += 1;
      }
    } catch (cause) {
      throw new Error(`round ${rounds} of SEED=${seed} failed; data directory kept: ${life.directory}`, { cause });
    } finally {
      await server?.killGroup();
    }
    acknowledged += life.ledger.ackedCount;
    if (damages.length > 0) print(`round ${rounds - 1} of SEED=${seed}; data directory kept: ${life.directory}`);
    // The process of a snapshot may still be leaving.
    else rmSync(life.directory, { recursive: true, force: true, maxRetries: 5 });
  }
  return { rounds, roundsByEnding, acknowledged, damages };
}

/** The summary as lines: what was done, what was lost, how to do it again. */
export function describe(summary: CrashLoopSummary, { seed, fsync }: Pick<CrashLoopOptions, "seed" | "fsync">): string {
  const { rounds, roundsByEnding, acknowledged, damages } = summary;
  const kinds = Object.entries(roundsByEnding).map(([ending, count]) => `${ending} ${count}`);
  const lost = damages.filter(({ isLoss }) => isLoss).length;
  return [
    ...damages.map(({ kind, owner, what }) => `WRONG ${kind} of ${owner}: ${what}`),
    `rounds ${rounds} (${kinds.join(", ")}), acknowledged writes ${acknowledged}, lost ${lost}, otherwise wrong ${damages.length - lost}`,
    `again: npm run crash -- --rounds ${rounds} --seed ${seed}${fsync === undefined ? "" : ` --fsync ${fsync}`}`,
  ].join("\n");
}

function beginLife({ fsync, seed }: CrashLoopOptions, number: number): Life {
  const random = seededRandom(seed * 1_000_003 + number);
  return {
    directory: mkdtempSync(join(tmpdir(), "larder-crash-")),
    fsync: fsync ?? (number % 2 === 0 ? "everysec" : "always"),
    ledger: new Ledger(CLIENTS_MIN + random.below(CLIENTS_MAX - CLIENTS_MIN + 1)),
  };
}

function drawRound(seed: number, number: number): Round {
  const random = seededRandom(seed * 7_919 + number);
  let left = random.below(SHARES_SUM);
  const ending = endings.find((each) => {
    left -= SHARES[each] ?? 0;
    return left < 0;
  });
  return { ending: ending ?? "kill", threads: number % 2 === 0 ? "one" : "per-area", random };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { rounds: { type: "string", default: "20" }, fsync: { type: "string" }, seed: { type: "string" } },
  });
  const { fsync } = values;
  if (fsync !== undefined && fsync !== "always" && fsync !== "everysec")
    throw new Error(`--fsync is always or everysec, not ${fsync}`);
  const seed = Number(values.seed ?? Math.floor(systemClock.nowMs() % 1_000_000));
  console.log(`SEED=${seed}`);
  // Servers have process groups of their own, so Ctrl-C reaches only us; leaving ends them.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  const options: CrashLoopOptions = {
    allowance: { count: Number(values.rounds) },
    seed,
    ...(fsync && { fsync }),
    print: console.log,
  };
  const summary = await runCrashLoop(options);
  console.log(describe(summary, options));
  process.exitCode = summary.damages.length === 0 ? 0 : 1;
}
