/**
 * The snapshots of an area as its engine sees them: the last one, the running
 * one, and its requests for one. Main has them written, one area at a time
 * (`snapshots.ts`), and calls `began` and `ended` for each, requested or not.
 *
 * (1) At most one request is open. It is answered by the next snapshot that
 *     begins after it.
 * (2) A client can request one after the other, and each costs the processor
 *     time and the memory of a start. So a requested snapshot begins at the
 *     earliest when `REST_FACTOR` times the duration of the last one has passed
 *     since its end: requests keep at most a fifth of a core busy.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { SnapshotFacts } from "../../store/mod.ts";

const REST_FACTOR = 4;

export interface SnapshotStateOptions {
  readonly clock: Clock;
  readonly mayRequest: boolean;
  /** Has main write a snapshot. */
  readonly request: () => void;
  readonly readBytes: () => { readonly snapshotBytes: number; readonly journalBytes: number };
}

/** Observes the snapshots for the engine. */
export interface SnapshotFollower {
  /** The snapshot begins when this resolves. */
  began(): Promise<void>;
  ended(isWritten: boolean): void;
}

export class SnapshotState implements SnapshotFacts {
  readonly #options: SnapshotStateOptions;
  #follower: SnapshotFollower | undefined;
  #answer: ((isWritten: boolean) => void) | undefined;
  #requestedAtMs: number | undefined;
  #beganAtMs: number | undefined;
  #endedAtMs = Number.NEGATIVE_INFINITY;
  #cancelRequest = (): void => {};
  lastSavedAtMs: number;
  writtenCount = 0;
  lastTookMs: number | undefined;
  hasFailed = false;

  constructor(options: SnapshotStateOptions) {
    this.#options = options;
    // As in Redis, until the first one is written.
    this.lastSavedAtMs = options.clock.nowMs();
  }

  /** There is one follower: the engine. */
  follow(follower: SnapshotFollower): void {
    this.#follower = follower;
  }

  get mayRequest(): boolean {
    return this.#options.mayRequest;
  }

  get runningMs(): number | undefined {
    const sinceMs = this.#beganAtMs ?? this.#requestedAtMs;
    return sinceMs === undefined ? undefined : this.#nowMs - sinceMs;
  }

  get bytes(): { readonly snapshotBytes: number; readonly journalBytes: number } {
    return this.#options.readBytes();
  }

  request(): Promise<boolean> {
    const { clock, request } = this.#options;
    this.#requestedAtMs = this.#nowMs;
    const earliestMs = this.#endedAtMs + REST_FACTOR * (this.lastTookMs ?? 0);
    const waitMs = earliestMs - this.#nowMs;
    // keeps (2)
    if (waitMs > 0) this.#cancelRequest = clock.real.after(waitMs, request);
    else request();
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  /** A snapshot begins, of everything up to the moment when this resolves. */
  async began(): Promise<void> {
    this.#beganAtMs = this.#nowMs;
    await this.#follower?.began();
  }

  ended(isWritten: boolean): void {
    const beganAtMs = this.#beganAtMs;
    if (beganAtMs === undefined) return;
    this.#endedAtMs = this.#nowMs;
    this.lastTookMs = this.#endedAtMs - beganAtMs;
    this.hasFailed = !isWritten;
    if (isWritten) {
      this.writtenCount += 1;
      this.lastSavedAtMs = this.#options.clock.nowMs();
    }
    this.#follower?.ended(isWritten);
    this.#beganAtMs = undefined;
    // keeps (1)
    if (this.#requestedAtMs === undefined || this.#requestedAtMs > beganAtMs) return;
    this.#requestedAtMs = undefined;
    this.#answer?.(isWritten);
    this.#answer = undefined;
  }

  /** The area closes: a request that waits is never made. */
  close(): void {
    this.#cancelRequest();
  }

  get #nowMs(): number {
    return this.#options.clock.real.monotonicMs();
  }
}
