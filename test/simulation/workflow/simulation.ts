/** Many lives of workflows, until the time or the count is used up, or something is found. */
import { systemClock } from "../../../src/kernel/clock.ts";
import type { Allowance } from "../../budget.ts";
import { type LifeSummary, liveOnce, type WorkflowBug } from "./life.ts";

export interface SimulationSummary {
  readonly lives: number;
  readonly totals: LifeSummary;
  readonly violation: { readonly seed: number; readonly error: Error } | undefined;
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
  const startMs = systemClock.monotonicMs();
  const isOver = (lives: number): boolean =>
    "count" in allowance ? lives >= allowance.count : systemClock.monotonicMs() - startMs >= allowance.budgetMs;
  let totals: LifeSummary = { ended: 0, succeeded: 0, failed: 0, cancelled: 0, restarts: 0 };
  let lives = 0;
  while (!isOver(lives)) {
    try {
      const life = await liveOnce(seed + lives, bug);
      totals = {
        ended: totals.ended + life.ended,
        succeeded: totals.succeeded + life.succeeded,
        failed: totals.failed + life.failed,
        cancelled: totals.cancelled + life.cancelled,
        restarts: totals.restarts + life.restarts,
      };
    } catch (fault) {
      const error = fault instanceof Error ? fault : new Error(JSON.stringify(fault));
      return { lives, totals, violation: { seed: seed + lives, error } };
    }
    lives += 1;
  }
  return { lives, totals, violation: undefined };
}
