/**
 * An engine on its journal, wired as in the program, on a simulated disk. A
 * `Harness` is put between its parts where a bug is to be planted.
 */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { Random } from "../../../src/kernel/random.ts";
import { type AreaStorage, openAreaStorage } from "../../../src/persistence/area-storage.ts";
import type { Disk } from "../../../src/persistence/disk/disk.ts";
import type { FsyncMode } from "../../../src/persistence/journal/journal.ts";
import { type SnapshotEngine, writeSnapshot } from "../../../src/persistence/snapshot.ts";
import { DeferredJournal } from "./deferred-journal.ts";
import type { Harness, Subject } from "./subject.ts";

/** Options of the area, of either kind. */
export const DIRECTORY = "/area";

export interface ServerOptions<Engine extends SnapshotEngine> {
  readonly subject: Pick<Subject<Engine, never>, "area" | "open">;
  readonly disk: Disk;
  /** Directory of the area; the default is `DIRECTORY`. */
  readonly directory?: string;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly mode: FsyncMode;
  readonly harness: Harness<Engine>;
  readonly onFatal: (error: unknown) => void;
  readonly segmentBytesMax?: number;
  readonly reserveBytes?: number;
}

export interface Server<Engine> {
  readonly area: AreaStorage;
  readonly engine: Engine;
  /** As the engine sees it. */
  readonly journal: DeferredJournal;
}

/** Recovers the contents of the disk and continues with them. */
export async function startServer<Engine extends SnapshotEngine>(
  options: ServerOptions<Engine>,
): Promise<Server<Engine>> {
  const { subject, harness, clock, random } = options;
  const journal = new DeferredJournal();
  const engine = subject.open({ journal, clock, random });
  const replay = harness.replay;
  const area = await openAreaStorage({
    ...options,
    disk: harness.disk?.(options.disk) ?? options.disk,
    directory: options.directory ?? DIRECTORY,
    area: subject.area,
    log: silentLog,
    reserveBytes: options.reserveBytes ?? 0,
    apply: (frame, place) => (replay === undefined ? engine.replay(frame, place) : replay(engine, frame)),
  });
  journal.inner = harness.journal?.(area.journal) ?? area.journal;
  return { area, engine, journal };
}

/** The work of the process that makes a snapshot. False if no segment was closed since the last one. */
export async function writeServerSnapshot<Engine extends SnapshotEngine>(
  options: Pick<ServerOptions<Engine>, "subject" | "disk" | "clock" | "random" | "harness">,
): Promise<boolean> {
  const { subject, clock, random, harness } = options;
  const engine = subject.open({ journal: new DeferredJournal(), clock, random });
  const disk = harness.disk?.(options.disk) ?? options.disk;
  const { dump } = harness;
  const written: SnapshotEngine =
    dump === undefined ? engine : { replay: (frame, place) => engine.replay(frame, place), dump: () => dump(engine) };
  return (
    (await writeSnapshot({ disk, directory: DIRECTORY, area: subject.area, engine: written, random })) !== undefined
  );
}
