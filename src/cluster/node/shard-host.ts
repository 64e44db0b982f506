/** What a node needs of the part of the program that has engines. */
import type { ClaimedShard, SegmentView, ShardEpoch } from "../log-store/log-store.ts";
import type { Suspension } from "./suspension.ts";
import type { SeenChanges } from "./watched-cluster.ts";

/** A shard that this node has claimed. */
export interface TakenShard extends ShardEpoch, Pick<ClaimedShard, "hashSeed" | "snapshot"> {
  /** Its log, as it was after the claim: nobody but this node adds to it any more. */
  readonly segments: readonly SegmentView[];
  /** The time of its engines never runs before it (engine-clock.ts); 0 if there is no such time. */
  readonly floorMs: number;
  /** Its appends report to it, and its writes and calls ask it. */
  readonly suspension: Suspension;
}

export interface ShardHost {
  /** Recovers a shard and serves it. If it cannot be recovered, rejects and forgets it. */
  load(shard: TakenShard): Promise<void>;
  /** A shard will be released soon, and is served until then: its heir may read now what does not change any more. */
  announced?(shard: ShardEpoch): void;
  /**
   * Ends the service of a shard: new requests wait or are refused, its calls end, and everything that it accepted has been
   * committed. It is released when this resolves.
   */
  unload(shard: ShardEpoch): Promise<void>;
  /** Whether this node can serve a shard: it may have been added after the node started. Absent: it can serve all. */
  knows?(shard: number): boolean;
  /** Whether a shard may move to its heir now, or has users whom a move would cut off. */
  mayMove(shard: number): boolean;
  /** The nodes and shards, as the store had them a moment ago: for what may be wrong. Called after each poll. */
  saw?(seen: SeenChanges): void;
  /** The node has lost its life or a shard. Nothing can be kept: the process must end. */
  lost(reason: string): void;
}
