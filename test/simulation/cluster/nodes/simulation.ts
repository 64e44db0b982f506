/** Many lives of clusters, until the time or the count is used up or something is found. */
import type { Allowance } from "../../../budget.ts";
import { runSeeds, type SeedViolation } from "../../seeds.ts";
import { type ClusterSummary, liveCluster } from "./cluster-life.ts";
import type { ClusterBug } from "./simulated-process.ts";

export interface ClusterSimulation {
  readonly lives: number;
  readonly totals: ClusterSummary;
  readonly violation: SeedViolation | undefined;
}

const NOTHING: ClusterSummary = {
  claims: 0,
  deaths: 0,
  moves: 0,
  replies: 0,
  calls: 0,
  rows: 0,
  broken: 0,
  lost: 0,
  refused: 0,
};

export async function runClusters({
  seed,
  allowance,
  bug,
}: {
  readonly seed: number;
  readonly allowance: Allowance;
  readonly bug?: ClusterBug;
}): Promise<ClusterSimulation> {
  const totals: Record<keyof ClusterSummary, number> = { ...NOTHING };
  const counted = (lives: number): number => lives;
  const seen = (): readonly number[] => [totals.deaths, totals.claims, totals.replies, totals.calls];
  const { runs: lives, violation } = await runSeeds(
    { seed, allowance, runsMin: 1, seen, counted },
    async (lifeSeed) => {
      const summary = await liveCluster(lifeSeed, bug);
      for (const key of Object.keys(NOTHING) as (keyof ClusterSummary)[]) totals[key] += summary[key];
    },
  );
  return { lives, totals, violation };
}
