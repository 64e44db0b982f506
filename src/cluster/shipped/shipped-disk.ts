/**
 * The disk of one shard: its files are a cache, and the log store makes them
 * durable. Journal, recovery, snapshots and bodies work on it as on any disk.
 *
 *     fdatasync of a segment    the store has committed all whole writes
 *     adopt of a snapshot       the store has all of it, as the latest one
 *     unlink of a segment       the store removes its rows, then the file goes
 *     truncate and fdatasync    the store loses a torn batch
 *
 * (1) A sync resolves when a statement that committed the bytes has returned, so
 *     nothing is acknowledged that the store may not have.
 * (2) A sync never rejects for trouble of the store: `refuse` is called, and the
 *     statement is repeated. It rejects when another node has claimed the shard,
 *     or when bytes of the store or of a file are damaged. Then the process ends.
 * (3) Open segments are not made durable here. What is closed is, and is noted
 *     (cache-notes.ts).
 * (4) A covered segment that is only in the store is listed, and fetched when it
 *     is first read.
 *
 * Other files, and those of other directories, are only here.
 */
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { segmentPath, snapshotPath } from "../../persistence/area-files.ts";
import type { Disk, DiskFile, OpenHow } from "../../persistence/disk/disk.ts";
import { findFileNumber } from "../../persistence/journal/file-format.ts";
import type { LogStore, SegmentView, ShardEpoch, SnapshotPointer } from "../log-store/log-store.ts";
import { ObjectPatience } from "../objects/object-patience.ts";
import { CACHE_FILE, type CacheNotes } from "./cache-notes.ts";
import { Deposed } from "./errors.ts";
import { type FetchOptions, fetchSegment, fetchSnapshot, removeIfThere } from "./fetch.ts";
import { SegmentLog } from "./segment-log.ts";
import { SegmentState } from "./segment-state.ts";
import { RemoteSegment, type SegmentHooks, ShippedSegment } from "./shipped-segment.ts";
import { type SnapshotObjects, SnapshotStore } from "./snapshot-store.ts";
import { Statements } from "./statements.ts";
import { type ReportWrite, Uncommitted } from "./uncommitted.ts";

export interface ShardOptions {
  /** The cache. */
  readonly local: Disk;
  /** The directory of the shard, which exists. */
  readonly directory: string;
  /** The area's name, as the shard's files state it. */
  readonly area: string;
  readonly store: LogStore;
  /** For snapshots and removals, so that appends do not wait for them: it may use another connection. */
  readonly fileStore: LogStore;
  /** The shard and the epoch under which this node has claimed it. */
  readonly owner: ShardEpoch;
  /** The latest snapshot, as the claim returned it. */
  readonly snapshot: SnapshotPointer | undefined;
  /** The id of the database's branch. */
  readonly branch: string;
  /** For snapshots that are objects. */
  readonly objects: SnapshotObjects;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly log: Log;
  /** Called with the time of each append, from when it was first sent until it is proven, in ms. */
  onCommitted?(tookMs: number): void;
  /** Called for a write that the store has not committed (uncommitted.ts). */
  readonly onWritten?: ReportWrite;
  /** Called with the reason when writes must be refused, and with undefined when they may go on. */
  refuse(reason: string | undefined): void;
  /** Called once, when another node has claimed the shard. The process must end. */
  deposed(reason: Deposed): void;
  /** For tests. */
  readonly rowBytesMax: number;
  readonly partBytes: number;
}

/** What `openShard` found. */
export interface ShardFiles {
  readonly notes: CacheNotes;
  readonly statements: Statements;
  readonly states: Map<number, SegmentState>;
  /** Segments that are only in the store. */
  readonly remote: Map<number, SegmentView>;
  /** All segments of the store. */
  readonly views: readonly SegmentView[];
}

/** With `everysec`, writes are refused while more than this is not in the store. */
const UNSHIPPED_BYTES_MAX = 16 * 1024 * 1024;
const BEHIND = "PostgreSQL cannot keep up with the writes";

/** A start waits for the object store, as it does for PostgreSQL: it has no other state. */
export function patientReading({
  objects,
  clock,
  log,
}: Pick<ShardOptions, "objects" | "clock" | "log">): FetchOptions["objects"] {
  const patience = new ObjectPatience({ clock, log, trouble: (reason) => objects.trouble(reason) });
  return { stores: objects.stores, patiently: (call) => patience.run(call) };
}

export class ShippedDisk implements Disk {
  readonly #options: ShardOptions;
  readonly #notes: CacheNotes;
  readonly #statements: Statements;
  readonly #fileStatements: Statements;
  readonly #states: Map<number, SegmentState>;
  readonly #remote: Map<number, SegmentView>;
  readonly #fetching = new Map<number, Promise<void>>();
  readonly #views: ReadonlyMap<number, SegmentView>;
  readonly #segmentLog: SegmentLog;
  readonly #snapshots: SnapshotStore;
  readonly #hooks: SegmentHooks;
  #storeTrouble: string | undefined;
  #isBehind = false;
  #refusal: string | undefined;
  #deposed: Deposed | undefined;

  /** Called by `openShard`, which makes the directory equal to the store. */
  constructor(options: ShardOptions, { notes, statements, states, remote, views }: ShardFiles) {
    this.#options = options;
    this.#notes = notes;
    this.#statements = statements;
    this.#states = states;
    this.#remote = remote;
    this.#views = new Map(views.map((view) => [view.segment, view]));
    const { clock, log, local, directory, owner, store, fileStore, rowBytesMax, partBytes, snapshot, objects } =
      options;
    // Appends tell when the store is in trouble, because nobody waits long for the others.
    this.#fileStatements = new Statements({ clock, log, trouble: () => {} });
    const deposed = (): Error => this.#depose();
    this.#snapshots = new SnapshotStore(
      {
        ...{ local, directory, store: fileStore, statements: this.#fileStatements, owner, partBytes, notes, deposed },
        ...{ objects, clock, log },
      },
      snapshot,
    );
    this.#segmentLog = new SegmentLog({
      ...{ local, directory, store, statements, owner, rowBytesMax, log, states, deposed },
      snapshotNumber: () => this.#snapshots.pointer?.number ?? 1,
      healSnapshot: () => this.#snapshots.heal(),
      clock,
      onCommitted: (tookMs) => options.onCommitted?.(tookMs),
    });
    const uncommitted = new Uncommitted(options.onWritten ?? (() => () => {}));
    this.#hooks = {
      ship: (state, file) => uncommitted.during(() => this.#segmentLog.ship(state, file)),
      wrote: () => uncommitted.wrote(),
      written: (state) => this.#written(state),
      ended: (state) => this.#ended(state),
    };
  }

  /** How often rows were sent again that the store had lost. */
  get healCount(): number {
    return this.#segmentLog.healCount;
  }

  /** Bytes that are written here and that the store has not committed. */
  get unshippedBytes(): number {
    let bytes = 0;
    for (const { wholeBytes, shippedBytes } of this.#states.values()) bytes += Math.max(0, wholeBytes - shippedBytes);
    return bytes;
  }

  /** To be called with the trouble of the statements of `ShardFiles`. */
  storeTrouble(reason: string | undefined): void {
    this.#storeTrouble = reason;
    this.#assess();
  }

  /** Fails everything that waits for the store, and what is asked of it later. */
  end(reason: Error): void {
    this.#statements.end(reason);
    this.#fileStatements.end(reason);
    this.#snapshots.end();
  }

  /** Resolves when nothing is written to the directory on its own account any more. */
  settled(): Promise<void> {
    return this.#notes.settled();
  }

  /**
   * Fetches a file again that was kept from an earlier life, or all kept files if `path` is not one of them. Resolves
   * with false if no file was kept.
   */
  async fetchAgain(path: string | undefined): Promise<boolean> {
    const { directory } = this.#options;
    const kept = [...this.#states.values()].filter(({ isKept }) => isKept);
    const named = kept.filter(({ number }) => segmentPath(directory, number) === path);
    const { snapshot } = this.#notes;
    const isSnapshot =
      snapshot !== undefined && (path === undefined || path === snapshotPath(directory, snapshot.number));
    if (isSnapshot) await this.#fetchSnapshotAgain();
    const again = named.length > 0 || isSnapshot ? named : kept;
    for (const { number } of again) await this.#fetch(number);
    return again.length > 0 || isSnapshot;
  }

  async open(path: string, how: OpenHow, mode?: number): Promise<DiskFile> {
    const { local } = this.#options;
    const number = this.#segmentAt(path);
    const view = number === undefined ? undefined : this.#remote.get(number);
    if (number !== undefined && view !== undefined) {
      if (how === "read") return new RemoteSegment(view.bytes, () => this.#openFetched(number, path)); // keeps (4)
      await this.#fetch(number);
    }
    const file = await local.open(path, how, mode);
    if (number === undefined) return file;
    if (how === "create") this.#states.set(number, new SegmentState(number, { bytes: 0 }));
    const state = this.#states.get(number);
    return state === undefined ? file : new ShippedSegment(file, state, this.#hooks);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#options.local.rename(from, to);
  }

  async unlink(path: string): Promise<void> {
    const number = this.#segmentAt(path);
    const state = number === undefined ? undefined : this.#states.get(number);
    const isRemote = number !== undefined && this.#remote.has(number);
    if (number !== undefined && (isRemote || (state !== undefined && state.shippedBytes > 0))) {
      await this.#fetching.get(number)?.catch(() => undefined); // Its reader receives the error.
      await this.#snapshots.removeSegment(number);
    }
    if (number !== undefined) {
      this.#notes.forgetSegment(number);
      this.#states.delete(number);
      if (this.#remote.delete(number)) return;
    }
    await this.#options.local.unlink(path);
  }

  async link(from: string, to: string): Promise<void> {
    const number = this.#segmentAt(from);
    if (number !== undefined && this.#remote.has(number)) await this.#fetch(number);
    await this.#options.local.link(from, to);
  }

  async list(path: string): Promise<string[]> {
    const { local, directory } = this.#options;
    const names = await local.list(path);
    if (path !== directory) return names;
    const remote = [...this.#remote.keys()].map((number) => segmentPath("", number).slice(1));
    // The notes are not one of the files of an area.
    return [...new Set([...names.filter((name) => !name.startsWith(CACHE_FILE)), ...remote])];
  }

  mkdir(path: string): Promise<boolean> {
    return this.#options.local.mkdir(path);
  }

  /** In the shard's directory the store has the names: rows name their segment, and the pointer the snapshot. */
  async syncDirectory(path: string): Promise<void> {
    if (path !== this.#options.directory) await this.#options.local.syncDirectory(path);
  }

  async adopt(path: string): Promise<void> {
    const number = this.#numberAt("snapshot", path);
    assert(number !== undefined, "the file is a snapshot of this shard");
    await this.#snapshots.adopt(number);
  }

  #segmentAt(path: string): number | undefined {
    return this.#numberAt("segment", path);
  }

  #numberAt(kind: "segment" | "snapshot", path: string): number | undefined {
    const { directory } = this.#options;
    return path.startsWith(`${directory}/`) ? findFileNumber(kind, path.slice(directory.length + 1)) : undefined;
  }

  async #openFetched(number: number, path: string): Promise<DiskFile> {
    if (this.#remote.has(number)) await this.#fetch(number);
    return this.#options.local.open(path, "read");
  }

  /** Fetches a segment that never changes, once for all who ask meanwhile. */
  #fetch(number: number): Promise<void> {
    const running = this.#fetching.get(number);
    if (running !== undefined) return running;
    const fetching = this.#fetchNow(number).finally(() => this.#fetching.delete(number));
    this.#fetching.set(number, fetching);
    return fetching;
  }

  async #fetchNow(number: number): Promise<void> {
    const view = this.#views.get(number);
    assert(view !== undefined, "a segment that is not here is in the store");
    this.#notes.forgetSegment(number);
    const { header, lastStart } = await fetchSegment(this.#fetchOptions, view);
    this.#states.set(number, new SegmentState(number, { bytes: view.bytes, lastStart, salt: header.salt }));
    this.#remote.delete(number);
    this.#notes.noteSegment({ number, epoch: view.epoch, salt: header.salt, bytes: view.bytes });
  }

  async #fetchSnapshotAgain(): Promise<void> {
    const { directory, local } = this.#options;
    const { pointer } = this.#snapshots;
    assert(pointer !== undefined, "what is noted is in the store");
    this.#notes.forgetSnapshot();
    await removeIfThere(local, snapshotPath(directory, pointer.number));
    // It is noted when the next one is adopted: until then it is fetched at each start.
    await fetchSnapshot(this.#fetchOptions, pointer);
  }

  get #fetchOptions(): FetchOptions {
    const { local, directory, area, fileStore: store, owner } = this.#options;
    const objects = patientReading(this.#options);
    return { local, directory, area, store, statements: this.#fileStatements, shard: owner.shard, objects };
  }

  #ended(state: SegmentState): void {
    const { number, salt, shippedBytes: bytes } = state;
    if (salt === undefined || this.#notes.segment(number) !== undefined) return;
    const epoch = this.#views.get(number)?.epoch ?? this.#options.owner.epoch;
    this.#notes.noteSegment({ number, epoch, salt, bytes });
  }

  #written({ wholeBytes, shippedBytes }: SegmentState): void {
    const bytesMax = this.#isBehind ? UNSHIPPED_BYTES_MAX / 2 : UNSHIPPED_BYTES_MAX;
    const isBehind = wholeBytes - shippedBytes > bytesMax;
    if (isBehind === this.#isBehind) return;
    this.#isBehind = isBehind;
    this.#assess();
  }

  /** keeps (2) */
  #assess(): void {
    const refusal = this.#storeTrouble ?? (this.#isBehind ? BEHIND : undefined);
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    this.#options.refuse(refusal);
  }

  #depose(): Deposed {
    if (this.#deposed !== undefined) return this.#deposed;
    this.#deposed = new Deposed(this.#options.owner);
    this.end(this.#deposed);
    this.#options.deposed(this.#deposed);
    return this.#deposed;
  }
}
