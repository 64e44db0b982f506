/** A shard in the model of the log store, and areas on it, for tests: frames are strings, time is virtual. */
import type { ClaimedShard, LogStore, ShardEpoch } from "../../src/cluster/log-store/log-store.ts";
import type { ObjectStores } from "../../src/cluster/objects/objects.ts";
import { type OpenShardOptions, openShard, recoverShard } from "../../src/cluster/shipped/open-shard.ts";
import type { ShippedDisk } from "../../src/cluster/shipped/shipped-disk.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { type AreaStorage, type AreaStorageOptions, openAreaStorage } from "../../src/persistence/area-storage.ts";
import type { Disk } from "../../src/persistence/disk/disk.ts";
import { type SnapshotEngine, writeSnapshot } from "../../src/persistence/snapshot.ts";
import { ModelDatabase, ModelLogStore } from "../simulation/cluster/model-log-store.ts";
import { plainObjects, type StoredObjects } from "../simulation/cluster/model-objects.ts";
import { AREA, DIRECTORY } from "./persistence-fixture.ts";

export const SHARD = 12;

export interface OpenedShard {
  readonly shipped: ShippedDisk;
  readonly area: AreaStorage;
  readonly owner: ShardEpoch;
  readonly clock: VirtualClock;
  /** The frames that the recovery applied. */
  readonly frames: readonly string[];
  /** Why writes were refused; undefined: they were accepted again. */
  readonly refusals: readonly (string | undefined)[];
  readonly fatal: readonly unknown[];
  readonly deposed: readonly Error[];
}

export class TestShard {
  readonly database = new ModelDatabase(() => 0);
  readonly store = new ModelLogStore({ database: this.database, mayCommit: () => Promise.resolve(true) });
  /** Of its object store, whatever its address is. */
  readonly objects: StoredObjects = new Map();
  readonly objectStores: ObjectStores = { open: () => Promise.resolve(plainObjects(this.objects)) };
  #lives = 0;

  static async begin(): Promise<TestShard> {
    const shard = new TestShard();
    await shard.store.addShards([{ shard: SHARD, area: AREA, hashSeed: Buffer.alloc(4) }]);
    return shard;
  }

  /** A new life claims the shard, and all others are dead. */
  async claim(): Promise<ClaimedShard> {
    const { nodes, shards } = await this.store.watch();
    for (const { life, beat } of nodes) await this.store.declareDead(life, beat);
    this.#lives += 1;
    const life = `life-${this.#lives}`;
    const node = { name: life, life, formerLife: undefined, address: "127.0.0.1:1", format: 1, clockMs: 0 };
    await this.store.register(node);
    const claimed = await this.store.claim({ shard: SHARD, epoch: shards[0]?.epoch ?? 0, life, format: 1 });
    if (claimed === undefined) throw new Error("The claim must succeed");
    return claimed;
  }

  /** Claims the shard, and opens it on a local disk. */
  async open(
    local: Disk,
    options: Partial<OpenShardOptions & Pick<AreaStorageOptions, "mode" | "mayRemove">> = {},
  ): Promise<OpenedShard> {
    const { epoch, snapshot } = await this.claim();
    const clock = new VirtualClock();
    let frames: string[] = [];
    let area: AreaStorage | undefined;
    const [refusals, fatal, deposed]: [(string | undefined)[], unknown[], Error[]] = [[], [], []];
    const owner = { shard: SHARD, epoch };
    const store: LogStore = options.store ?? this.store;
    const shipped = await openShard({
      ...{ local, directory: DIRECTORY, area: AREA, store, fileStore: store, owner, snapshot, clock, log: silentLog },
      branch: "branch-1",
      objects: { stores: this.objectStores, cluster: "cluster", trouble: () => {} },
      refuse: (reason) => {
        refusals.push(reason);
        area?.journal.refuse(reason);
      },
      deposed: (error) => deposed.push(error),
      ...options,
    });
    area = await recoverShard(shipped, { owner, log: silentLog }, () => {
      frames = [];
      return openAreaStorage({
        ...{ disk: shipped, directory: DIRECTORY, area: AREA, mode: options.mode ?? "always", clock, log: silentLog },
        ...{ random: seededRandom(epoch), reserveBytes: 0, beginsSegment: true },
        onFatal: (error) => fatal.push(error),
        apply: (frame) => frames.push(frame.toString("latin1")),
        ...(options.mayRemove !== undefined && { mayRemove: options.mayRemove }),
      });
    });
    return { shipped, area, owner, clock, frames, refusals, fatal, deposed };
  }

  /** The segments of the store: number, epoch of the first row and bytes. */
  async segments(): Promise<readonly (readonly [number, number, number])[]> {
    return (await this.store.segments(SHARD)).map(({ segment, epoch, bytes }) => [segment, epoch, bytes]);
  }

  /** Start and length of each row of a segment. */
  async rows(segment: number): Promise<readonly (readonly [number, number])[]> {
    const rows = await this.store.read(SHARD, segment, 0, 2 ** 30);
    return rows.map(({ start, bytes }) => [start, bytes.length]);
  }
}

/** An engine whose state is all its frames. */
export class FrameEngine implements SnapshotEngine {
  readonly texts: string[] = [];

  replay(frame: Buffer): void {
    this.texts.push(frame.toString("latin1"));
  }

  *dump(): Iterable<Uint8Array> {
    for (const text of this.texts) yield Buffer.from(text, "latin1");
  }
}

/** Closes the segment, and another process writes a snapshot of what is closed, which is then adopted. */
export async function snapshotOf({ area }: OpenedShard, local: Disk): Promise<void> {
  await area.closeSegment();
  const engine = new FrameEngine();
  await writeSnapshot({ disk: local, directory: DIRECTORY, area: AREA, engine, random: seededRandom(3) });
  await area.adoptSnapshot();
}
