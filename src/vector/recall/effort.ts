/**
 * Efforts of walks. The effort of a class of queries is a level: two levels up
 * double the effort, whatever the topK is.
 */

/** Candidates that a walk holds on level STANDARD: at least this many, and this many for each hit. bench/graph.bench.ts */
const EFFORT_MIN = 160;
const EFFORT_PER_HIT = 1.5;
const STANDARD = 2;

/** The effort of a walk for `wanted` hits. `effortMax` bounds it, but not below `EFFORT_PER_HIT` for each hit. */
export function effortAt(level: number, wanted: number, effortMax: number): number {
  const perHit = Math.ceil(wanted * EFFORT_PER_HIT);
  const effort = Math.ceil(Math.max(EFFORT_MIN, perHit) * 2 ** ((level - STANDARD) / 2));
  return Math.max(wanted, Math.min(effort, Math.max(effortMax, perHit)));
}

/** The lowest level on which every effort is the largest one. */
export function topLevelOf(effortMax: number): number {
  return Math.max(0, STANDARD + Math.ceil(2 * Math.log2(effortMax / EFFORT_MIN)));
}
