/**
 * How long the owner of a shard of messaging keeps a segment that it does not need
 * itself: until the log of messages of the standby has it, or RETENTION_MS. After
 * a takeover nothing else would have the finished messages of that segment.
 *
 * (1) PostgreSQL is asked only when a segment could be removed, and not more often
 *     than each ASK_PERIOD_MS. Until the answer comes, the segment stays.
 */
import type { Clock } from "../../../kernel/clock.ts";

export interface StandbyRetentionOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** See `readStandbyHistory`. */
  ask(): Promise<number | undefined>;
  onFault(fault: unknown): void;
}

/** Then the standby has a gap in its log of messages. */
export const RETENTION_MS = 3_600_000;
const ASK_PERIOD_MS = 5_000;
/** Removals are tried again more often than this. */
const ANSWER_MS_MAX = 30_000;

export class StandbyRetention {
  readonly #options: StandbyRetentionOptions;
  /** By the monotonic clock: when a segment could first be removed. */
  readonly #sinceMs = new Map<number, number>();
  #askedMs = Number.NEGATIVE_INFINITY;
  #answer: { readonly atMs: number; readonly history: number | undefined } | undefined;

  constructor(options: StandbyRetentionOptions) {
    this.#options = options;
  }

  /** Whether no standby waits for a segment that the owner does not need. */
  mayRemove(segment: number): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(segment) ?? nowMs;
    this.#sinceMs.set(segment, sinceMs);
    const isRemovable = nowMs - sinceMs >= RETENTION_MS || this.#isFollowed(segment, nowMs);
    if (isRemovable) this.#sinceMs.delete(segment);
    else if (nowMs - this.#askedMs >= ASK_PERIOD_MS) void this.#ask(nowMs);
    return isRemovable;
  }

  #isFollowed(segment: number, nowMs: number): boolean {
    const answer = this.#answer;
    if (answer === undefined || nowMs - answer.atMs > ANSWER_MS_MAX) return false;
    return answer.history === undefined || segment < answer.history;
  }

  async #ask(nowMs: number): Promise<void> {
    this.#askedMs = nowMs;
    try {
      const history = await this.#options.ask();
      this.#answer = { atMs: this.#options.clock.monotonicMs(), history };
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }
}
