/**
 * How long each test file took, the slowest first. For `npm run proof` it also
 * says how much of its ceiling the run used, so that whoever adds to the proof
 * sees what is left (`test/budget.ts`).
 */
import { PROOF_MINUTES_MAX, proofCeilings } from "../../test/budget.ts";

const SHOWN_MAX = 25;

/** The slowest of `files` (milliseconds by path), as lines. */
export function fileTimes(files: ReadonlyMap<string, number>): string {
  const slowest = [...files].sort(([, a], [, b]) => b - a).slice(0, SHOWN_MAX);
  return `seconds by file:\n${slowest.map(([path, ms]) => `  ${(ms / 1_000).toFixed(1).padStart(7)}  ${path}\n`).join("")}`;
}

/** What a proof of `ms` used of its ceiling, as a line. */
export function proofTime(ms: number): string {
  const ceiling = proofCeilings.reduce((sum, { isThere, minutesMax }) => sum + (isThere ? minutesMax : 0), 0);
  const minutes = (ms / 60_000).toFixed(1);
  return `the proof took ${minutes} minutes: its suites have ${ceiling}, with all that is planned ${PROOF_MINUTES_MAX}\n`;
}
