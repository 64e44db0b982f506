/**
 * The store on its journal as the program wires them, on a simulated disk. A
 * `Harness` stands in between where a bug is to be planted.
 */
import type { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../src/kernel/log.ts";
import type { Random } from "../../src/kernel/random.ts";
import { type Area, openArea } from "../../src/persistence/area.ts";
import type { Disk } from "../../src/persistence/disk.ts";
import type { FsyncMode } from "../../src/persistence/journal.ts";
import { writeSnapshot } from "../../src/persistence/snapshot.ts";
import { NullJournal, type StoreJournal } from "../../src/store/journal.ts";
import { Store } from "../../src/store/store.ts";

export const AREA = "store";
export const DIRECTORY = "/store";

/** What is between the parts of a server. What is absent is as in the program. */
export interface Harness {
  /** The disk as the server or its snapshot sees it. */
  readonly disk?: (disk: Disk) => Disk;
  /** The journal as the store sees it. */
  readonly journal?: (journal: Area["journal"]) => StoreJournal;
  /** How a recovering server applies a frame. */
  readonly replay?: (store: Store, frame: Buffer) => void;
}

export interface ServerOptions {
  readonly disk: Disk;
  /** Of the area; `DIRECTORY` if absent. */
  readonly directory?: string;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly mode: FsyncMode;
  readonly harness: Harness;
  readonly onFatal: (error: unknown) => void;
  readonly segmentBytesMax?: number;
  readonly reserveBytes?: number;
}

export interface Server {
  readonly area: Area;
  readonly store: Store;
  /** As the store sees it. */
  readonly journal: LateJournal;
}

/** Recovers what is on the disk and goes on with it. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { harness, clock, random } = options;
  const journal = new LateJournal();
  const store = new Store({ journal, clock, random, hashSeed: new Uint8Array(8) });
  const replay = harness.replay ?? ((target, frame) => target.replay(frame));
  const area = await openArea({
    ...options,
    disk: harness.disk?.(options.disk) ?? options.disk,
    directory: options.directory ?? DIRECTORY,
    area: AREA,
    log: silentLog,
    reserveBytes: options.reserveBytes ?? 0,
    apply: (frame) => replay(store, frame),
  });
  journal.inner = harness.journal?.(area.journal) ?? area.journal;
  return { area, store, journal };
}

/** What the process does that makes a snapshot. False if no segment was closed since the last one. */
export async function writeStoreSnapshot(options: Pick<ServerOptions, "disk" | "clock" | "random" | "harness">) {
  const { clock, random, harness } = options;
  const store = new Store({ journal: new NullJournal(), clock, random, hashSeed: new Uint8Array(8) });
  const disk = harness.disk?.(options.disk) ?? options.disk;
  return (await writeSnapshot({ disk, directory: DIRECTORY, area: AREA, engine: store, random })) !== undefined;
}

/** A store is there before its journal, because the journal is opened by recovering into the store. */
export class LateJournal implements StoreJournal {
  inner: StoreJournal = new NullJournal();
  /** Told behind each frame. */
  onAppend: () => void = () => {};

  get end(): number {
    return this.inner.end;
  }

  get safe(): number {
    return this.inner.safe;
  }

  get refusal(): string | undefined {
    return this.inner.refusal;
  }

  append(frame: Uint8Array): number {
    const position = this.inner.append(frame);
    this.onAppend();
    return position;
  }

  whenSafe(position: number): Promise<void> {
    return this.inner.whenSafe(position);
  }
}
