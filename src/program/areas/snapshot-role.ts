/**
 * The process that writes a snapshot: `larder internal-snapshot <data directory>
 * <area> [<shard>]`, started by the server that has the directory locked. It replays the
 * same files as a start and writes the state of the engine. Exit code 0: the
 * snapshot exists, or none was needed.
 */

import { readSync } from "node:fs";
import { systemClock } from "../../kernel/clock.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { systemRandom } from "../../kernel/random.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { UNFINISHED_SUFFIX } from "../../persistence/journal/file-format.ts";
import { type SnapshotEngine, writeSnapshot } from "../../persistence/snapshot.ts";
import type { ReadFileNow, RowFileSet } from "../../vector/index/mod.ts";
import { type AreaName, areaNames } from "./area.ts";
import { areaPlace } from "./area-place.ts";

interface ClosedEngine extends SnapshotEngine {
  /** Removes what it wrote besides the snapshot. */
  close?(): Promise<void>;
}

/**
 * An empty engine for each kind of area that has snapshots. It only produces its state and serves no requests. Each is
 * loaded on demand, because the process needs one of them.
 */
const engines: Readonly<Record<AreaName, (directory: string) => Promise<ClosedEngine>>> = {
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
  vector: async (directory) => {
    const { VectorEngine } = await import("../../vector/index/mod.ts");
    const { defaultVectorLimits } = await import("../../vector/mod.ts");
    const rows = await openSnapshotRows(directory);
    const engine = new VectorEngine({
      journal: new NullJournal(),
      clock: systemClock,
      random: systemRandom,
      limits: defaultVectorLimits,
      graphs: undefined,
      newHandle: () => "",
      rowFiles: rows.files,
      rowsOf: ({ number }) => (rows.indexes.has(number) ? "disk" : "memory"),
    });
    return {
      replay: (frame) => engine.replay(frame),
      settle: () => engine.settle(),
      dump: () => engine.dump(),
      close: rows.remove,
    };
  },
};

export async function runSnapshot([dataDirectory, name, shard]: readonly string[]): Promise<void> {
  const area = areaNames.find((each) => each === name);
  if (dataDirectory === undefined || area === undefined) {
    throw new Error("A snapshot needs a data directory and an area");
  }
  const { directory, name: nameInFiles } = areaPlace(
    dataDirectory,
    area,
    shard === undefined ? undefined : Number(shard),
  );
  const opened = await engines[area](directory);
  try {
    await writeSnapshot({ disk: fileDisk, directory, area: nameInFiles, engine: opened, random: systemRandom });
  } finally {
    await opened.close?.();
  }
}

/**
 * Files for the rows of the indexes that have row files, so that this process needs no more memory than the server. The
 * server compacts its own files meanwhile, so these are others. A start removes what a crash leaves of them.
 */
async function openSnapshotRows(directory: string): Promise<{
  readonly files: RowFileSet;
  readonly indexes: ReadonlySet<number>;
  remove(): Promise<void>;
}> {
  const { RowFileSet, removeOtherRowFiles } = await import("../../vector/index/mod.ts");
  const { indexesWithRowFiles, rowFiles } = await import("../workers/row-files.ts");
  const suffix = `.snapshot${UNFINISHED_SUFFIX}`;
  const readNow: ReadFileNow = (descriptor, target, offset) => readSync(descriptor, target, 0, target.length, offset);
  const storage = rowFiles(fileDisk, directory, { suffix, readNow });
  await removeOtherRowFiles(storage, []);
  const files = new RowFileSet({
    storage,
    after: (delayMs, callback) => systemClock.after(delayMs, callback),
    isFull: () => false,
    onFault: (fault) => {
      throw fault;
    },
  });
  return {
    files,
    indexes: await indexesWithRowFiles(fileDisk, directory),
    remove: async () => {
      try {
        await files.close();
      } finally {
        await removeOtherRowFiles(storage, []);
      }
    },
  };
}
