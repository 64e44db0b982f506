/**
 * What the nodes of a cluster share: who lives, who owns a shard, and the
 * journals and snapshots of the shards.
 *
 * (1) Only the claimant of the highest epoch of a shard changes its log and its
 *     snapshots: each of these calls locks and compares the epoch in the same
 *     transaction, and returns `deposed` if another has claimed the shard.
 * (2) A call that returns has been committed as safely as the store promises. A
 *     call that throws `DoubtfulOutcome` may have been carried out, may still be
 *     carried out, or neither. Each call may be repeated: the repetition returns
 *     what the first would have returned, and only its return proves the commit.
 * (3) Nothing is decided by the clock of the store.
 */

/** The end of a call is unknown: its connection was lost, or it was committed here but perhaps nowhere else. */
export class DoubtfulOutcome extends Error {
  override name = "DoubtfulOutcome";
}

/** The store has no space left. The call was undone. */
export class StoreFull extends Error {
  override name = "StoreFull";
}

/** A snapshot cannot be completed, because the store lacks parts of it. The call was undone. */
export class SnapshotIncomplete extends Error {
  override name = "SnapshotIncomplete";
}

/** A node from one start of its process to the end of it. `life` is a UUID, drawn at the start. */
export interface NodeRegistration {
  readonly name: string;
  readonly life: string;
  /** A life of the same data directory that is certain to have ended: the lock of the directory proves it. */
  readonly formerLife: string | undefined;
  /** Where other nodes reach it. */
  readonly address: string;
  /** The newest format of journals that it reads and writes; that of a front is in `node/placement.ts`. */
  readonly format: number;
  /** The time of its engines. */
  readonly clockMs: number;
  /** The last change of tenants at run time that it has; undefined: it can follow none. */
  readonly tenantsSeen?: number | undefined;
  /** The check values of the keys of the cluster that it has, one after the other; absent: it has none. */
  readonly keyChecks?: Buffer | undefined;
}

/**
 * A time that a node reports is replaced by the one that was known before if that is later by at most this much, so that
 * no owner of a shard sees its time run back. One that is later by more was an error of a clock.
 */
export const SET_BACK_MS_MAX = 5_000;

export interface Renewal {
  readonly beat: number;
  /** The clock of the store: for a warning about skew, and for nothing else. */
  readonly storeClockMs: number;
  /** The shards that this life owns. */
  readonly owned: readonly ShardEpoch[];
}

export interface ShardEpoch {
  readonly shard: number;
  readonly epoch: number;
}

export interface NodeView {
  readonly name: string;
  readonly life: string;
  /** Grows with each renewal. */
  readonly beat: number;
  readonly isDead: boolean;
  readonly address: string;
  readonly format: number;
  /** Whether an administrator wants it to own no shard. Kept when the node starts again. */
  readonly isDrained: boolean;
  /** The number of the newest key of the cluster that it accepts from other nodes. */
  readonly keyNumber: number;
}

export interface ShardView extends ShardEpoch {
  readonly area: string;
  /** A life. */
  readonly owner: string | undefined;
  /** The name of the last node that owned it. */
  readonly ownerName: string | undefined;
  /** The name of the node that it was released for, or will be. */
  readonly heir: string | undefined;
  /** The name of the node that should own it, whatever the other rules say. */
  readonly pin: string | undefined;
  /** The newest format of those who owned it. */
  readonly writerFormat: number;
  /** Claims since it was last recovered. */
  readonly tries: number;
  /** A command replaces its contents: its owner releases it, and nobody claims it. Absent: no. */
  readonly isHeld?: boolean;
}

export interface ClusterView {
  /** The number of the newest key by which nodes know each other; 0 for the first one, and without nodes. */
  readonly keyNumber: number;
  readonly nodes: readonly NodeView[];
  readonly shards: readonly ShardView[];
  /** The version of the last change of tenants at run time. */
  readonly tenants: number;
}

/** The row of a shard in a view, whose shards are in the order of their numbers. */
export function shardIn({ shards }: Pick<ClusterView, "shards">, shard: number): ShardView | undefined {
  let low = 0;
  let high = shards.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((shards[middle]?.shard ?? shard) < shard) low = middle + 1;
    else high = middle;
  }
  return shards[low]?.shard === shard ? shards[low] : undefined;
}

/** A node with the number by which its beats name it: it stays with the name. */
export interface NumberedNode extends NodeView {
  readonly number: number;
}

/** The difference between the state that a reader has and that of the store. */
export interface ClusterChanges {
  /** Of the state of the store: an argument of the next call, which only the store can read. */
  readonly position: string;
  /** Whether this is the whole state, and not only what changed. */
  readonly isWhole: boolean;
  /** As in `ClusterView`. */
  readonly keyNumber: number;
  readonly tenants: number;
  /** Of each node that is not dead, whether it changed or not. */
  readonly beats: readonly (readonly [number: number, beat: number])[];
  /** Nodes of which anything but the beat changed, by their names. */
  readonly nodes: readonly NumberedNode[];
  /** Shards that changed, by their numbers. */
  readonly shards: readonly ShardView[];
}

export interface Claim {
  readonly shard: number;
  /** The epoch that the claimant saw. */
  readonly epoch: number;
  readonly life: string;
  readonly format: number;
}

export interface ClaimedShard {
  readonly epoch: number;
  /** The last time that the former owner reported; 0 without one. */
  readonly floorMs: number;
  readonly hashSeed: Buffer;
  readonly snapshot: SnapshotPointer | undefined;
}

/** The latest complete snapshot of a shard. */
export interface SnapshotPointer {
  /** The epoch of its writer. */
  readonly epoch: number;
  /** The first segment that it does not cover. */
  readonly number: number;
  /** 0 for a snapshot that is an object. */
  readonly parts: number;
  readonly bytes: number;
  /** Where it is if it is not in parts. */
  readonly object?: SnapshotObject;
}

/** A snapshot in an object store. */
export interface SnapshotObject {
  /** Of the store. */
  readonly address: string;
  readonly name: string;
}

/** The bytes of a segment from `start` on; they are one row of the log. */
export interface LogRow {
  readonly segment: number;
  readonly start: number;
  readonly bytes: Buffer;
}

export interface Append extends ShardEpoch, LogRow {
  /**
   * The start of the row before it in the segment; `start` itself for the first row, whose start is 0. Before that one is
   * the segment before, or the latest snapshot if it covers everything before the segment.
   */
  readonly before: number;
}

/**
 * `missing`: what is before it does not exist, so the store has lost what it acknowledged, or the latest snapshot covers
 * the segment. `foreign`: another row is in its place.
 */
export type AppendOutcome = "committed" | "deposed" | "missing" | "foreign";

export type FencedOutcome = "committed" | "deposed";

/** `uncovered`: the latest snapshot does not cover all of the segments, and nothing was removed. */
export type RemovalOutcome = FencedOutcome | "uncovered";

/** A segment in the log. */
export interface SegmentView {
  readonly segment: number;
  /** Of its first row. */
  readonly epoch: number;
  readonly bytes: number;
}

/** How far the log of a shard has come, for a node that follows it. */
export interface ShardHead extends ShardEpoch {
  readonly snapshot: SnapshotPointer | undefined;
  /** Of the segments in the log; 0 while it is empty. */
  readonly firstSegment: number;
  readonly lastSegment: number;
  /** The bytes of the last segment. */
  readonly lastBytes: number;
}

export interface SnapshotPart extends ShardEpoch {
  readonly number: number;
  readonly part: number;
  readonly bytes: Buffer;
}

export interface LogStore {
  /** Adds shards. Existing ones are kept. */
  addShards(shards: readonly { shard: number; area: string; hashSeed: Buffer }[]): Promise<void>;
  /** Returns false if another life of that name is not dead, or if this one is. */
  register(node: NodeRegistration): Promise<boolean>;
  /** Proves that the node may continue. Undefined if its life was declared dead: then its process must end. */
  renew(life: string, clockMs: number): Promise<Renewal | undefined>;
  watch(): Promise<ClusterView>;
  /**
   * What changed since the position of an earlier answer, also what began before that answer and was committed after it.
   * Whole without a position, and with that of another server of the store, which may have had changes that this one
   * lacks.
   */
  watchChanges(position?: string): Promise<ClusterChanges>;
  /** A life accepts the key with this number from now on. */
  noteKey(life: string, keyNumber: number): Promise<void>;
  /** Returns the last `clockMs` of that life, or undefined if it has renewed since that beat. */
  declareDead(life: string, beat: number): Promise<number | undefined>;
  /** Undefined if the shard has another epoch, an owner that is not dead, or a newer format, or if the claimant is dead. */
  claim(claim: Claim): Promise<ClaimedShard | undefined>;
  /** The claimant has recovered the shard. A claim counts as a try until then, so a recovery that ends its process does. */
  recovered(shard: ShardEpoch): Promise<FencedOutcome>;
  /** Says that a shard will be released for the node `heir`, so that nodes look for that more often. Decides nothing. */
  announce(shard: ShardEpoch, heir: string): Promise<FencedOutcome>;
  /** Gives a shard up, preferably to the node `heir`. */
  release(shard: ShardEpoch, heir: string | undefined): Promise<FencedOutcome>;
  /** Says which node should own a shard; undefined: the usual rules. For administrators, so not fenced. */
  pin(shard: number, node: string | undefined): Promise<void>;
  /** Says whether a node should own no shard. For administrators, so not fenced. Without effect for an unknown node. */
  setDrained(node: string, isDrained: boolean): Promise<void>;
  /** Forgets the tries of a shard. For administrators, so not fenced. */
  forgetTries(shard: number): Promise<void>;
  append(append: Append): Promise<AppendOutcome>;
  segments(shard: number): Promise<readonly SegmentView[]>;
  /** Of those shards that exist, by their numbers. */
  heads(shards: readonly number[]): Promise<readonly ShardHead[]>;
  /** The rows of a segment from the byte `start` on, up to about `bytesMax` of them and at least one if there is one. */
  read(shard: number, segment: number, start: number, bytesMax: number): Promise<readonly LogRow[]>;
  /** Removes the rows of a segment from the byte `start` on: the rest of a batch that was never acknowledged. */
  cut(shard: ShardEpoch, segment: number, start: number): Promise<FencedOutcome>;
  /** Removes all rows of segments that the latest snapshot covers. */
  removeSegments(shard: ShardEpoch, segments: readonly number[]): Promise<RemovalOutcome>;
  /** Writes one part of a snapshot that is not the latest one until `completeSnapshot`. */
  putSnapshotPart(part: SnapshotPart): Promise<FencedOutcome>;
  /** The address of the object store that snapshots go to; undefined: they go into parts. */
  filesAddress(): Promise<string | undefined>;
  /**
   * Makes a snapshot the latest one, and removes the parts of all others. Throws `SnapshotIncomplete` if one of its parts is
   * missing. An object of it must be there.
   */
  completeSnapshot(shard: ShardEpoch, snapshot: Omit<SnapshotPointer, "epoch">): Promise<FencedOutcome>;
  /** Undefined if there is no such part. */
  readSnapshotPart(shard: number, snapshot: SnapshotPointer, part: number): Promise<Buffer | undefined>;
}
