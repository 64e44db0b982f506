/**
 * Keeps the history up to date: follows the journal's frames, translates them,
 * writes them in batches, and removes old entries.
 *
 *     durable place -> frames -> events -> batch -> history -> position
 *
 * (1) A batch is a run of frames after the history's position. A batch that
 *     cannot be written stays, and nothing more is read until it is written: a
 *     history that waits for space loses nothing and takes no more memory.
 * (2) A history that is damaged, or ahead of its journal, is rebuilt, beginning
 *     at the first frame that still exists.
 * (3) A frame that cannot be read prevents nothing but its own entries, as a
 *     damaged body affects only its message: the log says where frames are
 *     missing, and the history continues after them.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { Disk } from "../../persistence/disk/disk.ts";
import { MissingData } from "../../persistence/errors.ts";
import { failureOf } from "../../persistence/history/database.ts";
import type { History } from "../../persistence/history/history.ts";
import { openHistory, replaceHistory } from "../../persistence/history/open-history.ts";
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";
import { FrameFollower, type SkippedFrames } from "../../persistence/journal/frame-follower.ts";
import { type EventsOf, HistoryBatcher } from "./batcher.ts";

export interface HistoryWriterOptions {
  readonly path: string;
  readonly disk: Disk;
  /** Of the journal. */
  readonly directory: string;
  readonly area: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly eventsOf: EventsOf;
  readonly lastStates: readonly number[];
  readonly retentionMs: number;
  /** Called after each batch; everything up to `syncedPosition` survives a power cut. */
  onPosition(position: number, syncedPosition: number): void;
  /** Called when another file has the history's name. */
  onRenewed(): void;
  /** A bug, or an unreadable journal: the thread ends. */
  onFatal(fault: unknown): void;
}

/** How long a batch waits for more frames. */
const LINGER_MS = 50;
/** How far, in time, a power cut may set the history back. Until then the segments are kept. */
const SYNC_EVERY_MS = 1_000;
const RETRY_EVERY_MS = 1_000;
const RETENTION_EVERY_MS = 60_000;
/** Pause between two steps of a removal, so that batches are written in between. */
const REMOVAL_PAUSE_MS = 20;

/** Ends the following of the journal between two frames. */
class Interrupted extends Error {
  override name = "Interrupted";
}

export class HistoryWriter {
  readonly #options: HistoryWriterOptions;
  readonly #batcher: HistoryBatcher;
  readonly #cancels = new Map<"linger" | "sync" | "removal" | "pause", () => void>();
  #history: History;
  #follower: FrameFollower;
  #target: SyncedLocation | undefined;
  #running: Promise<void> | undefined;
  #isHurried = false;
  #isClosing = false;
  /** Why the history must be rebuilt (2). */
  #damage: string | undefined;
  /** The text of the last write's failure, logged once. */
  #trouble: string | undefined;
  #endPause: () => void = () => {};

  /** Throws SQLite's errors that a new file would not fix. */
  constructor(options: HistoryWriterOptions) {
    this.#options = options;
    this.#batcher = new HistoryBatcher(options.eventsOf);
    this.#history = openHistory(options);
    this.#follower = this.#newFollower(this.#history.position);
    this.#after("removal", RETENTION_EVERY_MS, () => this.#removeOld());
    // The writes of a killed process may only be in the system's cache, and not on the disk.
    this.#after("sync", SYNC_EVERY_MS, () => this.#sync());
  }

  get position(): number {
    return this.#history.position;
  }

  /** Everything up to this place of the journal is durable. */
  durableTo(place: SyncedLocation): void {
    // keeps (2): the journal was restored to an earlier state, and its frames are not those of the history.
    if (this.#target === undefined && this.#history.position > place.position) {
      this.#damage = "it has more than its journal";
    }
    this.#target = place;
    this.#run();
  }

  /** A listing waits: frames are written as soon as they are read. */
  hurry(): void {
    this.#isHurried = true;
    if (this.#running === undefined && !this.#batcher.isEmpty) this.#attempt(() => this.#writeBatch());
    this.#run();
  }

  /** Time has jumped: removes entries that are now too old. */
  jumped(): void {
    if (!this.#isClosing) this.#removeOld();
  }

  /** The reader found damage in the file. */
  damaged(reason: string): void {
    this.#damage ??= reason;
    this.#run();
  }

  /** Writes the frames that were read, and closes the file. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const cancel of this.#cancels.values()) cancel();
    this.#endPause();
    await this.#follower.close();
    await this.#running;
    if (this.#damage === undefined && this.#attempt(() => this.#writeBatch()))
      this.#attempt(() => this.#history.sync());
    this.#history.close();
  }

  /** Follows the journal to its durable end, one call at a time. */
  #run(): void {
    if (this.#running !== undefined || this.#isClosing) return;
    this.#running = this.#catchUp().then(
      () => {
        this.#running = undefined;
      },
      (fault: unknown) => {
        this.#running = undefined;
        if (!this.#isClosing) this.#options.onFatal(fault);
      },
    );
  }

  async #catchUp(): Promise<void> {
    while (!this.#isClosing) {
      if (this.#damage !== undefined) await this.#renew(this.#damage);
      const target = this.#target;
      if (target === undefined || target.position <= this.#follower.position) break;
      try {
        await this.#follower.follow(target);
      } catch (fault) {
        if (!(fault instanceof Interrupted)) throw fault;
      }
      if (this.#isHurried) this.#attempt(() => this.#writeBatch());
    }
    this.#isHurried = false;
    if (!this.#batcher.isEmpty) this.#writeLater();
  }

  #newFollower(position: number): FrameFollower {
    const { disk, directory, area } = this.#options;
    return new FrameFollower({
      disk,
      directory,
      area,
      position,
      frame: (payload, position) => {
        this.#batcher.add(payload, position);
        // If this fails, `onPart` waits.
        const isWell = this.#trouble === undefined && this.#damage === undefined;
        if (this.#batcher.isFull && isWell) this.#attempt(() => this.#writeBatch());
      },
      onPart: () => this.#untilWritten(),
      skipped: (frames) => this.#skip(frames),
    });
  }

  /** keeps (1) */
  async #untilWritten(): Promise<void> {
    while (this.#batcher.isFull || this.#damage !== undefined) {
      if (this.#isClosing || this.#damage !== undefined) throw new Interrupted();
      if (!this.#attempt(() => this.#writeBatch())) await this.#pause();
    }
  }

  #writeBatch(): void {
    this.#cancel("linger");
    if (this.#batcher.isEmpty) return;
    this.#history.write(this.#batcher.batch);
    this.#batcher.clear();
    this.#report();
    if (!this.#cancels.has("sync")) this.#after("sync", SYNC_EVERY_MS, () => this.#sync());
  }

  #writeLater(): void {
    if (this.#cancels.has("linger")) return;
    this.#after("linger", LINGER_MS, () => {
      if (!this.#attempt(() => this.#writeBatch())) this.#after("linger", RETRY_EVERY_MS, () => this.#writeLater());
    });
  }

  #sync(): void {
    if (this.#attempt(() => this.#history.sync())) this.#report();
    else this.#after("sync", RETRY_EVERY_MS, () => this.#sync());
  }

  #report(): void {
    this.#options.onPosition(this.#history.position, this.#history.syncedPosition);
  }

  #removeOld(): void {
    const { clock, retentionMs } = this.#options;
    let isMore = false;
    this.#attempt(() => {
      isMore = this.#history.removeBefore(clock.nowMs() - retentionMs) || this.#history.shrinkSome();
    });
    this.#after("removal", isMore ? REMOVAL_PAUSE_MS : RETENTION_EVERY_MS, () => this.#removeOld());
  }

  /** keeps (2) */
  async #renew(reason: string): Promise<void> {
    await this.#follower.close();
    try {
      this.#history.close();
    } catch {
      // A damaged file that cannot be closed properly is moved away anyway.
    }
    this.#damage = undefined;
    this.#batcher.clear();
    this.#history = replaceHistory(this.#options, reason);
    this.#follower = this.#newFollower(0);
    this.#options.onRenewed();
    this.#report();
  }

  /** keeps (3) */
  #skip({ from, to, fault }: SkippedFrames): void {
    const { log } = this.#options;
    if (fault instanceof MissingData && from === 0) {
      log.warn("the history begins after the start of its journal", { from, to });
    } else if (fault instanceof MissingData) {
      log.warn("the history has a gap, because a segment of its journal was removed", { from, to, file: fault.file });
    } else {
      log.error("the history has a gap, because its journal is damaged", { from, to, fault: fault.message });
    }
    this.#batcher.skipTo(to);
  }

  /** False if the database failed: the operation can be retried. */
  #attempt(work: () => void): boolean {
    try {
      work();
      if (this.#trouble !== undefined) this.#options.log.info("the history can be written again");
      this.#trouble = undefined;
      return true;
    } catch (fault) {
      const failure = failureOf(fault);
      const text = fault instanceof Error ? fault.message : String(fault);
      if (failure === undefined) {
        this.#options.onFatal(fault);
      } else if (failure === "damaged") {
        this.damaged(text);
      } else {
        if (text !== this.#trouble) this.#options.log.warn("the history cannot be written", { reason: text });
        this.#trouble = text;
      }
      return false;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = resolve;
      this.#after("pause", RETRY_EVERY_MS, resolve);
    });
  }

  #after(name: "linger" | "sync" | "removal" | "pause", delayMs: number, task: () => void): void {
    if (this.#isClosing) return;
    this.#cancel(name);
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#cancels.delete(name);
      task();
    });
    this.#cancels.set(name, cancel);
  }

  #cancel(name: "linger" | "sync" | "removal" | "pause"): void {
    this.#cancels.get(name)?.();
    this.#cancels.delete(name);
  }
}
