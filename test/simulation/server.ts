/**
 * An engine on its journal, wired as in the program, on a simulated disk. A
 * `Harness` is put between its parts where a bug is to be planted.
 */
import type { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Journal } from "../../src/kernel/journal.ts";
import { silentLog } from "../../src/kernel/log.ts";
import type { Random } from "../../src/kernel/random.ts";
import { type AreaStorage, type AreaStorageOptions, openAreaStorage } from "../../src/persistence/area-storage.ts";
import type { Disk } from "../../src/persistence/disk/disk.ts";
import type { JournalLocation } from "../../src/persistence/journal/file-format.ts";
import type { FsyncMode } from "../../src/persistence/journal/journal.ts";
import { type SnapshotEngine, writeSnapshot } from "../../src/persistence/snapshot.ts";
import { DeferredJournal } from "./deferred-journal.ts";

/** The directory of the area. */
export const DIRECTORY = "/area";

/** What is put between the parts of a server. Absent members are as in the program. */
export interface Harness<Engine> {
  /** The disk as the server or its snapshot sees it. */
  readonly disk?: (disk: Disk) => Disk;
  /** The journal as the engine sees it. */
  readonly journal?: (journal: AreaStorage["journal"]) => Journal;
  /** How a recovering server applies a frame. */
  readonly replay?: (engine: Engine, frame: Buffer, place: JournalLocation | undefined) => void;
  /** What the process of a snapshot writes. */
  readonly dump?: (engine: Engine) => Iterable<Uint8Array>;
}

export interface EngineParts {
  readonly journal: Journal;
  readonly clock: VirtualClock;
  readonly random: Random;
}

/** How the engine of an area is made. */
export interface EngineKind<Engine> {
  /** Name of the area in its files. */
  readonly area: string;
  open(parts: EngineParts): Engine;
}

type StorageHooks = Pick<
  AreaStorageOptions,
  "onBatchWritten" | "onSyncedLocation" | "mayRemove" | "segmentBytesMax" | "beginsSegment" | "isTight"
>;

export interface ServerOptions<Engine extends SnapshotEngine> extends StorageHooks {
  readonly subject: EngineKind<Engine>;
  readonly disk: Disk;
  /** Directory of the area; the default is `DIRECTORY`. */
  readonly directory?: string;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly mode: FsyncMode;
  readonly harness: Harness<Engine>;
  readonly onFatal: (error: unknown) => void;
  readonly reserveBytes?: number;
}

export interface Server<Engine> {
  readonly area: AreaStorage;
  readonly engine: Engine;
  /** As the engine sees it. */
  readonly journal: DeferredJournal;
}

/** Recovers the contents of the disk and continues with them. */
export function startServer<Engine extends SnapshotEngine>(options: ServerOptions<Engine>): Promise<Server<Engine>> {
  const { subject, clock, random } = options;
  const journal = new DeferredJournal();
  return recoverInto({ engine: subject.open({ journal, clock, random }), journal }, options);
}

/** Recovers the contents of the disk into an engine that has this journal. */
export async function recoverInto<Engine extends SnapshotEngine>(
  { engine, journal }: Pick<Server<Engine>, "engine" | "journal">,
  options: ServerOptions<Engine>,
): Promise<Server<Engine>> {
  const { subject, harness } = options;
  const { replay } = harness;
  engine.beginRecovery?.();
  const area = await openAreaStorage({
    ...options,
    disk: harness.disk?.(options.disk) ?? options.disk,
    directory: options.directory ?? DIRECTORY,
    area: subject.area,
    log: silentLog,
    reserveBytes: options.reserveBytes ?? 0,
    apply: (frame, place) => (replay === undefined ? engine.replay(frame, place) : replay(engine, frame, place)),
    endSnapshot: () => engine.endSnapshot?.(),
    applied: () => engine.endRecovery?.(),
  });
  journal.inner = harness.journal?.(area.journal) ?? area.journal;
  return { area, engine, journal };
}

type SnapshotOptions<Engine extends SnapshotEngine> = Pick<
  ServerOptions<Engine>,
  "subject" | "disk" | "directory" | "clock" | "random" | "harness"
>;

/** Closes the open segment, has a snapshot of the closed ones written, and uses it. */
export async function takeSnapshot<Engine extends SnapshotEngine>(
  area: AreaStorage,
  options: SnapshotOptions<Engine>,
): Promise<void> {
  await area.closeSegment();
  if (await writeServerSnapshot(options)) await area.adoptSnapshot();
}

/** The work of the process that makes a snapshot. False if no segment was closed since the last one. */
export async function writeServerSnapshot<Engine extends SnapshotEngine>(
  options: SnapshotOptions<Engine>,
): Promise<boolean> {
  const { subject, clock, random, harness, directory = DIRECTORY } = options;
  const engine = subject.open({ journal: new DeferredJournal(), clock, random });
  const disk = harness.disk?.(options.disk) ?? options.disk;
  const { dump } = harness;
  const written: SnapshotEngine =
    dump === undefined ? engine : { replay: (frame, place) => engine.replay(frame, place), dump: () => dump(engine) };
  return (await writeSnapshot({ disk, directory, area: subject.area, engine: written, random })) !== undefined;
}

/** A directory that became a backup of everything up to a position, and possibly of later frames. */
export interface Backup {
  readonly directory: string;
  readonly position: number;
}

/** Makes a backup in a new directory. */
export async function backUp(area: AreaStorage, disk: Disk, directory: string): Promise<Backup> {
  await disk.mkdir(directory);
  await disk.syncDirectory("/");
  const position = area.journal.end;
  await area.backUp(directory);
  return { directory, position };
}
