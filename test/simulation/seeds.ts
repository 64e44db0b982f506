/** Runs simulations in sequence, each with its own seed, until the allowance is spent or one fails. */
import { systemClock } from "../../src/kernel/clock.ts";
import type { Allowance } from "../budget.ts";

/** The rule that did not hold, with the seed of its run. Nothing more was tried after it. */
export interface SeedViolation {
  readonly seed: number;
  readonly error: Error;
}

export interface SeedOptions {
  /** Seed of the first run; each next run adds one. */
  readonly seed: number;
  /** A run under way when it is spent is finished. */
  readonly allowance: Allowance;
  /** With an allowance of time: the least number of runs. */
  readonly runsMin: number;
  /** With an allowance of time: what must happen at least once, however slow the machine is. Zero: not yet. */
  readonly seen: () => readonly number[];
  /** What the allowance counts, after this many runs. */
  readonly counted: (runs: number) => number;
}

/** Returns how many runs passed, and the violation that ended the last one. */
export async function runSeeds(
  { seed, allowance, runsMin, seen, counted }: SeedOptions,
  runOnce: (seed: number) => Promise<void>,
): Promise<{ readonly runs: number; readonly violation: SeedViolation | undefined }> {
  const startMs = systemClock.monotonicMs();
  const isSpent = (runs: number): boolean =>
    "count" in allowance
      ? counted(runs) >= allowance.count
      : runs >= runsMin && systemClock.monotonicMs() - startMs >= allowance.budgetMs && !seen().includes(0);
  let runs = 0;
  for (; !isSpent(runs); runs += 1) {
    try {
      await runOnce(seed + runs);
    } catch (error) {
      const violation = { seed: seed + runs, error: error instanceof Error ? error : new Error(String(error)) };
      return { runs, violation };
    }
  }
  return { runs, violation: undefined };
}

/** Throws a violation, with the command that repeats its run. */
export function throwViolation(violation: SeedViolation | undefined, again: (seed: number) => string): void {
  if (violation !== undefined) throw new Error(`Again: ${again(violation.seed)}`, { cause: violation.error });
}
