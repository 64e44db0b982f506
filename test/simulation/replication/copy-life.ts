/** One life of a server whose data directory is copied: its areas, its copier, and everything that they wait for. */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { Disk } from "../../../src/persistence/disk/disk.ts";
import type { SyncedLocation } from "../../../src/persistence/journal/file-format.ts";
import { Copier } from "../../../src/replication/copier.ts";
import { CopyKey } from "../../../src/replication/copy-key.ts";
import type { ObjectStore } from "../../../src/replication/objects/object-store.ts";
import { interceptedDisk } from "../disk/intercepted-disk.ts";
import { type SimulatedDisk, systemError } from "../disk/simulated-disk.ts";
import { ModelArea } from "./model-area.ts";
import { type ModelObjectStore, SteppedCalls } from "./model-object-store.ts";

export const DATA = "/data";
export const DIRECTORY_ID = "0123456789abcdef0123456789abcdef";
export const COPY_KEY = new CopyKey(Buffer.alloc(32, 7).toString("base64"));
export const KEEP_MS = 30_000;
export const AREAS: readonly { readonly name: string; readonly hasBodies: boolean }[] = [
  { name: "store", hasBodies: false },
  { name: "messaging", hasBodies: true },
];

/** What a bug of the copier does. */
export interface CopyBug {
  /** The store as the copier sees it. */
  readonly store?: (store: ObjectStore, model: ModelObjectStore) => ObjectStore;
  /** The location that is taken for the synced one. */
  readonly locate?: (area: ModelArea) => SyncedLocation;
}

export interface LifeOptions {
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly store: ModelObjectStore;
  readonly random: Random;
  /** Whether a read of the copier fails. */
  readonly hasReadFault: () => boolean;
  readonly bug: CopyBug;
  /** The states of the life before. */
  readonly known: ReadonlyMap<string, ReadonlyMap<number, string>>;
  failed(error: unknown): void;
}

/** It has the position of the journal, and its segment. */
const HISTORY_COPY = `${DATA}/history-copy`;
const SEGMENT_BYTES_MAX = 3_000;

export class CopyLife {
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly calls = new SteppedCalls();
  readonly areas: readonly ModelArea[];
  readonly copier: Copier;
  isStarted = false;
  isOver = false;
  readonly #options: LifeOptions;

  constructor(options: LifeOptions) {
    const { disk, clock, store, random, bug } = options;
    this.#options = options;
    this.disk = disk;
    this.clock = clock;
    this.areas = AREAS.map(
      ({ name, hasBodies }) =>
        new ModelArea({
          ...{ name, hasBodies, disk: disk as Disk, directory: `${DATA}/${name}`, clock, seed: random.below(2 ** 32) },
          mode: random.below(3) === 0 ? "everysec" : "always",
          segmentBytesMax: SEGMENT_BYTES_MAX,
          known: options.known.get(name) ?? new Map(),
          moved: (location) => {
            if (this.isStarted) this.copier.moved(name, location);
          },
          failed: (error) => this.failed(error),
        }),
    );
    const client = store.client(this.calls.trouble);
    this.copier = new Copier({
      disk: interceptedDisk(disk, (operation, go) =>
        operation.kind === "read" && options.hasReadFault() ? Promise.reject(systemError("EIO", operation.path)) : go(),
      ),
      ...{ directory: DATA, directoryId: DIRECTORY_ID, version: "1.0.0", clock, log: silentLog, key: COPY_KEY },
      store: bug.store?.(client, store) ?? client,
      areas: AREAS.map(({ name }) => name),
      settings: {
        ...{ partMs: 200, partBytes: 400, largePartBytes: 600, tickMs: 2_000, sweepMs: 4_000 },
        ...{ keepMs: KEEP_MS, historyMs: 5_000 },
      },
      copyHistory: async (name) => {
        if (name !== "messaging") return undefined;
        const { position, segment } = this.area(name).location;
        disk.put(HISTORY_COPY, Buffer.from(`${position} ${segment}`));
        return HISTORY_COPY;
      },
      locate: async (name) => {
        const area = this.area(name);
        return { ...(bug.locate?.(area) ?? area.location), atMs: clock.nowMs() };
      },
    });
  }

  async start(): Promise<void> {
    for (const area of this.areas) await area.start();
    if (this.isOver) return;
    this.isStarted = true;
    this.copier.start();
  }

  area(name: string): ModelArea {
    return this.areas.find((area) => area.name === name) as ModelArea;
  }

  get texts(): ReadonlyMap<string, ReadonlyMap<number, string>> {
    return new Map(this.areas.map(({ name, texts }) => [name, texts]));
  }

  /** Starts the work of a snapshot. */
  snapshot(area: ModelArea): void {
    area.snapshot().then(
      (isNew) => {
        if (isNew) this.copier.filesChanged(area.name);
      },
      (error: unknown) => this.failed(error),
    );
  }

  failed(error: unknown): void {
    if (!this.isOver) this.#options.failed(error);
  }

  /** The process ends at once. */
  crash(random: Random): void {
    this.isOver = true;
    this.calls.crash(random);
  }
}
