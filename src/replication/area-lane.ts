/**
 * Follows one area's journal for a copy: decides when a part is copied, and knows how
 * far the copy is behind.
 *
 * (1) A part is copied when `partMs` have passed since its first byte was durable, or
 *     when it has `partBytes`. While the store takes a part, the next one grows: a slow
 *     store gets fewer and larger objects.
 * (2) Snapshots and closed segments are copied beside the parts, one at a time.
 */
import type { Clock } from "../kernel/clock.ts";
import { faultFields, type Log } from "../kernel/log.ts";
import type { AreaCopier, SyncedAt } from "./area-copier.ts";
import { CopyEnded } from "./repeated-calls.ts";

export interface AreaLaneOptions {
  readonly copier: AreaCopier;
  readonly clock: Clock;
  readonly log: Log;
  readonly partMs: number;
  readonly partBytes: number;
  locate(): Promise<SyncedAt>;
}

/** After a fault of a local file. */
const RETRY_MS = 5_000;

/** Locations for one part: a server that removes segments meanwhile makes others necessary. */
const TRY_COUNT_MAX = 5;

interface Place {
  readonly segment: number;
  readonly offset: number;
}

export class AreaLane {
  readonly copier: AreaCopier;
  readonly #options: AreaLaneOptions;
  #isFollowing = false;
  #newest: Place = { segment: 0, offset: 0 };
  /** The ends of the segments that are not copied, as far as they are known. */
  readonly #ends = new Map<number, number>();
  #behindSinceMs: number | undefined;
  #cancelTimer: (() => void) | undefined;
  #isCopying = false;
  /** Resolves after the copying of a part that is under way. */
  #turn: Promise<void> = Promise.resolve();
  #files: Promise<void> | undefined;
  #hasMoreFiles = false;
  #fault: string | undefined;

  constructor(options: AreaLaneOptions) {
    this.#options = options;
    this.copier = options.copier;
  }

  /** Why a local file cannot be copied; undefined if all can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** What is durable and not copied: its bytes, and for how long its first byte has waited. */
  get behind(): { readonly bytes: number; readonly ms: number } {
    const since = this.#behindSinceMs;
    return {
      bytes: this.#behindBytes,
      ms: since === undefined ? 0 : this.#options.clock.monotonicMs() - since,
    };
  }

  /** The journal's synced location has moved. */
  moved({ segment, offset }: Place): void {
    this.#newest = { segment, offset };
    this.#ends.set(segment, offset);
    if (this.copier.has(this.#newest)) return;
    this.#behindSinceMs ??= this.#options.clock.monotonicMs();
    this.#plan();
  }

  /** Begins to follow, after everything that existed is copied. */
  follow(): void {
    this.#isFollowing = true;
    this.#noteProgress();
    this.#plan();
    this.filesChanged();
  }

  /** Snapshots or closed segments may have to be copied. keeps (2) */
  filesChanged(): void {
    if (!this.#isFollowing) return;
    this.#hasMoreFiles = true;
    this.#files ??= this.#copyFiles();
  }

  /** Copies everything that is durable now. Rejects with `CopyEnded` or the error of a file. */
  flush(): Promise<void> {
    return this.#inTurn(() => this.#copy());
  }

  /** Ends the following, and waits for the calls under way. */
  async close(): Promise<void> {
    this.#isFollowing = false;
    this.#cancelTimer?.();
    await this.#turn;
    await this.#files;
    await this.copier.closeFiles();
  }

  get #behindBytes(): number {
    const { segment, offset } = this.copier.place;
    let bytes = 0;
    for (const [number, end] of this.#ends) {
      if (number > segment) bytes += end;
      else if (number === segment) bytes += Math.max(0, end - offset);
    }
    return bytes;
  }

  /** keeps (1) */
  #plan(): void {
    if (!this.#isFollowing || this.#isCopying || this.#behindSinceMs === undefined) return;
    const { clock, partMs, partBytes } = this.#options;
    if (this.#behindBytes >= partBytes) this.#start();
    else {
      const waitMs = this.#behindSinceMs + partMs - clock.monotonicMs();
      this.#cancelTimer ??= clock.after(Math.max(0, waitMs), () => this.#start());
    }
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#isCopying || !this.#isFollowing) return;
    this.#isCopying = true;
    void this.#inTurn(() => this.#copy())
      .then(
        () => false,
        (error: unknown) => this.#note(error),
      )
      .then((isFailed) => {
        this.#isCopying = false;
        if (isFailed && this.#isFollowing)
          this.#cancelTimer ??= this.#options.clock.after(RETRY_MS, () => this.#start());
        else this.#plan();
      });
  }

  async #copy(): Promise<void> {
    const { segment } = this.copier.place;
    for (let tries = 0; tries < TRY_COUNT_MAX; tries += 1) {
      const at = await this.#options.locate();
      await this.copier.copyTo(at);
      if (this.copier.has(at)) break;
    }
    this.#fault = undefined;
    this.#noteProgress();
    if (this.copier.place.segment !== segment) this.filesChanged();
  }

  #noteProgress(): void {
    const { segment } = this.copier.place;
    for (const number of [...this.#ends.keys()]) if (number < segment) this.#ends.delete(number);
    this.#behindSinceMs = this.copier.has(this.#newest) ? undefined : this.#options.clock.monotonicMs();
  }

  async #copyFiles(): Promise<void> {
    try {
      while (this.#hasMoreFiles && this.#isFollowing) {
        this.#hasMoreFiles = false;
        await this.copier.copyFiles();
      }
    } catch (error) {
      this.#note(error);
    } finally {
      this.#files = undefined;
    }
  }

  /** False if the copying has ended: then nothing is planned any more. */
  #note(error: unknown): boolean {
    if (error instanceof CopyEnded) {
      this.#isFollowing = false;
      return false;
    }
    const text = error instanceof Error ? error.message : String(error);
    if (this.#fault !== text) this.#options.log.error("cannot copy a file", faultFields(error));
    this.#fault = text;
    return true;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
