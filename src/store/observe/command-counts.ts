/**
 * Counters of the commands and errors of a database, for INFO and the
 * metrics.
 *
 * (1) Not every run is timed: two readings of the clock cost almost as much as
 *     a GET. The first runs of a command are timed, then one in many. The time
 *     of a timed run counts for itself and for the untimed runs before it, so
 *     times are estimates once a command is used often.
 */

/** Runs of a command that are all timed, so that times of rare commands are exact. */
const TIMED_AT_FIRST = 16;
/** Of later runs one in this many is timed, a power of two. */
const TIMED_ONE_IN = 256;

/** Times are sorted into four buckets for each doubling, from 2^-6 µs (16 ns) to 2^26 µs (a minute). */
const BUCKETS_PER_DOUBLING = 4;
const DOUBLINGS_BELOW_ONE = 6;
const BUCKET_COUNT = (DOUBLINGS_BELOW_ONE + 26) * BUCKETS_PER_DOUBLING;

export class CommandCounts {
  /** Completed runs, including errors. */
  calls = 0;
  /** Runs that returned an error. */
  failed = 0;
  /** Refused before they ran: arity, permission, disk. */
  rejected = 0;
  /** The number of runs, from the first, that the times cover. */
  #timedCalls = 0;
  #timedUs = 0;
  /** Number of runs per bucket of time; created when the first run is timed. */
  #buckets: Float64Array | undefined;

  /** Counts a run that begins. True if it must be timed. */
  begin(): boolean {
    this.calls += 1;
    return this.calls <= TIMED_AT_FIRST || (this.calls & (TIMED_ONE_IN - 1)) === 0;
  }

  /** Adds the time of the run that was counted last. */
  addTime(tookMs: number): void {
    // keeps (1)
    const runCount = this.calls - this.#timedCalls;
    const tookUs = tookMs * 1_000;
    this.#timedCalls = this.calls;
    this.#timedUs += tookUs * runCount;
    this.#buckets ??= new Float64Array(BUCKET_COUNT);
    (this.#buckets[bucketOf(tookUs)] as number) += runCount;
  }

  /** Adds time to a run that was counted before: that of serving a blocked command. */
  extendTime(tookMs: number): void {
    if (this.#timedCalls > 0) this.#timedUs += tookMs * 1_000;
  }

  /** Average microseconds of a run; 0 before the first. */
  get usPerCall(): number {
    return this.#timedCalls === 0 ? 0 : this.#timedUs / this.#timedCalls;
  }

  /**
   * How many of the runs ended within 1, 2, 4, … microseconds, for each bound that more runs reach than the one before,
   * and the number of these runs.
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

  /** Microseconds within which this share (0 to 1) of the runs ended, at most a fifth too high; undefined if none. */
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

/** Scripts may return errors with any name, so the number of names is limited, as in Redis. */
const ERROR_NAMES_MAX = 128;

/** The number of error replies, by their first word. */
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
