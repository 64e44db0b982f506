/** What every area with a journal does at its start: recover its part of the data directory, and watch the disk after. */
import { assert } from "../../kernel/assert.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import { systemRandom } from "../../kernel/random.ts";
import type { AreaStorage, AreaStorageOptions } from "../../persistence/area-storage.ts";
import { awaitSyncs } from "../journey.ts";
import { directoryRefusal } from "../refusal.ts";
import { printSize } from "../settings/values.ts";
import type { ServiceContext } from "./area-thread.ts";
import type { DeferredJournal } from "./deferred-journal.ts";

/** How often is looked whether the disk has become full or has space again. */
const TROUBLE_CHECK_MS = 1_000;

/** Progress of a replay is told at most this often. */
const PROGRESS_MS = 250;

export type EngineHooks = Pick<AreaStorageOptions, "apply" | "mayRemove" | "onBatchWritten" | "onSyncedPlace">;

/**
 * Replays what is kept in `directory` into the engine, and opens `journal` behind it. Rejects with a `StartRefusal` for
 * what the operator has to put right.
 */
export async function recoverArea(
  { plan, clock, metrics, log, events, onFatal }: ServiceContext,
  { directory, journal, hooks }: { directory: string; journal: DeferredJournal; hooks: EngineHooks },
): Promise<AreaStorage> {
  // Loaded here, because an area that keeps nothing needs none of it.
  const { openAreaStorage: openArea } = await import("../../persistence/area-storage.ts");
  const { fileDisk } = await import("../../persistence/disk/file-disk.ts");
  const { measureJournal } = await import("../../persistence/journal/journal-metrics.ts");
  const { directoryBytes, readFreeBytes } = await import("../../persistence/disk/disk-usage.ts");
  const { freeDiskBytesMin } = plan;
  const space =
    freeDiskBytesMin === undefined
      ? undefined
      : {
          freeBytesMin: freeDiskBytesMin,
          reason: `Less than ${printSize(freeDiskBytesMin)} of disk space is left`,
          readFreeBytes: () => readFreeBytes(directory),
        };
  const startMs = systemClock.monotonicMs();
  let toldMs = startMs;
  let frames = 0;
  let kept: AreaStorage;
  try {
    kept = await openArea({
      disk: fileDisk,
      directory,
      area: plan.area,
      mode: plan.fsync,
      // Disks live by the real clock, also where engines travel in time.
      clock: systemClock,
      random: systemRandom,
      log,
      onFatal,
      space,
      ...hooks,
      apply: (frame, place) => {
        frames += 1;
        hooks.apply(frame, place);
      },
      onProgress: (doneBytes, totalBytes, step) => {
        const nowMs = systemClock.monotonicMs();
        if (nowMs - toldMs < PROGRESS_MS) return;
        toldMs = nowMs;
        events.replayed({ step, doneBytes, totalBytes });
      },
      onSnapshotDue: () => events.snapshotDue(),
    });
  } catch (fault) {
    throw directoryRefusal(fault, directory, "--data-dir");
  }
  events.replayed(undefined);
  const seconds = Math.round(systemClock.monotonicMs() - startMs) / 1_000;
  journal.open(kept.journal);
  awaitSyncs(clock, kept.journal);
  measureJournal(metrics, kept.journal);
  measureDirectory(metrics, { bytes: () => directoryBytes(directory), recoverySeconds: seconds });
  log.info("recovered", { frames, position: kept.journal.end, seconds });
  return kept;
}

/** Registers what is known of an area's part of the data directory besides its journal. */
export function measureDirectory(
  metrics: Metrics,
  { bytes, recoverySeconds }: { readonly bytes: () => number; readonly recoverySeconds: number },
): void {
  metrics.reading("larder_directory_bytes", "Bytes of the files that the area keeps", bytes);
  metrics.gauge("larder_replay_seconds", "How long the recovery at the start took").with().set(recoverySeconds);
}

/** What an area keeps, asked of an area that keeps something. */
export function getKept(kept: AreaStorage | undefined): AreaStorage {
  assert(kept !== undefined, "only an area with a directory is backed up");
  return kept;
}

/** Tells main when writes are refused and when they are accepted again. The returned function ends that. */
export function watchTrouble({ events }: ServiceContext, journal: DeferredJournal): () => void {
  let trouble: string | undefined;
  let cancel = (): void => {};
  const look = (): void => {
    const { refusal } = journal;
    if (refusal !== trouble) {
      trouble = refusal;
      events.trouble(refusal);
    }
    cancel = systemClock.after(TROUBLE_CHECK_MS, look);
  };
  look();
  return () => cancel();
}
