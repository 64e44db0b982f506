/**
 * What one run of the simulation does and meets, drawn from its seed. Each run
 * leaves out a random part of all possible events ("swarm"): a run without
 * cancels goes deeper into retries than one that does everything at once.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { defaultLimits, type MessagingLimits } from "../../../src/messaging/limits.ts";

export const features = [
  // Actions of users.
  "several users",
  "batches",
  "delays",
  "moments",
  "retry expressions",
  "timeouts",
  "large bodies",
  "URL groups",
  "schedules",
  "queues",
  "wide queues",
  "paused queues",
  "deleted queues",
  "flow keys",
  "rates",
  "paused keys",
  "pinned keys",
  "reset keys",
  "callbacks",
  "failure callbacks",
  "dead-letter retries",
  "dead-letter deletes",
  "cancels",
  "bulk cancels",
  "deduplication",
  "key rotation",
  "dropped users",
  "snapshots",
  // Faults.
  "failing destinations",
  "slow destinations",
  "Retry-After",
  "crashes",
  "stops",
  "clock steps",
  "full disk",
  "slow disk",
  "few slots",
] as const;

/**
 * Not drawn with the others, because one more draw would change the runs of known seeds: moves of users in one run of
 * four, early retries in one of eight.
 */
const MOVES = "moving users";
const EARLY_RETRIES = "early retries";

export type Feature = (typeof features)[number] | typeof MOVES | typeof EARLY_RETRIES;

export interface Swarm {
  readonly features: ReadonlySet<Feature>;
  readonly limits: MessagingLimits;
  readonly userNames: readonly string[];
  readonly heartbeatMs: number;
  readonly segmentBytesMax: number;
  readonly stepCount: number;
}

const MOVES_SEED = 28;
const STEPS_MIN = 150;
const STEPS_MAX = 500;

export function drawSwarm(random: Random, seed: number): Swarm {
  const chosen = new Set<Feature>(features.filter(() => random.below(5) < 3));
  if (seededRandom(seed + MOVES_SEED).below(4) === 0) chosen.add(MOVES);
  const has = (feature: Feature): boolean => chosen.has(feature);
  const few = has("few slots");
  const limits: MessagingLimits = {
    ...defaultLimits,
    timeoutMsMax: 60_000,
    userParallelism: few ? oneOf(random, [1, 2, 3]) : defaultLimits.userParallelism,
    originParallelism: few ? oneOf(random, [1, 2, 50]) : defaultLimits.originParallelism,
    parallelism: few ? oneOf(random, [2, 3, 2_000]) : defaultLimits.parallelism,
    deadLetterRetentionMs: oneOf(random, [3_600_000, defaultLimits.deadLetterRetentionMs]),
  };
  const userNames = has("several users") ? ["ada", "ben", "cleo"].slice(0, 2 + random.below(2)) : ["ada"];
  const heartbeatMs = oneOf(random, [1_000, 10_000, 60_000]);
  const segmentBytesMax = oneOf(random, [4_000, 20_000, 200_000]);
  const stepCount = STEPS_MIN + random.below(STEPS_MAX - STEPS_MIN);
  if (stepCount % 8 === 2) chosen.add(EARLY_RETRIES);
  return {
    features: chosen,
    limits,
    userNames,
    heartbeatMs,
    segmentBytesMax,
    stepCount,
  };
}

export function oneOf<Value>(random: Random, values: readonly Value[]): Value {
  return values[random.below(values.length)] as Value;
}
