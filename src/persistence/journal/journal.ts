/**
 * The journal of one area appends frames and returns positions. file-format.ts
 * describes its bytes, and recovery.ts what they mean after a crash.
 *
 *     append -> open batch -> sealed batches -> written -> synced
 *
 * A position is a count of frames. Replies wait for `safe`, the position that
 * is synced (`always`) or written (`everysec`, `no`).
 *
 * (1) One write and one fdatasync run at a time; frames that arrive meanwhile
 *     form the next batch. With `always` a batch also waits for the previous
 *     fdatasync, so that the next one covers as much as possible.
 * (2) The synced position in a batch mark was durable when the mark was made.
 * (3) A segment begins when the previous one is durable up to its end mark.
 * (4) If no space is left, torn bytes are cut off, everything stays queued and
 *     is tried again: at once if the reserve can release space, then each
 *     second. `refusal` is set until the queue is written and the reserve is
 *     filled, also at a start that finds no space for the reserve.
 * (5) An owner's new writes are refused when its queued bytes and those of all
 *     owners add up to more than twice `queueBytesMax`, until the sum falls to
 *     that bound. When all owners together exceed twice the bound, all new
 *     writes are refused.
 * (6) While the disk is tight, a frame is appended only after `lackFor` has found
 *     that the reserve holds it and all queued ones, so none of them waits for
 *     space. Other frames that no request causes are appended without it.
 * (7) After any other failure nothing becomes safe any more: `onFatal` ends
 *     the program, and the next start relies on the disk only.
 *
 * A batch is written at the end of the event loop's turn (`setImmediate`), so
 * requests whose bytes arrived in one turn share it; with a microtask each would
 * have its own. A small batch is written on this thread, because the thread pool
 * costs more than the copy into the page cache. While an fdatasync runs, it goes
 * through the pool, because the system may make a writer wait for the sync.
 * bench/journal.bench.ts
 */
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { FrameOwner, Journal } from "../../kernel/journal.ts";
import type { Log } from "../../kernel/log.ts";
import type { Random } from "../../kernel/random.ts";
import { type Disk, noSpaceText } from "../disk/disk.ts";
import type { SpaceReserve } from "../disk/space-reserve.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  type FileHeader,
  MARK_BYTES,
  type SyncedLocation,
  writeMark,
} from "./file-format.ts";
import { type Batch, FrameQueue, type Rotation } from "./frame-queue.ts";
import { SegmentWriter } from "./segment-writer.ts";

/** Replies leave after the sync; after the write, with a sync each second; or after the write, without syncs. */
export type FsyncMode = "always" | "everysec" | "no";

export interface JournalOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly area: string;
  readonly mode: FsyncMode;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called once, after a failure that leaves memory ahead of the journal. The program must end. */
  onFatal(error: unknown): void;
  /** Called for each batch after it is written, before any of it is safe. */
  onBatchWritten?(batch: WrittenBatch): void;
  /** Called whenever `syncedLocation` has moved. */
  onSyncedLocation?(location: SyncedLocation): void;
  /** Called when a segment was closed and the next one is open. `bulkBytes`: see `FileJournal.segmentBulkBytes`. */
  onClosed?(closed: { number: number; bytes: number; bulkBytes: number }): void;
  /** A segment that reaches this size is closed. */
  readonly segmentBytesMax?: number;
  /** The bound on the unwritten bytes of one owner; at twice this bound all writes are refused (5). */
  readonly queueBytesMax?: number;
  /** Space for the queue when the disk is full. */
  readonly reserve?: SpaceReserve;
  /** Whether the disk is tight until `setTight` says otherwise. */
  readonly isTight?: boolean;
}

/** Consecutive frames that are written to a file. A power cut may still lose them. */
export interface WrittenBatch {
  /** The position before its first frame. */
  readonly start: number;
  /** The position after its last frame. */
  readonly end: number;
  readonly segment: number;
  /** The offset of its bytes in the segment's file. */
  readonly offset: number;
}

/** Where a journal continues: everything up to `position` is durable. */
export interface JournalStart {
  readonly segment: SegmentWriter;
  readonly position: number;
  /** Why writes are refused: the segment has its end mark, and there was no space to begin the next one. */
  readonly endedFor?: string | undefined;
}

/** Counts for metrics; they only grow. */
export interface JournalCounts {
  readonly batches: number;
  readonly frames: number;
  /** Bytes written, including marks. */
  readonly bytes: number;
  readonly syncs: number;
}

export const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const QUEUE_BYTES_MAX = 64 * 1024 * 1024;
const QUEUE_FULL = "The disk cannot keep up with the writes";
/** Batches up to this size are written on this thread: the copy takes some 20 µs. */
const WRITE_NOW_BYTES_MAX = 64 * 1024;
/** With `always`, at most this much is written before an fdatasync is started, however long the queue is. */
const UNSYNCED_BYTES_MAX = 8 * 1024 * 1024;
/** Before a rotation the segment is synced until this much is left, and at most that often: writes may be as fast as syncs. */
const ROTATED_BYTES_MAX = 512 * 1024;
const SYNCS_BEFORE_ROTATION = 4;
const SYNC_EVERY_MS = 1_000;
/**
 * With `everysec` a sync begins sooner when so much is unsynced. Writers wait for a running sync about as long as the disk
 * needs for half of what it has to write: 25 to 39 ms after a second at 180 MB/s, 4 to 8 ms with this.
 */
const SYNC_SOONER_BYTES = 16 * 1024 * 1024;
const RETRY_EVERY_MS = 1_000;
/** What the reserve needs besides the bytes of frames, for marks and the header of the next segment: so much, and a part of them. */
const MARKS_BYTES = 256;
const MARKS_SHARE = 1 / 16;

export class FileJournal implements Journal {
  /** Called with the time of each fdatasync, in ms. */
  onSynced: (tookMs: number) => void = () => {};
  /** Resolves when the reserve is filled, or writes are refused because there is no space for it. Never rejects. */
  readonly reserved: Promise<void>;

  readonly #options: JournalOptions;
  readonly #isAlways: boolean;
  readonly #queueBytesMax: number;
  readonly #queue: FrameQueue;
  #segment: SegmentWriter;
  readonly #counts = { batches: 0, frames: 0, bytes: 0, syncs: 0 };

  #written: number;
  #synced: number;
  #unsyncedBytes = 0;
  #segmentBulkBytes = 0;
  /** The location of the synced position. */
  #syncedSegment: number;
  #syncedOffset: number;
  #refusal: string | undefined;
  /** By the name of their caller. */
  readonly #outerRefusals = new Map<string, string>();
  /** The first of them. */
  #outerRefusal: string | undefined;
  /** Owners that had too much in the queue and still have more than half of it. */
  readonly #slowed = new Set<FrameOwner>();

  #isTight: boolean;
  #isPlanned = false;
  /** A write through the pool or a rotation is running or waits for space. */
  #isWriting = false;
  #isRotating = false;
  #isSyncing = false;
  #isClosing = false;
  #isDead = false;
  /** Ends the wait for space. */
  #retry: (() => void) | undefined;
  /** Resolves the callers of `sync`. */
  #syncAsked: PromiseWithResolvers<void> | undefined;
  #syncStartMs = Number.NEGATIVE_INFINITY;
  #cancelSync: (() => void) | undefined;
  #cancelRefill: (() => void) | undefined;
  /** Resolves after all requested closings of segments, which run one after the other. */
  #closing: Promise<number>;
  #closingCount = 0;
  /** The segment has its end mark, and the next one does not exist yet. */
  #isEnded = false;
  #closed: Promise<number> | undefined;

  constructor(options: JournalOptions, { segment, position, endedFor }: JournalStart) {
    this.#options = options;
    this.#isAlways = options.mode === "always";
    this.#isTight = options.isTight ?? false;
    this.#queueBytesMax = options.queueBytesMax ?? QUEUE_BYTES_MAX;
    this.#queue = new FrameQueue(position, segment.header.salt);
    this.#segment = segment;
    this.#written = position;
    this.#synced = position;
    this.#syncedSegment = segment.header.number;
    this.#syncedOffset = segment.bytes;
    this.#closing = Promise.resolve(segment.header.number);
    this.reserved = this.#refill();
    if (endedFor !== undefined) this.#beginLater(endedFor);
  }

  /** The position after the last appended frame. */
  get end(): number {
    return this.#queue.end;
  }

  /** Everything up to this position is as safe as the mode promises. */
  get safe(): number {
    return this.#queue.safe;
  }

  /** Why no new write may start now, or undefined. */
  get refusal(): string | undefined {
    return this.refusalOf(this.#queue.unowned);
  }

  /** Why no new write of this owner may start now, or undefined. keeps (5) */
  refusalOf(owner: FrameOwner): string | undefined {
    const refusal = this.#refusal ?? this.#outerRefusal;
    if (refusal !== undefined) return refusal;
    const bytes = owner.journalBytes + this.#queue.bytes;
    if (bytes > 2 * this.#queueBytesMax) this.#slowed.add(owner);
    else if (this.#slowed.size === 0 || !this.#slowed.has(owner)) return undefined;
    else if (bytes <= this.#queueBytesMax) {
      this.#slowed.delete(owner);
      return undefined;
    }
    return QUEUE_FULL;
  }

  /**
   * Refuses new writes for an external reason, or, with undefined, accepts them again. `by` names the caller: writes are
   * accepted when no caller has a reason.
   */
  refuse(reason: string | undefined, by = "guard"): void {
    if (reason === undefined) this.#outerRefusals.delete(by);
    else this.#outerRefusals.set(by, reason);
    [this.#outerRefusal] = this.#outerRefusals.values();
  }

  /** True while the disk may have no room for a long frame. */
  get isTight(): boolean {
    return this.#isTight;
  }

  setTight(isTight: boolean): void {
    this.#isTight = isTight;
    if (!isTight) this.#options.reserve?.shrink();
  }

  /** Why the disk has no room for a frame of so many bytes and for all queued ones; undefined if it has: keeps (6). */
  lackFor(bytes: number): string | undefined {
    if (!this.#isTight) return undefined;
    const all = this.#queue.bytes + bytes;
    return this.#options.reserve?.lackFor(Math.ceil(all + all * MARKS_SHARE) + MARKS_BYTES);
  }

  /** Everything up to this position was written to the system's cache. */
  get written(): number {
    return this.#written;
  }

  /** Everything up to this position is on the disk, whatever the mode. */
  get synced(): number {
    return this.#synced;
  }

  /** The location of `synced`: after the last durable batch, or after the header of a segment without one. */
  get syncedLocation(): SyncedLocation {
    return { segment: this.#syncedSegment, offset: this.#syncedOffset, position: this.#synced };
  }

  /** Bytes that are written but not known to be durable. */
  get unsyncedBytes(): number {
    return this.#unsyncedBytes;
  }

  /** Bytes that are appended but not written yet. */
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  /**
   * The offset of the last appended frame's payload in the bytes of its batch. `onBatchWritten` reports the offset of
   * the batch; the sum of both is the location of the frame. Read it before anything else is appended.
   */
  get appendedOffset(): number {
    return this.#queue.appendedOffset;
  }

  get segmentNumber(): number {
    return this.#segment.header.number;
  }

  /** The size of the segment that is being written. */
  get segmentBytes(): number {
    return this.#segment.bytes;
  }

  /** The part of the segment that a replay only copies, without what was in it when it was opened. */
  get segmentBulkBytes(): number {
    return this.#segmentBulkBytes;
  }

  get counts(): JournalCounts {
    return this.#counts;
  }

  /**
   * Appends one frame of at least one byte and returns the position after it. A crash leaves all or nothing of it.
   * The bytes are copied before this returns. A replay only copies `bulkBytes` of them.
   */
  append(frame: Uint8Array, owner?: FrameOwner, bulkBytes?: number): number {
    assert(!this.#isClosing, "nothing is appended to a closed journal");
    const position = this.#queue.append(frame, owner, bulkBytes);
    if (this.#queue.bytes > 2 * this.#queueBytesMax) this.#refusal ??= QUEUE_FULL;
    this.#plan();
    return position;
  }

  /** Resolves once `safe >= position`. Never rejects: after a failure the program ends. */
  whenSafe(position: number): Promise<void> {
    return this.#queue.whenSafe(position);
  }

  /** Resolves when everything written so far is synced, in every mode, or after a failure: check `synced`. */
  sync(): Promise<void> {
    this.#syncAsked ??= Promise.withResolvers();
    const { promise } = this.#syncAsked;
    if (this.#isDead) this.#answerSyncAsked();
    this.#plan();
    return promise;
  }

  /**
   * Closes the segment and begins the next one. Resolves with the number of the segment that is then open: every frame
   * appended before the call is in a lower one.
   */
  closeSegment(): Promise<number> {
    this.#closingCount += 1;
    this.#closing = this.#closing.then(() => this.#closeSegment());
    return this.#closing;
  }

  /**
   * Writes and syncs everything, ends the segment and closes the file. Resolves with the number of frames that could
   * not be written because no space is left; they never became safe.
   */
  close(): Promise<number> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<number> {
    this.#isClosing = true;
    this.#retry?.();
    await this.#closing;
    if (!this.#isDead) await this.#enqueueRotation(undefined);
    this.#cancelSync?.();
    this.#cancelRefill?.();
    // After a failure the program ends, and running calls may still use the file.
    if (!this.#isDead) await this.#segment.close();
    return this.end - this.#written;
  }

  #plan(): void {
    if (this.#isPlanned || this.#isDead) return;
    this.#isPlanned = true;
    setImmediate(this.#runOnce);
  }

  /** Starts a write and a sync if they can start now. */
  readonly #runOnce = (): void => {
    this.#isPlanned = false;
    if (!this.#isWriting && !this.#isDead) this.#startWriting();
    if (!this.#isSyncing && !this.#isRotating && !this.#isDead) this.#startSyncing();
  };

  #startWriting(): void {
    const queue = this.#queue;
    if (this.#isAlways) {
      // keeps (1): with `always` the open batch waits until all written bytes are synced.
      if (this.#isSyncing) return;
      const bytesMax = queue.head === undefined ? 0 : UNSYNCED_BYTES_MAX;
      if (this.#unsyncedBytes > bytesMax) return;
    }
    if (queue.head === undefined) queue.seal();
    const next = queue.head;
    if (next === undefined) return;
    if (next.kind === "batch") this.#startBatch(next);
    else if (!this.#isSyncing) this.#startRotation(next);
  }

  #startSyncing(): void {
    if (this.#written === this.#synced) {
      this.#answerSyncAsked();
      return;
    }
    switch (this.#options.mode) {
      case "always":
        if (this.#isWriting && this.#retry === undefined) return;
        break;
      case "everysec": {
        const waitMs = this.#syncStartMs + SYNC_EVERY_MS - this.#options.clock.monotonicMs();
        if (waitMs > 0 && this.#syncAsked === undefined && this.#unsyncedBytes < SYNC_SOONER_BYTES) {
          this.#cancelSync ??= this.#options.clock.after(waitMs, this.#syncDue);
          return;
        }
        break;
      }
      case "no":
        if (this.#syncAsked === undefined) return;
        break;
    }
    void this.#sync();
  }

  readonly #syncDue = (): void => {
    this.#cancelSync = undefined;
    this.#runOnce();
  };

  #answerSyncAsked(): void {
    this.#syncAsked?.resolve();
    this.#syncAsked = undefined;
  }

  #startBatch(batch: Batch): void {
    const { number, salt } = this.#segment.header;
    const frameBytes = batch.bytes - MARK_BYTES;
    const mark = { number, position: batch.start, syncedPosition: this.#synced, bytes: frameBytes }; // keeps (2)
    writeMark(batch.buffer, 0, { ...mark, word: BATCH_WORD, salt });
    const bytes = batch.buffer.subarray(0, batch.bytes);
    if (batch.bytes <= WRITE_NOW_BYTES_MAX && !this.#isSyncing && !this.#queue.hasMore) {
      try {
        this.#segment.writeNow(bytes);
        this.#batchWritten(batch);
      } catch (error) {
        void this.#writeInPool(batch, bytes, error);
      }
    } else {
      void this.#writeInPool(batch, bytes, undefined);
    }
  }

  async #writeInPool(batch: Batch, bytes: Uint8Array, failed: unknown): Promise<void> {
    this.#isWriting = true;
    const isWritten = await this.#untilSpace(() => this.#segment.write(bytes), failed);
    this.#isWriting = false;
    if (isWritten) this.#batchWritten(batch);
    else this.#queue.dropBatches();
    this.#plan();
  }

  #batchWritten(batch: Batch): void {
    this.#queue.shift();
    this.#written = batch.end;
    this.#unsyncedBytes += batch.bytes;
    this.#segmentBulkBytes += batch.bulkBytes;
    this.#counts.batches += 1;
    this.#counts.frames += batch.end - batch.start;
    this.#counts.bytes += batch.bytes;
    // Computed after the successful write, so it is correct however often the write was tried.
    const offset = this.#segment.bytes - batch.bytes;
    this.#options.onBatchWritten?.({ start: batch.start, end: batch.end, segment: this.segmentNumber, offset });
    if (this.#refusal !== undefined) this.#liftRefusal();
    if (!this.#isAlways) this.#queue.becomeSafe(batch.end);
    const bytesMax = this.#options.segmentBytesMax ?? SEGMENT_BYTES_MAX;
    if (this.#segment.bytes >= bytesMax && this.#closingCount === 0 && !this.#isClosing) void this.closeSegment();
    if (this.#queue.head !== undefined) this.#plan();
  }

  async #sync(): Promise<void> {
    const { clock } = this.#options;
    const asked = this.#syncAsked;
    const position = this.#written;
    const bytes = this.#unsyncedBytes;
    const offset = this.#segment.bytes;
    this.#syncAsked = undefined;
    this.#isSyncing = true;
    this.#syncStartMs = clock.monotonicMs();
    try {
      await this.#segment.sync();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#isSyncing = false;
    this.#syncedTo({ position, bytes, offset });
    this.onSynced(clock.monotonicMs() - this.#syncStartMs);
    asked?.resolve();
    // Not immediately: requests that arrive in the rest of this turn belong to the next batch.
    this.#plan();
  }

  #syncedTo({ position, bytes, offset }: { position: number; bytes: number; offset: number }): void {
    this.#synced = position;
    this.#unsyncedBytes -= bytes;
    this.#counts.syncs += 1;
    this.#syncedOffset = offset;
    this.#options.onSyncedLocation?.(this.syncedLocation);
    if (this.#isAlways) this.#queue.becomeSafe(position);
  }

  async #closeSegment(): Promise<number> {
    const isNew = this.#segment.bytes === FILE_HEADER_BYTES && this.#queue.isEmpty;
    if (!isNew && !this.#isClosing && !this.#isDead) {
      // These sync most of the segment while writes continue, so that the rotation delays them only briefly. Each is
      // shorter than the one before, because it has only what was written meanwhile.
      for (let i = 0; i < SYNCS_BEFORE_ROTATION && (i === 0 || this.#unsyncedBytes > ROTATED_BYTES_MAX); i += 1)
        await this.sync();
      if (!this.#isDead) await this.#enqueueRotation(this.#options.random.below(2 ** 32));
    }
    this.#closingCount -= 1;
    return this.segmentNumber;
  }

  /** keeps (4) after a start without space: begins the next segment as soon as there is space. */
  #beginLater(refusal: string): void {
    this.#refusal = refusal;
    this.#isEnded = true;
    this.#syncedOffset -= MARK_BYTES;
    this.#closingCount += 1;
    this.#closing = this.#enqueueRotation(this.#options.random.below(2 ** 32)).then(() => {
      this.#closingCount -= 1;
      return this.segmentNumber;
    });
  }

  #enqueueRotation(salt: number | undefined): Promise<void> {
    const done = this.#queue.rotate(salt);
    this.#plan();
    return done;
  }

  #startRotation(rotation: Rotation): void {
    this.#isWriting = true;
    this.#isRotating = true;
    this.#rotate(rotation).catch((error: unknown) => this.#fail(error));
  }

  /** Ends the segment and begins the next one: keeps (3). Without a salt it only ends the segment. */
  async #rotate({ salt, done }: Rotation): Promise<void> {
    const segment = this.#segment;
    const position = this.#written;
    if (position > this.#synced) {
      await segment.sync();
      this.#syncedTo({ position, bytes: this.#unsyncedBytes, offset: segment.bytes });
    }
    if (!this.#isEnded && segment.bytes > FILE_HEADER_BYTES) {
      this.#isEnded = await this.#untilSpace(() => segment.end(position));
    }
    if (salt !== undefined) {
      const isBegun = this.#isEnded && (await this.#beginSegment({ number: this.segmentNumber + 1, position, salt }));
      // The queued frames are for the segment that could not be begun.
      if (!isBegun) this.#queue.dropBatches();
    }
    if (this.#isDead) return;
    if (this.#refusal !== undefined) this.#liftRefusal();
    this.#queue.shift();
    this.#isWriting = false;
    this.#isRotating = false;
    done.resolve();
    this.#plan();
  }

  /** False if the journal closes and no space is left. */
  async #beginSegment(header: FileHeader): Promise<boolean> {
    const { disk, onClosed } = this.#options;
    const old = this.#segment;
    const isBegun = await this.#untilSpace(async () => {
      const begun = await SegmentWriter.create(disk, this.#options, header);
      // In one step, so that a count of the segments always includes both.
      const bulkBytes = this.#segmentBulkBytes;
      this.#segment = begun;
      this.#segmentBulkBytes = 0;
      onClosed?.({ number: old.header.number, bytes: old.bytes, bulkBytes });
    });
    if (!isBegun) return false;
    this.#isEnded = false;
    this.#syncedSegment = header.number;
    this.#syncedOffset = this.#segment.bytes;
    this.#options.onSyncedLocation?.(this.syncedLocation);
    await old.close();
    return true;
  }

  /**
   * Repeats a step that needs space until it succeeds: keeps (4). Returns false if it never will: after a fatal
   * failure, or because the journal closes. `failed` is the error of an earlier try.
   */
  async #untilSpace(step: () => Promise<void>, failed?: unknown): Promise<boolean> {
    let failure = failed ?? (await failureOf(step));
    while (failure !== undefined) {
      const text = noSpaceText(failure);
      const cutFailure = text === undefined ? failure : await failureOf(() => this.#segment.cut());
      if (text === undefined || cutFailure !== undefined) {
        this.#fail(cutFailure);
        return false;
      }
      this.#refuseFor(text);
      if (!(await this.#options.reserve?.release())) {
        if (this.#isClosing) return false;
        // With `always`, the bytes written before are synced meanwhile.
        this.#plan();
        await this.#wait();
      }
      failure = await failureOf(step);
    }
    return true;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancel();
        this.#retry = undefined;
        resolve();
      };
      const cancel = this.#options.clock.after(RETRY_EVERY_MS, goOn);
      this.#retry = goOn;
    });
  }

  #refuseFor(lack: string): void {
    if (this.#refusal !== lack) this.#options.log.warn("writes are refused", { reason: lack });
    this.#refusal = lack;
  }

  /** Called when a write has succeeded or the queue is shorter. */
  #liftRefusal(): void {
    const isNoSpace = this.#refusal !== QUEUE_FULL;
    if (isNoSpace && this.#options.reserve?.isReady === false) {
      this.#refillLater();
      return;
    }
    this.#refusal = this.#queue.bytes > this.#queueBytesMax ? QUEUE_FULL : undefined;
    if (isNoSpace) this.#options.log.info("accepting writes again");
  }

  /** Fills the reserve when there is space again. */
  #refillLater(): void {
    this.#cancelRefill ??= this.#options.clock.after(RETRY_EVERY_MS, () => void this.#refill());
  }

  async #refill(): Promise<void> {
    const { reserve } = this.#options;
    await reserve?.fill();
    this.#cancelRefill = undefined;
    if (this.#isClosing || this.#isDead) return;
    if (reserve?.isReady === false) {
      // keeps (4): an accepted write would wait for space, and all replies behind it.
      if (reserve.lack !== undefined) this.#refuseFor(reserve.lack);
      this.#refillLater();
    }
    // If the next segment is not begun yet, the rotation lifts the refusal.
    else if (this.#refusal !== undefined && this.#retry === undefined && !this.#isEnded) this.#liftRefusal();
  }

  /** keeps (7). */
  #fail(error: unknown): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#refusal = "The journal cannot be written";
    this.#cancelSync?.();
    this.#retry?.();
    this.#answerSyncAsked();
    this.#queue.abandon();
    this.#options.onFatal(error);
  }
}

/** The error of a step, or undefined if it succeeded. */
async function failureOf(step: () => Promise<void>): Promise<unknown> {
  try {
    await step();
    return undefined;
  } catch (failure) {
    return failure ?? new Error("A step failed without a reason");
  }
}
