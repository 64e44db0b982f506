/**
 * Inspects an area as a start would read it, and checks the files that it needs
 * later: bodies of messages are in journal files that no start reads, and only
 * the engine knows which of those are still needed.
 */
import { defaultLimits, MessagingState, replayFrame } from "../../messaging/mod.ts";
import type { OnBytes } from "../../persistence/byte-progress.ts";
import { areaDirectory } from "../../persistence/data-directory.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { type AreaReport, type InspectedEngine, inspectArea } from "../../persistence/inspection.ts";

/** Reads an area of a data directory without changing anything. Rejects only with the system's errors. */
export function inspectStoredArea(directory: string, area: string, onBytes: OnBytes): Promise<AreaReport> {
  const place = { disk: fileDisk, directory: areaDirectory(directory, area), area };
  return inspectArea({ ...place, onBytes, engine: inspectedEngineOf(area) });
}

/** An engine for the frames of this area, if it reads parts of segments by location. */
export function inspectedEngineOf(area: string): InspectedEngine | undefined {
  if (area !== "messaging") return undefined;
  const state = new MessagingState(defaultLimits);
  return {
    replay: (frame, place) => replayFrame(state, frame, place),
    neededSegments: () => state.bodies.liveBytes.keys(),
  };
}

/** Lines about lost data of an area that can still be started. */
export function damageOf(reports: readonly AreaReport[]): readonly string[] {
  return reports.flatMap(({ area, damaged }) =>
    damaged.map((fault) => `${area} starts, but bodies of messages are lost: ${fault}`),
  );
}
