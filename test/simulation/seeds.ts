/** Simulated runs one after the other, each from a seed of its own, until the allowance is spent or one of them fails. */
import { systemClock } from "../../src/kernel/clock.ts";
import type { Allowance } from "../budget.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

/** What did not hold, with the seed of its run. Nothing more was tried then. */
export interface SeedViolation {
  readonly seed: number;
  readonly error: Error;
}

export interface SeedOptions {
  /** Of the first run; the next ones count on from it. */
  readonly seed: number;
  /** A run that is under way when it is spent is finished. */
  readonly allowance: Allowance;
  /** With an allowance of time: runs that are made however slow the machine is, so that everything has happened. */
  readonly runsMin: number;
  /** What the allowance counts, after this many runs. */
  readonly counted: (runs: number) => number;
}

/** Returns how many runs passed, and the violation that ended the last one. */
export async function runSeeds(
  { seed, allowance, runsMin, counted }: SeedOptions,
  runOnce: (seed: number) => Promise<void>,
): Promise<{ readonly runs: number; readonly violation: SeedViolation | undefined }> {
  const startMs = systemClock.monotonicMs();
  const isSpent = (runs: number): boolean =>
    "count" in allowance
      ? counted(runs) >= allowance.count
      : runs >= runsMin && systemClock.monotonicMs() - startMs >= allowance.budgetMs;
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

/** A disk that has `directory` and nothing else. */
export async function emptyDisk(directory: string): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 0 });
  await disk.mkdir(directory);
  await disk.syncDirectory("/");
  return disk;
}
