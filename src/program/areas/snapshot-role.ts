/**
 * The process that writes a snapshot: `larder internal-snapshot <data directory>
 * <area> [<shard>]`, started by the server that has the directory locked. It replays the
 * same files as a start and writes the state of the engine. Exit code 0: the
 * snapshot exists, or none was needed.
 */

import { systemClock } from "../../kernel/clock.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { systemRandom } from "../../kernel/random.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { type SnapshotEngine, writeSnapshot } from "../../persistence/snapshot.ts";
import { type AreaName, areaNames } from "./area.ts";
import { areaPlace } from "./area-place.ts";

/**
 * An empty engine for each kind of area that has snapshots. It only produces its state and serves no requests. Each is
 * loaded on demand, because the process needs one of them.
 */
const engines: Readonly<Record<AreaName, () => Promise<SnapshotEngine>>> = {
  messaging: async () => {
    const { defaultLimits, MessagingState, replayFrame, snapshotFrames } = await import("../../messaging/mod.ts");
    // The state of messaging, without anything that acts on it.
    const state = new MessagingState(defaultLimits);
    return { replay: (frame, place) => replayFrame(state, frame, place), dump: () => snapshotFrames(state) };
  },
  store: async () => {
    const { Store } = await import("../../store/mod.ts");
    return new Store({ clock: systemClock, random: systemRandom, hashSeed: new Uint8Array(8) });
  },
  vector: async () => {
    const { VectorEngine } = await import("../../vector/index/mod.ts");
    const { defaultVectorLimits } = await import("../../vector/mod.ts");
    return new VectorEngine({
      journal: new NullJournal(),
      clock: systemClock,
      random: systemRandom,
      limits: defaultVectorLimits,
      graphs: undefined,
      newHandle: () => "",
    });
  },
};

export async function runSnapshot([dataDirectory, name, shard]: readonly string[]): Promise<void> {
  const area = areaNames.find((each) => each === name);
  if (dataDirectory === undefined || area === undefined) {
    throw new Error("A snapshot needs a data directory and an area");
  }
  const place = areaPlace(dataDirectory, area, shard === undefined ? undefined : Number(shard));
  await writeSnapshot({
    disk: fileDisk,
    directory: place.directory,
    area: place.name,
    engine: await engines[area](),
    random: systemRandom,
  });
}
