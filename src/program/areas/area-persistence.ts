/**
 * The persistence of an area: the journal of its engine, and its part of the
 * data directory, from the recovery at the start to the close. An area without a
 * directory stores nothing, and its journal discards the frames.
 */

import { assert } from "../../kernel/assert.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import { systemRandom } from "../../kernel/random.ts";
import type { AreaStorage, AreaStorageOptions } from "../../persistence/area-storage.ts";
import type { Disk } from "../../persistence/disk/disk.ts";
import { directoryBytes, readFreeBytes } from "../../persistence/disk/disk-usage.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import type { FileJournal } from "../../persistence/journal/journal.ts";
import { measureJournal } from "../../persistence/journal/journal-metrics.ts";
import { awaitSyncs } from "../journey.ts";
import { directoryRefusal } from "../refusal.ts";
import { printSize } from "../settings/values.ts";
import { SyncedPlaceWriter } from "../workers/synced-place.ts";
import type { AreaEvents, AreaPlan, AreaSnapshots } from "./area.ts";
import { DeferredJournal, type JournalFence } from "./deferred-journal.ts";
import { SnapshotState } from "./snapshot-state.ts";

/** How often the disk is checked: whether it has become full or has space again. */
const TROUBLE_CHECK_MS = 1_000;

/** When a snapshot that could not be adopted is tried again. */
const ADOPT_AGAIN_MS = 60_000;

/** Progress of a replay is reported at most this often. */
const PROGRESS_MS = 250;

export interface PersistenceContext {
  readonly plan: AreaPlan;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly events: AreaEvents;
  readonly onFatal: (fault: unknown) => void;
  /** Of an area that is a shard. */
  readonly fence?: JournalFence | undefined;
}

export type StorageHooks = Pick<
  AreaStorageOptions,
  | "apply"
  | "applied"
  | "settle"
  | "endSnapshot"
  | "openSnapshotCheck"
  | "mayRemove"
  | "onBatchWritten"
  | "onSyncedLocation"
>;

/** What the files of a shard are on, in place of the disk of the machine. */
export interface ShardGround {
  readonly disk: Disk;
  /** False while another node still needs a segment that the engine does not need. */
  mayRemove(segment: number): boolean;
  /** The journal is open. */
  opened(journal: FileJournal): void;
}

export class AreaPersistence implements AreaSnapshots {
  /** The engine's journal, already before the recovery. */
  readonly journal: DeferredJournal;
  /** The snapshots, for the engine. */
  readonly snapshots: SnapshotState;
  readonly #context: PersistenceContext;
  #ground: ShardGround | undefined;
  #storage: AreaStorage | undefined;
  #stopWatching: () => void = () => {};
  #cancelAdoption: () => void = () => {};
  #isClosed = false;

  constructor(context: PersistenceContext) {
    this.#context = context;
    this.journal = new DeferredJournal(context.fence);
    this.snapshots = new SnapshotState({
      clock: context.clock,
      mayRequest: context.plan.snapshots,
      request: () => context.events.snapshotRequested(),
      readBytes: () => this.#storage?.sizes ?? { snapshotBytes: 0, journalBytes: 0 },
    });
  }

  /** The area is a shard. To be called before the recovery, which then ends the open segment of the owner before. */
  standOn(ground: ShardGround): void {
    this.#ground = ground;
  }

  /**
   * Replays what is stored into the engine, and opens the journal. Resolves with undefined if the area has no directory.
   * Rejects with a `StartRefusal` if the operator has to fix something, and for a shard with the errors of
   * `openAreaStorage`.
   */
  async recover(hooks: StorageHooks): Promise<AreaStorage | undefined> {
    const { directory } = this.#context.plan;
    if (directory === undefined) return undefined;
    const ground = this.#ground;
    const { mayRemove } = hooks;
    const mayLeave = (segment: number): boolean =>
      mayRemove?.(segment) !== false && ground?.mayRemove(segment) !== false;
    // An engine without the hook keeps nothing in its segments, and they leave with the snapshot that covers them.
    const kept = mayRemove === undefined ? hooks : { ...hooks, mayRemove: mayLeave };
    this.#storage = await recover(this.#context, { directory, journal: this.journal, hooks: kept, ground });
    ground?.opened(this.#storage.journal);
    this.#stopWatching = watchTrouble(this.#context.events, this.journal);
    return this.#storage;
  }

  /** Undefined before the recovery, and for an area without a directory. */
  get storage(): AreaStorage | undefined {
    return this.#storage;
  }

  /** Whether enough was written to justify a snapshot. */
  get isSnapshotDue(): boolean {
    return this.#storage?.isSnapshotDue() ?? false;
  }

  /** See `AreaStorage.backUp`. */
  backUp(target: string, first?: () => Promise<void>): Promise<number> {
    assert(this.#storage !== undefined, "only an area with a directory is backed up");
    return this.#storage.backUp(target, first);
  }

  /** Ends the open segment, unless it is empty. */
  async endSegment(): Promise<void> {
    await this.#storage?.closeSegment();
  }

  async prepareSnapshot(): Promise<void> {
    try {
      await this.snapshots.began();
      await this.#storage?.closeSegment();
    } catch (fault) {
      this.snapshots.ended(false);
      throw fault;
    }
  }

  /** Rejects if a written snapshot could not be adopted, for example because its store fails: it is tried again. */
  async finishSnapshot(isWritten: boolean): Promise<boolean> {
    try {
      if (isWritten) await this.#storage?.adoptSnapshot();
    } catch (fault) {
      this.snapshots.ended(false);
      this.#adoptLater();
      throw fault;
    }
    this.snapshots.ended(isWritten);
    return this.isSnapshotDue;
  }

  /** The file is there already, and the journal keeps what it covers until it is adopted. */
  #adoptLater(): void {
    if (this.#isClosed) return;
    this.#cancelAdoption();
    this.#cancelAdoption = this.#context.clock.real.after(ADOPT_AGAIN_MS, () => {
      this.#storage?.adoptSnapshot().catch((fault: unknown) => {
        this.#context.log.warn("snapshot not adopted; it will be tried again", faultFields(fault));
        this.#adoptLater();
      });
    });
  }

  /** Writes and syncs the rest, and closes the journal. Nothing may be appended afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWatching();
    this.#cancelAdoption();
    this.snapshots.close();
    this.journal.close();
    const lostCount = await this.#storage?.close();
    if (lostCount !== undefined && lostCount > 0) {
      this.#context.log.error("unacknowledged writes are lost: no space left", { frames: lostCount });
    }
  }
}

interface RecoveryParts {
  readonly directory: string;
  readonly journal: DeferredJournal;
  readonly hooks: StorageHooks;
  readonly ground: ShardGround | undefined;
}

/**
 * Replays the data of `directory` into the engine, and opens `journal` at its end. Rejects with a `StartRefusal` if the
 * operator has to fix something.
 */
async function recover(
  { plan, clock, metrics, log, events, onFatal }: PersistenceContext,
  { directory, journal, hooks, ground }: RecoveryParts,
): Promise<AreaStorage> {
  // Loaded here, because an area that stores nothing does not need it.
  const { openAreaStorage } = await import("../../persistence/area-storage.ts");
  const { freeDiskBytesMin: freeBytesMin = 0 } = plan;
  const space = {
    freeBytesMin,
    reason: `Less than ${printSize(freeBytesMin)} of disk space is left`,
    readFreeBytes: () => readFreeBytes(directory),
  };
  const synced = plan.synced && new SyncedPlaceWriter(plan.synced);
  const startMs = systemClock.monotonicMs();
  let reportedMs = startMs;
  let frames = 0;
  let storage: AreaStorage;
  try {
    storage = await openAreaStorage({
      ...{ disk: ground?.disk ?? fileDisk, beginsSegment: ground !== undefined },
      directory,
      area: plan.nameInFiles,
      mode: plan.fsync,
      // Disks use the real clock, even if engines travel in time.
      clock: systemClock,
      random: systemRandom,
      log,
      onFatal,
      space,
      ...hooks,
      ...(synced !== undefined && {
        onSyncedLocation: (place) => {
          synced.write(place);
          hooks.onSyncedLocation?.(place);
        },
      }),
      apply: (frame, place) => {
        frames += 1;
        hooks.apply(frame, place);
      },
      onProgress: (doneBytes, totalBytes, step) => {
        const nowMs = systemClock.monotonicMs();
        if (nowMs - reportedMs < PROGRESS_MS) return;
        reportedMs = nowMs;
        events.replayed({ step, doneBytes, totalBytes });
      },
      onSnapshotDue: () => events.snapshotDue(),
    });
  } catch (fault) {
    throw ground === undefined ? directoryRefusal(fault, directory, "--data-dir") : fault;
  }
  synced?.write(storage.journal.syncedLocation);
  events.replayed(undefined);
  const seconds = Math.round(systemClock.monotonicMs() - startMs) / 1_000;
  journal.open(storage.journal);
  awaitSyncs(clock, storage.journal);
  measureJournal(metrics, storage.journal);
  measureDirectory(metrics, { bytes: () => directoryBytes(directory), recoverySeconds: seconds });
  log.info("recovered", { frames, position: storage.journal.end, seconds });
  return storage;
}

/** Registers the figures of an area's part of the data directory, except its journal's. */
export function measureDirectory(
  metrics: Metrics,
  { bytes, recoverySeconds }: { readonly bytes: () => number; readonly recoverySeconds: number },
): void {
  metrics.reading("larder_directory_bytes", "Bytes of the area's files", bytes);
  metrics.gauge("larder_replay_seconds", "Duration of the recovery at the start").with().set(recoverySeconds);
}

/** Reports to main when writes are refused and when they are accepted again. The returned function ends that. */
function watchTrouble(events: AreaEvents, journal: DeferredJournal): () => void {
  let trouble: string | undefined;
  let cancel = (): void => {};
  const check = (): void => {
    const { refusal } = journal;
    if (refusal !== trouble) {
      trouble = refusal;
      events.trouble(refusal);
    }
    cancel = systemClock.after(TROUBLE_CHECK_MS, check);
  };
  check();
  return () => cancel();
}
