/**
 * Kills the real program while clients write to the store:
 *
 *     npm run crash -- --rounds 100 [--fsync always|everysec] [--seed 7]
 *
 * The ledger records every acknowledgement; the rules that it checks are in
 * `writes.ts`, the ways of ending a server in `../endings.ts`.
 */
import { parseArgs } from "node:util";
import { systemClock } from "../../../../src/kernel/clock.ts";
import { seededRandom } from "../../../../src/kernel/random.ts";
import { describeEndings, drawEnding, type Ending, type Shares } from "../endings.ts";
import { fsyncOf } from "../ground.ts";
import { type KillOptions, type KillPort, type KillSummary, runKillRounds } from "../rounds.ts";
import { type Damage, Ledger } from "./ledger.ts";
import { type Life, runRound, startServer } from "./round.ts";

export interface StoreKillOptions extends KillOptions {
  /** If absent, data directories alternate between the two. */
  readonly fsync?: Life["fsync"];
}

export interface StoreKillSummary extends KillSummary<Damage> {
  readonly roundsByEnding: ReadonlyMap<Ending, number>;
  readonly acknowledged: number;
}

const ROUNDS_OF_A_LIFE = 10;
const CLIENTS_MIN = 8;
const CLIENTS_MAX = 16;
const SHARES: Shares = [
  ["group", 3],
  ["start-up", 4],
  ["snapshot", 1],
  ["stop", 2],
];

export async function runStoreKills(options: StoreKillOptions): Promise<StoreKillSummary> {
  const { seed, fsync } = options;
  const roundsByEnding = new Map<Ending, number>([["kill", 0], ...SHARES.map(([ending]) => [ending, 0] as const)]);
  let acknowledged = 0;
  const port: KillPort<Life, Damage> = {
    name: "store",
    roundsOfALife: ROUNDS_OF_A_LIFE,
    endMs: 0,
    begin: ({ directory, ground, number, random }) => ({
      directory,
      ground,
      fsync: fsync ?? fsyncOf(number % 2 === 0 ? "everysec" : "always"),
      ledger: new Ledger(CLIENTS_MIN + random.below(CLIENTS_MAX - CLIENTS_MIN + 1)),
    }),
    start: (life) => startServer(life, "per-area"),
    async runRound(life, server, number) {
      const random = seededRandom(seed * 7_919 + number);
      const ending = drawEnding(random, SHARES);
      const end = await runRound(life, server, { ending, threads: number % 2 === 0 ? "one" : "per-area", random });
      roundsByEnding.set(ending, (roundsByEnding.get(ending) ?? 0) + 1);
      return end;
    },
    acknowledgedCount: ({ ledger }) => ledger.ackedCount,
    // Each round checks everything that its life acknowledged.
    checkEverything: async (life) => {
      acknowledged += life.ledger.ackedCount;
      return [];
    },
    close: () => {},
  };
  const { rounds, damages } = await runKillRounds(port, options);
  return { rounds, damages, roundsByEnding, acknowledged };
}

/** The summary as lines: what was done, what was lost, how to repeat it. */
export function describeStoreKills(
  { rounds, roundsByEnding, acknowledged, damages }: StoreKillSummary,
  { seed, fsync }: Pick<StoreKillOptions, "seed" | "fsync">,
): string {
  const lost = damages.filter(({ isLoss }) => isLoss).length;
  return [
    ...damages.map(({ kind, owner, what }) => `WRONG ${kind} of ${owner}: ${what}`),
    `rounds ${rounds} (${describeEndings(roundsByEnding)}), acknowledged writes ${acknowledged}, lost ${lost}, otherwise wrong ${damages.length - lost}`,
    `again: npm run crash -- --rounds ${rounds} --seed ${seed}${fsync === undefined ? "" : ` --fsync ${fsync}`}`,
  ].join("\n");
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
  // Servers have process groups of their own, so Ctrl-C reaches only this process; its exit ends them.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  const options: StoreKillOptions = {
    allowance: { count: Number(values.rounds) },
    seed,
    ...(fsync && { fsync }),
    print: console.log,
  };
  const summary = await runStoreKills(options);
  console.log(describeStoreKills(summary, options));
  process.exitCode = summary.damages.length === 0 ? 0 : 1;
}
