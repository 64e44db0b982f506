/**
 * Inspects an area as a start would read it, and checks the files that it needs
 * later: bodies of messages are in journal files that no start reads, and only
 * the engine knows which of those are still needed.
 */
import { systemClock } from "../../kernel/clock.ts";
import { secretBytes, systemRandom } from "../../kernel/random.ts";
import { defaultLimits, MessagingState, replayFrame } from "../../messaging/mod.ts";
import type { OnBytes } from "../../persistence/byte-progress.ts";
import { areaDirectory } from "../../persistence/data-directory.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { type AreaReport, type InspectedEngine, inspectArea } from "../../persistence/inspection.ts";
import { openSnapshotCheck, SNAPSHOT_CHECK_SEED_BYTES } from "../../store/mod.ts";

/** Reads an area of a data directory without changing anything. Rejects only with the system's errors. */
export function inspectStoredArea(directory: string, area: string, onBytes: OnBytes): Promise<AreaReport> {
  const place = { disk: fileDisk, directory: areaDirectory(directory, area), area };
  return inspectArea({ ...place, onBytes, engine: inspectedEngineOf(area) });
}

/** An engine for the frames of this area, if more than their checksums is checked. */
export function inspectedEngineOf(area: string): InspectedEngine | undefined {
  return Object.hasOwn(engines, area) ? engines[area]?.() : undefined;
}

/** The engine of messaging, which reads parts of segments by location, and its state. */
export function inspectedMessaging(): InspectedEngine & { readonly state: MessagingState } {
  const state = new MessagingState(defaultLimits);
  return {
    state,
    replay: (frame, place) => replayFrame(state, frame, place),
    neededSegments: () => state.bodies.liveBytes.keys(),
  };
}

const engines: Readonly<Record<string, () => InspectedEngine>> = {
  messaging: inspectedMessaging,
  /** A start takes the keys of a snapshot for new ones. */
  store: () => {
    const check = openStoreCheck();
    return {
      replay: (frame, place) => {
        if (place === undefined) check(frame);
      },
      neededSegments: () => [],
    };
  },
};

/** Finds the first frame of a snapshot of the store that contradicts those before it. */
function openStoreCheck(): (frame: Buffer) => void {
  return openSnapshotCheck({ clock: systemClock, random: systemRandom, seed: secretBytes(SNAPSHOT_CHECK_SEED_BYTES) });
}

/** Lines about lost data of an area that can still be started. */
export function damageOf(reports: readonly AreaReport[]): readonly string[] {
  return reports.flatMap(({ area, damaged }) =>
    damaged.map((fault) => `${area} starts, but bodies of messages are lost: ${fault}`),
  );
}
