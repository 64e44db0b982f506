/**
 * How long each test file took, the slowest first. For `npm run proof` it also
 * says how much of its ceiling the run used, so that authors of new suites
 * sees what is left (`test/budget.ts`).
 */
import { PROOF_MINUTES_MAX, proofCeilings } from "../../test/budget.ts";
import type { RunResult } from "./run.ts";

const SHOWN_MAX = 25;

/** The slowest of `fileMs` and all of `shardMs`, as lines. */
export function fileTimes({ fileMs, shardMs }: Pick<RunResult, "fileMs" | "shardMs">): string {
  const lines = ["seconds by file:", ...slowest(fileMs).slice(0, SHOWN_MAX)];
  if (shardMs.size > 0) lines.push("seconds by process of several files:", ...slowest(shardMs));
  return `${lines.join("\n")}\n`;
}

function slowest(times: ReadonlyMap<string, number>): string[] {
  const sorted = [...times].sort(([, a], [, b]) => b - a);
  return sorted.map(([name, ms]) => `  ${(ms / 1_000).toFixed(1).padStart(7)}  ${name}`);
}

/** What a proof of `ms` used of its ceiling, as a line. */
export function proofTime(ms: number): string {
  const ceiling = proofCeilings.reduce((sum, { isThere, minutesMax }) => sum + (isThere ? minutesMax : 0), 0);
  const minutes = (ms / 60_000).toFixed(1);
  return `the proof took ${minutes} minutes: its suites have ${ceiling}, with all that is planned ${PROOF_MINUTES_MAX}\n`;
}
