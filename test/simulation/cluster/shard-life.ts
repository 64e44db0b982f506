/**
 * One life of a node that owns the shard: it opens the shard after its claim,
 * recovers an engine from it, and serves random clients until it crashes, stops,
 * or finds that another node has claimed the shard.
 *
 * (1) What the store acknowledged is found by every later owner: `synced` of the
 *     journal is the promise, in all modes.
 * (2) What a later owner recovers is a state that the engine of an earlier one had.
 * (3) After another node has recovered the shard, nothing more is acknowledged.
 * (4) A reply that waits for no commit leaves only while no other node has
 *     claimed the shard: its lease is one that is never wrong.
 */

import type { LogStore, ShardEpoch, SnapshotPointer } from "../../../src/cluster/log-store/log-store.ts";
import { type ObjectStores, ObjectTrouble } from "../../../src/cluster/objects/objects.ts";
import { Deposed } from "../../../src/cluster/shipped/errors.ts";
import { openShard, recoverShard } from "../../../src/cluster/shipped/open-shard.ts";
import type { ShippedDisk } from "../../../src/cluster/shipped/shipped-disk.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { AreaStorage, AreaStorageOptions } from "../../../src/persistence/area-storage.ts";
import type { Disk } from "../../../src/persistence/disk/disk.ts";
import type { FsyncMode, WrittenBatch } from "../../../src/persistence/journal/journal.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import type { History } from "../crash/history.ts";
import { differenceOf } from "../crash/state-text.ts";
import type { ClientParts, Clients, Subject } from "../crash/subject.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { DIRECTORY, type Server, startServer, writeServerSnapshot } from "../server.ts";
import { ClusterViolation, type ClusterWorld, ROW_BYTES } from "./cluster-world.ts";
import type { ObjectLink } from "./model-objects.ts";
import { SimulatedLink } from "./simulated-link.ts";

/** Mistakes that are put between the parts of a node. */
export interface ShippedBug {
  /** The store as the node sees it. */
  readonly store?: (store: LogStore, world: ClusterWorld, disk: SimulatedDisk) => LogStore;
  /** The local disk as the node sees it. */
  readonly local?: (disk: SimulatedDisk, world: ClusterWorld) => Disk;
  /** The disk of the shard as the journal sees it. */
  readonly disk?: (disk: Disk) => Disk;
  /** What the journal draws salts from. */
  readonly random?: (random: Random) => Random;
  /** Which covered segments a trim takes; absent: those without a live body. */
  readonly mayRemove?: (segment: number) => boolean;
  /** True: a takeover goes on with the open segment. */
  readonly continuesSegment?: boolean;
  /** True: a reply that waits for no commit leaves without a look at the lease. */
  readonly hasNoLease?: boolean;
  /** The store as a node that follows the shard sees it. */
  readonly followed?: (store: LogStore) => LogStore;
  /** True: a node goes on following the shard after it has claimed it. */
  readonly keepsFollowing?: boolean;
  /** True: I5 is not checked, to show that breaking it loses what was acknowledged. */
  readonly isUnordered?: boolean;
  /** The object store as the node sees it. */
  readonly objects?: (stores: ObjectStores, world: ClusterWorld) => ObjectStores;
  /** The snapshot that a takeover begins with. */
  readonly snapshot?: (latest: SnapshotPointer | undefined, world: ClusterWorld) => SnapshotPointer | undefined;
}

/** For an engine that leaves parts of its state in the segments. */
export interface KeptBodies<Engine, State> {
  written(engine: Engine, batch: WrittenBatch): void;
  /** Whether no part is in this segment. */
  mayRemove(engine: Engine, segment: number): boolean;
  /** Resolves with what is wrong with the first part that cannot be read as it was written; undefined if all can. */
  findLost(engine: Engine, area: AreaStorage, state: State): Promise<string | undefined>;
}

export interface ShardSubject<Engine extends SnapshotEngine, State> extends Subject<Engine, State> {
  readonly bodies?: KeptBodies<Engine, State>;
}

export interface ShardLifeOptions<Engine extends SnapshotEngine, State> {
  readonly world: ClusterWorld;
  readonly subject: ShardSubject<Engine, State>;
  /** The local disk, stepped. */
  readonly disk: SimulatedDisk;
  readonly owner: ShardEpoch;
  readonly snapshot: SnapshotPointer | undefined;
  readonly branch: string;
  readonly mode: FsyncMode;
  /** The states of all owners before. */
  readonly history: History<State>;
  readonly bug: ShippedBug;
}

const PART_BYTES = 700;
const CLUSTER = "cluster";
/** Of a replaced snapshot in the object store: so short that a life removes some. */
const RETENTION_MS = 100;
const SEGMENT_BYTES = [600, 3_000, 2 ** 26];
const CLIENT_COUNT_MAX = 4;

export class ShardLife<Engine extends SnapshotEngine, State> {
  readonly link: SimulatedLink;
  readonly objects: ObjectLink;
  readonly counts = { acknowledged: 0, snapshots: 0, refusals: 0, heals: 0 };
  /** It has ended by itself: another node has claimed the shard. */
  isDeposed = false;
  /** What a later owner has recovered: nothing after it may be acknowledged (3). */
  recoveredLater: number | undefined;
  /** Its clients have stopped writing. */
  hasOnlyReaders = false;
  readonly #options: ShardLifeOptions<Engine, State>;
  #history: History<State>;
  #server: Server<Engine> | undefined;
  #shipped: ShippedDisk | undefined;
  #clients: Clients<State> | undefined;
  #promised = 0;
  /** What was promised up to here may be lost until the node has healed it. */
  #lostBefore = -1;
  #busyCount = 0;
  #isBegun = false;
  #isSnapshotting = false;
  #isOver = false;

  constructor(options: ShardLifeOptions<Engine, State>) {
    const { world, owner, bug } = options;
    this.#options = options;
    this.#history = options.history;
    this.link = new SimulatedLink({
      ...{ shared: world.shared, random: world.random, owner, isOrdered: bug.isUnordered !== true },
      violate: (text) => {
        if (!this.#isOver) world.violate(text);
      },
      committed: world.committed,
    });
    this.objects = world.linkObjects();
    world.add(options.disk);
    world.add(this.link);
  }

  get disk(): SimulatedDisk {
    return this.#options.disk;
  }

  get owner(): ShardEpoch {
    return this.#options.owner;
  }

  get history(): History<State> {
    return this.#history;
  }

  /** A later owner must find at least this position. */
  get promised(): number {
    return this.#promised;
  }

  /** It has crashed: what its parts report afterwards means nothing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isServing(): boolean {
    return this.#server !== undefined && !this.#isOver;
  }

  /** The position that it recovered. */
  get recovered(): number {
    return this.#server?.area.recovered.position ?? 0;
  }

  /** Opens the shard and recovers from it. `promised` is the least position that it must find. */
  async start(promised: () => number): Promise<void> {
    const { world, subject, disk, owner, snapshot, branch, mode, bug } = this.#options;
    const { clock, random } = world;
    const store = bug.store?.(this.link.store, world, disk) ?? this.link.store;
    const local = bug.local?.(disk, world) ?? disk;
    const shared = { owner, log: silentLog };
    const shipped = await openShard({
      ...{
        ...shared,
        local,
        directory: DIRECTORY,
        area: subject.area,
        store,
        fileStore: store,
        snapshot: bug.snapshot === undefined ? snapshot : bug.snapshot(snapshot, world),
        branch,
        clock,
      },
      objects: {
        stores: bug.objects?.(this.objects, world) ?? this.objects,
        cluster: CLUSTER,
        ...(world.hasObjects && { retentionMs: RETENTION_MS }),
        trouble: () => {},
      },
      ...{ rowBytesMax: ROW_BYTES, partBytes: PART_BYTES },
      refuse: (reason) => {
        if (reason !== undefined) this.counts.refusals += 1;
        this.#server?.area.journal.refuse(reason);
      },
      deposed: () => this.#depose(),
    });
    this.#shipped = shipped;
    const server = await recoverShard(shipped, shared, () =>
      startServer({
        ...{ subject, clock, mode, harness: {}, beginsSegment: bug.continuesSegment !== true },
        ...this.#bodyHooks(subject.bodies),
        random: bug.random?.(random) ?? random,
        disk: bug.disk?.(shipped) ?? shipped,
        segmentBytesMax: SEGMENT_BYTES[random.below(SEGMENT_BYTES.length)] as number,
        onFatal: (error) => this.#fatal(error),
      }),
    );
    if (this.#isOver) return;
    const state = this.#opened(server, promised());
    const lost = await subject.bodies?.findLost(server.engine, server.area, state);
    if (lost !== undefined && !this.#isOver) throw new ClusterViolation(`I10: ${lost} by epoch ${owner.epoch}`);
  }

  #bodyHooks(
    bodies: KeptBodies<Engine, State> | undefined,
  ): Partial<Pick<AreaStorageOptions, "onBatchWritten" | "mayRemove">> {
    if (bodies === undefined) return {};
    const engineOf = (): Engine => this.#running.server.engine;
    return {
      onBatchWritten: (batch) => bodies.written(engineOf(), batch),
      mayRemove: this.#options.bug.mayRemove ?? ((segment) => bodies.mayRemove(engineOf(), segment)),
    };
  }

  /** Compares what was recovered, and serves from now on. Returns the state. */
  #opened(server: Server<Engine>, promised: number): State {
    const { subject, world } = this.#options;
    const { area, engine, journal } = server;
    const { position } = area.recovered;
    if (position < promised) {
      throw new ClusterViolation(
        `Epoch ${this.owner.epoch} recovered position ${position}, and ${promised} was promised`,
      );
    }
    const state = this.#history.stateAt(position);
    const found = subject.stateOf(engine);
    const expected = state === undefined ? "no state" : subject.textOf(state);
    if (state === undefined || found !== expected) {
      const what = `Epoch ${this.owner.epoch} recovered another state at position ${position}`;
      throw new ClusterViolation(`${what}\n${differenceOf(expected, found)}`);
    }
    this.#history = this.#history.upTo(position);
    this.#promised = position;
    this.#server = server;
    const note = (): void => this.#noteState();
    const mayReply: ClientParts<Engine, State>["mayReply"] = ({ hasWaited }) =>
      !this.#isOver && (hasWaited || this.#options.bug.hasNoLease === true || this.#isOwner());
    const hasOnlyReaders = (): boolean => this.hasOnlyReaders;
    const { random } = world;
    this.#clients = subject.clients({ engine, journal, random, state, note, mayReply, hasOnlyReaders });
    return state;
  }

  // Events.

  /** One client sends a request, if the node serves. */
  ask(): void {
    const { server, clients } = this.#running;
    if (this.#busyCount >= CLIENT_COUNT_MAX) return;
    const { journal } = server.area;
    if (!this.#isBegun) {
      this.#isBegun = true;
      clients.begin();
      this.#noteState();
    }
    const reply = clients.ask();
    this.#noteState();
    if (reply.kind !== "waits") return;
    const position = journal.end;
    this.#busyCount += 1;
    reply.sent.then(() => {
      this.#busyCount -= 1;
      if (!this.#isOver && journal.safe < position)
        this.#options.world.violate("a reply left before its position was safe");
    }, this.#options.world.fail);
  }

  /** No client waits, and nothing is under way. */
  get isIdle(): boolean {
    const underwayCount = this.link.underwayCount + this.objects.underwayCount + this.disk.underwayCount;
    return this.#busyCount === 0 && underwayCount === 0 && !this.#isSnapshotting;
  }

  closeSegment(): void {
    this.#running.server.area.closeSegment().catch(this.#options.world.fail);
  }

  /** A process of its own writes a snapshot beside the shard's disk, which then adopts it. */
  async snapshot(): Promise<void> {
    if (this.#isSnapshotting) return;
    const { world, subject, disk } = this.#options;
    const { clock, random } = world;
    const { area } = this.#running.server;
    this.#isSnapshotting = true;
    try {
      await area.closeSegment();
      await writeServerSnapshot({ subject, disk, clock, random, harness: {} });
      if (await area.adoptSnapshot()) this.counts.snapshots += 1;
      else if (subject.bodies !== undefined) await area.removeUnneeded();
    } catch (error) {
      if (!this.#isOver && !this.isDeposed && !(error instanceof ObjectTrouble)) world.fail(error);
    }
    this.#isSnapshotting = false;
  }

  /** Notes what is promised now. To be called whenever everything has settled. */
  look(): void {
    const { world } = this.#options;
    const synced = this.#server?.area.journal.synced ?? 0;
    this.counts.heals = this.#shipped?.healCount ?? 0;
    if (this.counts.heals > 0 && this.#lostBefore < 0) world.violate("I4: rows are lost that were acknowledged");
    if (this.#isOver || synced <= Math.max(this.#promised, this.#lostBefore)) return;
    this.counts.acknowledged += 1;
    this.#promised = synced;
    world.isLossy = false;
    if (this.recoveredLater !== undefined && synced > this.recoveredLater) {
      world.violate(
        `Epoch ${this.owner.epoch} acknowledged ${synced}, and a later owner recovered ${this.recoveredLater}`,
      );
    }
  }

  /** The store has lost commits that it had acknowledged: until more is acknowledged, nothing is promised. */
  forgive(): void {
    this.#options.world.isLossy = true;
    this.#lostBefore = this.#server?.area.journal.synced ?? 0;
    this.#promised = 0;
  }

  /** Lets clients write until the store has again what it had lost. */
  async heal(): Promise<void> {
    const { world } = this.#options;
    await world.until("the lost rows", () => {
      if (world.isLossy) this.ask();
      this.look();
      return !world.isLossy;
    });
  }

  // Ends.

  /** Stops cleanly. False if it was deposed meanwhile. */
  async stop(): Promise<boolean> {
    const { world, disk } = this.#options;
    const { area, journal } = this.#running.server;
    let isClosed = false;
    const closing = area.close().then(() => this.#shipped?.settled());
    closing.then(
      () => {
        isClosed = true;
      },
      (fault) => {
        if (!this.#isOver && !this.isDeposed) world.fail(fault);
      },
    );
    await world.until("the end of the journal", () => isClosed || this.isDeposed);
    this.look();
    if (this.isDeposed) return false;
    if (this.#promised < journal.end && this.#lostBefore < journal.end)
      world.violate(`A clean stop acknowledged ${this.#promised} of ${journal.end}`);
    if (disk.openCount > 0 && !this.#isSnapshotting) world.violate(`${disk.openCount} files are still open`);
    return true;
  }

  /** Ends everything at once. Returns the disk that the next start finds. */
  crash(): SimulatedDisk {
    const { world, disk } = this.#options;
    this.look();
    this.#isOver = true;
    this.link.die();
    this.objects.die();
    this.#shipped?.end(new Error("The node is gone"));
    world.remove(disk);
    return world.random.below(3) === 0 ? disk.afterKill(world.random) : disk.afterPowerCut(world.random);
  }

  #depose(): void {
    if (this.#isOver) return;
    this.isDeposed = true;
    if (this.#isOwner()) this.#options.world.violate("The owner of the shard was deposed");
  }

  /** keeps (4) */
  #isOwner(): boolean {
    const { database } = this.#options.world.shared;
    return database.shards.find(`${this.owner.shard}`, database.begin())?.epoch === this.owner.epoch;
  }

  #fatal(error: unknown): void {
    if (this.#isOver || this.isDeposed) return;
    for (let each: unknown = error; each instanceof Error; each = each.cause) if (each instanceof Deposed) return;
    this.#options.world.fail(error);
  }

  get #running(): { readonly server: Server<Engine>; readonly clients: Clients<State> } {
    if (this.#server === undefined || this.#clients === undefined) throw new Error("The node must have started");
    return { server: this.#server, clients: this.#clients };
  }

  #noteState(): void {
    const { server, clients } = this.#running;
    const { end } = server.journal;
    if (end === this.#history.end && this.#history.stateAt(end) !== undefined) return;
    this.#history.note(end, clients.state());
  }
}
