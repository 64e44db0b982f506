/** Many lives of nodes that forward, until the time or the count is used up or something is found. */
import type { Allowance } from "../../../budget.ts";
import { runSeeds, type SeedViolation } from "../../seeds.ts";
import { type ForwardingBug, type ForwardingSummary, liveForwarding } from "./forwarding-life.ts";

export interface ForwardingSimulation {
  readonly lives: number;
  readonly totals: ForwardingSummary;
  readonly violation: SeedViolation | undefined;
}

const NOTHING: ForwardingSummary = { answered: 0, refused: 0, lost: 0, forwarded: 0, moves: 0 };

export async function runForwarding({
  seed,
  allowance,
  bug,
}: {
  readonly seed: number;
  readonly allowance: Allowance;
  readonly bug?: ForwardingBug;
}): Promise<ForwardingSimulation> {
  const totals: Record<keyof ForwardingSummary, number> = { ...NOTHING };
  const seen = (): readonly number[] => [totals.answered, totals.refused, totals.lost, totals.moves];
  const { runs: lives, violation } = await runSeeds(
    { seed, allowance, runsMin: 1, seen, counted: (count) => count },
    async (lifeSeed) => {
      const summary = await liveForwarding(lifeSeed, bug);
      for (const key of Object.keys(NOTHING) as (keyof ForwardingSummary)[]) totals[key] += summary[key];
    },
  );
  return { lives, totals, violation };
}
