/** Many lives of workflows, until the time or the count is used up or something is found. */
import type { Allowance } from "../../budget.ts";
import { runSeeds, type SeedViolation } from "../seeds.ts";
import { type LifeSummary, liveOnce, type WorkflowBug } from "./life.ts";

export interface SimulationSummary {
  readonly lives: number;
  readonly totals: LifeSummary;
  readonly violation: SeedViolation | undefined;
}

export async function runSimulation({
  seed,
  allowance,
  bug,
}: {
  readonly seed: number;
  readonly allowance: Allowance;
  readonly bug?: WorkflowBug;
}): Promise<SimulationSummary> {
  let totals: LifeSummary = { ended: 0, succeeded: 0, failed: 0, cancelled: 0, restarts: 0 };
  const counted = (lives: number): number => lives;
  const seen = (): readonly number[] => [totals.succeeded, totals.restarts];
  const options = { seed, allowance, runsMin: 0, seen, counted };
  const { runs: lives, violation } = await runSeeds(options, async (lifeSeed) => {
    const life = await liveOnce(lifeSeed, bug);
    totals = {
      ended: totals.ended + life.ended,
      succeeded: totals.succeeded + life.succeeded,
      failed: totals.failed + life.failed,
      cancelled: totals.cancelled + life.cancelled,
      restarts: totals.restarts + life.restarts,
    };
  });
  return { lives, totals, violation };
}
