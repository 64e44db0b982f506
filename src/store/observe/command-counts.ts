/**
 * What a database counts of each command and of its errors, for INFO and the
 * metrics.
 *
 * (1) Not every run is timed: two looks at the clock cost almost as much as a
 *     GET. The first runs of a command are timed, then one in so many. What a
 *     timed run took stands for itself and for the runs before it that were
 *     not timed, so times are estimates as soon as a command is used often.
 */

/** Runs of a command that are all timed, so that what is rarely used is known exactly. */
const TIMED_AT_FIRST = 16;
/** Of later runs one in so many is timed, a power of two. */
const TIMED_ONE_IN = 256;

/** Times are sorted into four buckets for each doubling, from 2^-6 µs (16 ns) to 2^26 µs (a minute). */
const BUCKETS_PER_DOUBLING = 4;
const DOUBLINGS_BELOW_ONE = 6;
const BUCKET_COUNT = (DOUBLINGS_BELOW_ONE + 26) * BUCKETS_PER_DOUBLING;

export class CommandCounts {
  /** Runs that were answered, errors included. */
  calls = 0;
  /** Runs answered with an error. */
  failed = 0;
  /** Refused before they ran: arity, permission, disk. */
  rejected = 0;
  /** How many of the runs, the oldest first, the times stand for. */
  #timedCalls = 0;
  #timedUs = 0;
  /** How many runs took as long as each bucket says; made when the first is timed. */
  #buckets: Float64Array | undefined;

  /** Counts a run that begins. True if it is to be timed. */
  begin(): boolean {
    this.calls += 1;
    return this.calls <= TIMED_AT_FIRST || (this.calls & (TIMED_ONE_IN - 1)) === 0;
  }

  /** How long the run took that was counted last. */
  addTime(tookMs: number): void {
    // keeps (1)
    const runCount = this.calls - this.#timedCalls;
    const tookUs = tookMs * 1_000;
    this.#timedCalls = this.calls;
    this.#timedUs += tookUs * runCount;
    this.#buckets ??= new Float64Array(BUCKET_COUNT);
    (this.#buckets[bucketOf(tookUs)] as number) += runCount;
  }

  /** Microseconds that a run takes on average; 0 before the first. */
  get usPerCall(): number {
    return this.#timedCalls === 0 ? 0 : this.#timedUs / this.#timedCalls;
  }

  /**
   * How many of the runs ended within 1, 2, 4, … microseconds, for each of these that more runs reach than the one before,
   * and how many runs that is about.
   */
  spread(): { readonly callCount: number; readonly within: readonly (readonly [us: number, count: number])[] } {
    const within: [number, number][] = [];
    let count = 0;
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
      count += this.#buckets?.[bucket] ?? 0;
      const isWhole = bucket % BUCKETS_PER_DOUBLING === 0 && upperBoundUs(bucket) >= 1;
      if (!isWhole && bucket !== BUCKET_COUNT - 1) continue;
      if (count > (within.at(-1)?.[1] ?? 0)) within.push([Math.ceil(upperBoundUs(bucket)), count]);
    }
    return { callCount: this.#timedCalls, within };
  }

  /** Microseconds within which this share (0 to 1) of the runs ended, at most a fifth too much; undefined before the first. */
  usOfShare(share: number): number | undefined {
    if (this.#buckets === undefined) return undefined;
    let left = share * this.#timedCalls;
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return upperBoundUs(bucket);
    }
    return upperBoundUs(BUCKET_COUNT - 1);
  }
}

function bucketOf(us: number): number {
  const place = Math.ceil((Math.log2(us) + DOUBLINGS_BELOW_ONE) * BUCKETS_PER_DOUBLING);
  return Math.min(Math.max(place, 0), BUCKET_COUNT - 1);
}

function upperBoundUs(bucket: number): number {
  return 2 ** (bucket / BUCKETS_PER_DOUBLING - DOUBLINGS_BELOW_ONE);
}

/** Scripts may answer errors of any name, so only so many are told apart, as Redis does. */
const ERROR_NAMES_MAX = 128;

/** How many errors were answered, by the word that they begin with. */
export class ErrorCounts {
  total = 0;
  readonly byName = new Map<string, number>();

  add(text: string): void {
    this.total += 1;
    const nameEnd = text.indexOf(" ");
    const name = nameEnd < 0 ? text : text.slice(0, nameEnd);
    const count = this.byName.get(name);
    if (count !== undefined || this.byName.size < ERROR_NAMES_MAX) this.byName.set(name, (count ?? 0) + 1);
  }

  reset(): void {
    this.total = 0;
    this.byName.clear();
  }
}
