/**
 * A flow-control key: how many calls may be under way at a time (parallelism)
 * and how many may start in a window (rate and period). The window begins with
 * the first call in it and has a fixed length (C.flow-control.rate).
 *
 * (1) Every attempt counts, retries too.
 * (2) The count of a window comes from the records of attempts that started,
 *     so a restart does not open a new window.
 * (3) Windows use passed time (moment.ts), and their records the wall clock. If the
 *     clock was set back before the start of a window while the program was down,
 *     the window begins again at the start of the program with its count: it
 *     allows no further call, and no message waits longer than one period.
 */
import type { FlowControl } from "../options/envelope.ts";
import { MessageList } from "./message-list.ts";
import type { Moment } from "./moment.ts";

export const PERIOD_MS_DEFAULT = 1_000;

/** A key that was not used for this long is removed. */
const FORGOTTEN_AFTER_MS = 86_400_000;

/** The fields in the journal and in snapshots. */
export interface FlowKeyRecord {
  readonly key: string;
  readonly parallelism?: number | undefined;
  readonly rate?: number | undefined;
  readonly periodMs: number;
  readonly isPaused: boolean;
  readonly isPinnedParallelism: boolean;
  readonly isPinnedRate: boolean;
  readonly windowStartMs: number;
  readonly windowCount: number;
}

export class FlowKey {
  readonly key: string;
  /** Identifies the key in the heap of window ends. */
  readonly number: number;
  parallelism: number | undefined;
  rate: number | undefined;
  periodMs = PERIOD_MS_DEFAULT;
  isPaused = false;
  isPinnedParallelism = false;
  isPinnedRate = false;
  windowStartMs = 0;
  windowCount = 0;
  /** Calls under way, by the sequence number of their message. */
  readonly inFlight = new Set<number>();
  readonly waiting = new MessageList("the flow-control key");
  /** Unfinished messages with this key. */
  messageCount = 0;
  lastUsedMs = 0;
  /** The time of the timer for the end of the window, if one is set. */
  timerMs: number | undefined;

  constructor(key: string, number: number) {
    this.key = key;
    this.number = number;
  }

  /** True if removing the key and creating it again would change nothing. */
  isForgettable({ wallMs, passedMs }: Moment): boolean {
    const isConfigured = this.isPaused || this.isPinnedParallelism || this.isPinnedRate;
    const isUsed = this.messageCount > 0 || this.inFlight.size > 0 || this.countAt(passedMs) > 0;
    return !isConfigured && !isUsed && wallMs - this.lastUsedMs > FORGOTTEN_AFTER_MS;
  }

  /** The values of a newer message replace those of the key, except pinned ones. */
  adopt({ parallelism, rate, periodMs }: FlowControl): void {
    if (!this.isPinnedParallelism) this.parallelism = parallelism;
    if (this.isPinnedRate) return;
    this.rate = rate;
    this.periodMs = periodMs ?? PERIOD_MS_DEFAULT;
  }

  /** True if a call may start now. */
  hasRoom(passedMs: number): boolean {
    if (this.isPaused || this.#isParallelismUsed) return false;
    return this.rate === undefined || this.countAt(passedMs) < this.rate;
  }

  /** When a call may start that only the rate refuses; undefined if another limit refuses it, or none does. */
  nextRoomMs(passedMs: number): number | undefined {
    return this.hasRoom(passedMs) ? undefined : this.nextWindowMs(passedMs);
  }

  /** When this window ends; undefined if it has had no calls, or if a pause or the parallelism refuses. */
  nextWindowMs(passedMs: number): number | undefined {
    if (this.isPaused || this.#isParallelismUsed || this.rate === undefined) return undefined;
    return this.countAt(passedMs) === 0 ? undefined : this.#startAt(passedMs) + this.periodMs;
  }

  /** Calls that started in the current window. */
  countAt(passedMs: number): number {
    return passedMs >= this.#startAt(passedMs) + this.periodMs ? 0 : this.windowCount;
  }

  /** Counts a call that starts now. A replay calls it for the record of an attempt. */
  count(passedMs: number): void {
    const startMs = this.#startAt(passedMs);
    if (this.windowCount === 0 || passedMs >= startMs + this.periodMs) {
      this.windowStartMs = passedMs;
      this.windowCount = 1;
      return;
    }
    this.windowStartMs = startMs;
    this.windowCount += 1;
  }

  resetRate(): void {
    this.windowStartMs = 0;
    this.windowCount = 0;
  }

  get record(): FlowKeyRecord {
    const { key, parallelism, rate, periodMs, isPaused, isPinnedParallelism, isPinnedRate } = this;
    const { windowStartMs, windowCount } = this;
    const facts = { key, parallelism, rate, periodMs, isPaused, isPinnedParallelism, isPinnedRate };
    return { ...facts, windowStartMs, windowCount };
  }

  restore(record: FlowKeyRecord): void {
    this.parallelism = record.parallelism;
    this.rate = record.rate;
    this.periodMs = record.periodMs;
    this.isPaused = record.isPaused;
    this.isPinnedParallelism = record.isPinnedParallelism;
    this.isPinnedRate = record.isPinnedRate;
    this.windowStartMs = record.windowStartMs;
    this.windowCount = record.windowCount;
  }

  get #isParallelismUsed(): boolean {
    return this.parallelism !== undefined && this.inFlight.size >= this.parallelism;
  }

  /** keeps (3): a start in the future is moved to now once, or the end of the window would move with the clock. */
  #startAt(passedMs: number): number {
    this.windowStartMs = Math.min(this.windowStartMs, passedMs);
    return this.windowStartMs;
  }
}
