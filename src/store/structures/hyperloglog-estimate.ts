/**
 * The cardinality of a HyperLogLog, from the ranks in its registers: the
 * estimator of Otmar Ertl, "New cardinality estimation algorithms for
 * HyperLogLog sketches" (2017), algorithm 6, which needs no tables and no
 * corrections. Operations are in the same order as in Redis, so that the last
 * digit is equal.
 */

/** The highest rank of a hash of 64 bits after 14 bits for the register. */
const RANK_MAX = 51;
/** 1 / (2 ln 2). */
const ALPHA = 0.5 / Math.LN2;

/** Redis' result for an estimate beyond 64 bits, which only written ranks give. */
const BEYOND_COUNTING = -(2n ** 63n);

/**
 * The approximate number of distinct elements for these ranks: a bigint beyond 2^53, and the lowest 64-bit integer if
 * it exceeds 64 bits, as in Redis.
 */
export function estimate(ranks: Uint8Array): number | bigint {
  const found = rawEstimate(ranks);
  if (found >= 2 ** 63) return BEYOND_COUNTING;
  return Number.isSafeInteger(found) ? found : BigInt(found);
}

function rawEstimate(ranks: Uint8Array): number {
  const registerCount = ranks.length;
  const histogram = new Float64Array(64);
  for (const rank of ranks) histogram[rank] = (histogram[rank] as number) + 1;
  const countOf = (rank: number): number => histogram[rank] as number;
  let sum = registerCount * tau((registerCount - countOf(RANK_MAX)) / registerCount);
  for (let rank = RANK_MAX - 1; rank >= 1; rank -= 1) sum = (sum + countOf(rank)) * 0.5;
  sum += registerCount * sigma(countOf(0) / registerCount);
  return Math.round((ALPHA * registerCount * registerCount) / sum);
}

function sigma(start: number): number {
  if (start === 1) return Number.POSITIVE_INFINITY;
  let x = start;
  let weight = 1;
  let sum = x;
  for (;;) {
    x *= x;
    const before = sum;
    sum += x * weight;
    weight += weight;
    if (sum === before) return sum;
  }
}

function tau(start: number): number {
  if (start === 0 || start === 1) return 0;
  let x = start;
  let weight = 1;
  let sum = 1 - x;
  for (;;) {
    x = Math.sqrt(x);
    const before = sum;
    weight *= 0.5;
    sum -= (1 - x) ** 2 * weight;
    if (sum === before) return sum / 3;
  }
}
