/** A data directory with one area on a simulated disk, and its copy in a model store: for the unit tests of `replication/`. */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { type Log, silentLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { nextTurn } from "../../src/kernel/turn.ts";
import { type AreaStorage, openAreaStorage } from "../../src/persistence/area-storage.ts";
import { prepareDataDirectory } from "../../src/persistence/data-directory.ts";
import { readArea } from "../../src/persistence/recovery.ts";
import { Copier, type CopierOptions } from "../../src/replication/copier.ts";
import { type CopyRestored, type CopyRestoreOptions, restoreCopy } from "../../src/replication/restore.ts";
import { SimulatedDisk } from "../simulation/disk/simulated-disk.ts";
import { ModelObjectStore } from "../simulation/replication/model-object-store.ts";

export const DATA = "/data";
export const AREA = "store";
export const DIRECTORY_ID = "00000000000000000000000000000001";
export const START_MS = Date.UTC(2026, 0, 1);

export interface CopiedServer {
  readonly disk: SimulatedDisk;
  readonly store: ModelObjectStore;
  readonly clock: VirtualClock;
  readonly area: AreaStorage;
  readonly copier: Copier;
  /** Events of the log, with their reasons. */
  readonly logged: readonly string[];
}

export interface CopiedServerOptions extends Partial<CopierOptions> {
  readonly model?: ModelObjectStore;
  readonly segmentBytesMax?: number;
}

/** A disk with an empty data directory. */
export async function dataDisk(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 1 });
  await disk.mkdir(DATA);
  await prepareDataDirectory(disk, DATA, [AREA]);
  return disk;
}

/** Opens the area, and begins to copy. Resolves when the generation has begun, or the copying is refused. */
export async function copiedServer(disk: SimulatedDisk, options: CopiedServerOptions = {}): Promise<CopiedServer> {
  const { model: store = new ModelObjectStore(), segmentBytesMax, clock = new VirtualClock(START_MS) } = options;
  const logged: string[] = [];
  const note = (event: string, fields?: { readonly reason?: unknown }): void =>
    void logged.push(fields?.reason === undefined ? event : `${event}: ${String(fields.reason)}`);
  const log: Log = { ...silentLog, warn: note, error: note, with: () => log };
  const area = await openAreaStorage({
    ...{
      disk,
      directory: `${DATA}/${AREA}`,
      area: AREA,
      mode: "always",
      clock,
      random: seededRandom(7),
      log: silentLog,
    },
    ...{ reserveBytes: 0, apply: () => {} },
    ...(segmentBytesMax !== undefined && { segmentBytesMax }),
    onFatal: (error) => {
      throw error;
    },
    onSyncedLocation: (location) => copier.moved(AREA, location),
  });
  const copier: Copier = new Copier({
    ...{ store: store.client(), clock, log, disk, directory: DATA, directoryId: DIRECTORY_ID, version: "1.0.0" },
    areas: [AREA],
    locate: () => Promise.resolve({ ...area.journal.syncedLocation, atMs: clock.nowMs() }),
    ...options,
  });
  copier.start();
  await turns();
  return { disk, store, clock: clock as VirtualClock, area, copier, logged };
}

/** Appends frames and waits until they are durable; each takes some bytes more than its text. */
export async function append({ area: { journal } }: CopiedServer, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) journal.append(Buffer.from(text, "latin1"));
  await journal.whenSafe(journal.end);
  await turns();
}

export async function advance({ clock }: CopiedServer, ms: number): Promise<void> {
  await clock.advanceAsync(ms, turns);
  await turns();
}

/** Lets everything continue that waits for no time. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
}

/** Stops the server: everything is copied. */
export async function stop({ area, copier }: CopiedServer): Promise<void> {
  await area.close();
  await copier.close({ withinMs: 60_000 });
}

/** Restores into an empty disk. */
export async function restoreFrom(
  store: ModelObjectStore,
  options: Partial<CopyRestoreOptions> = {},
): Promise<CopyRestored & { readonly disk: SimulatedDisk; readonly frames: readonly string[] }> {
  const disk = new SimulatedDisk({ seed: 2 });
  await disk.mkdir(DATA);
  const restored = await restoreCopy({
    ...{ store: store.client(), disk, directory: DATA, staging: `${DATA}/restoring-1`, areas: [AREA] },
    historyFile: "history.sqlite",
    ...options,
  });
  return { ...restored, disk, frames: await framesOn(disk) };
}

export async function framesOn(disk: SimulatedDisk): Promise<readonly string[]> {
  const frames: string[] = [];
  const apply = (frame: Buffer): void => void frames.push(frame.toString("latin1"));
  await readArea({ disk, directory: `${DATA}/${AREA}`, area: AREA, apply });
  return frames;
}

/** The names of objects that have this in them, without their generation. */
export function namesWith(store: ModelObjectStore, text: string): readonly string[] {
  return [...store.objects.keys()].filter((name) => name.includes(text)).sort();
}
