/**
 * The memory limit of a database and the eviction policy: the table of policies,
 * and the five settings that CONFIG SET changes, with the names and bounds of
 * Redis.
 */

export interface EvictionPolicy {
  /** As in the setting and in CONFIG. */
  readonly name: string;
  /** Keys that may be evicted. */
  readonly candidates: "none" | "all" | "expiring";
  /** Which of them is evicted first. */
  readonly first: "least recently used" | "least often used" | "soonest to expire" | "any";
}

/** In the order of Redis. */
export const evictionPolicies = [
  { name: "volatile-lru", candidates: "expiring", first: "least recently used" },
  { name: "volatile-lfu", candidates: "expiring", first: "least often used" },
  { name: "volatile-random", candidates: "expiring", first: "any" },
  { name: "volatile-ttl", candidates: "expiring", first: "soonest to expire" },
  { name: "allkeys-lru", candidates: "all", first: "least recently used" },
  { name: "allkeys-lfu", candidates: "all", first: "least often used" },
  { name: "allkeys-random", candidates: "all", first: "any" },
  { name: "noeviction", candidates: "none", first: "any" },
] as const satisfies readonly EvictionPolicy[];

export type EvictionPolicyName = (typeof evictionPolicies)[number]["name"];

export interface MemorySettings {
  /** The limit for keys and values, in bytes; 0: no limit. */
  readonly bytesMax: number;
  readonly policy: EvictionPolicyName;
  /** Keys that are sampled to find one to evict. */
  readonly samples: number;
  /** How many uses it takes until a key counts as often used; 0: the counter grows with each use. */
  readonly frequencyLogFactor: number;
  /** Minutes without a use after which the counter falls by one; 0: never. */
  readonly frequencyDecayMinutes: number;
}

export const defaultMemorySettings: MemorySettings = {
  bytesMax: 0,
  policy: "noeviction",
  samples: 5,
  frequencyLogFactor: 10,
  frequencyDecayMinutes: 1,
};

/** The policy of this name in upper or lower case, or undefined. */
export function findEvictionPolicy(name: string): (EvictionPolicy & { name: EvictionPolicyName }) | undefined {
  const wanted = name.toLowerCase();
  return evictionPolicies.find((policy) => policy.name === wanted);
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: 1_000,
  kb: 2 ** 10,
  m: 1_000_000,
  mb: 2 ** 20,
  g: 1_000_000_000,
  gb: 2 ** 30,
};

/**
 * A size as in redis.conf: digits, and in any case `b`, `k` (1000), `kb` (1024), `m`, `mb`, `g` or `gb`. An empty text
 * is 0, as in Redis. Sizes above 2^53 - 1 are clamped to it. Undefined for any other text.
 */
export function parseMemorySize(text: string): number | undefined {
  const [, digits, unit] = /^(\d*)(b|kb?|mb?|gb?|)$/i.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  return Math.min(Number(digits) * (UNIT_BYTES[unit.toLowerCase()] ?? 1), Number.MAX_SAFE_INTEGER);
}
