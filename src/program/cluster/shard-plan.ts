/** What an area that is a shard of a cluster needs: plain data, because the area may be in another thread. */
import type { SnapshotPointer } from "../../cluster/log-store/log-store.ts";
import type { ConnectionPlan } from "./connection-plan.ts";

export interface ShardPlan {
  readonly shard: number;
  /** The names of the tenants that live on it; undefined: all of the area, which has one shard. */
  readonly tenants: readonly string[] | undefined;
  /** The same for all owners, so that cursors of scans outlive them. */
  readonly hashSeed: Uint8Array;
  /** The id of the database's branch, by which files of another one are known. */
  readonly branch: string;
  readonly connection: ConnectionPlan;
  /** The lease of the node, which the main thread extends. */
  readonly leaseMemory: SharedArrayBuffer;
  readonly reads: "lease" | "confirm";
  /** The name of this node. */
  readonly node: string;
  /** How nodes forward requests; undefined: this node does not take part. */
  readonly forwarding: ForwardingPlan | undefined;
}

export interface ForwardingPlan {
  /** Proves that a request was forwarded by a node of the cluster. */
  readonly key: Uint8Array;
  /** Where the area accepts forwarded requests; port 0: any free port. */
  readonly host: string;
  readonly port: number;
  /** The setting of that address, for the remedy in an error text. */
  readonly place: string;
  /** How long a request waits for an owner of the area. */
  readonly waitMs: number;
}

/** A claim of a shard that was committed. */
export interface ShardClaim {
  readonly shard: number;
  readonly epoch: number;
  readonly snapshot: SnapshotPointer | undefined;
  /** The time of the engine is never before it. */
  readonly floorMs: number;
}

/** What the area of a shard reports to the main thread. */
export type ShardEvent = ShardReport & { readonly shard: number };

export type ShardReport =
  /** Replies wait for a renewal that is sent now or later: `AreaControl.confirmed` with this number, which is of the shard. */
  | { readonly kind: "confirm"; readonly id: number }
  /** Why the store of the log takes no writes now; undefined: it takes them again. */
  | { readonly kind: "refusing"; readonly reason: string | undefined }
  /** Another node has claimed the shard: the process must end. */
  | { readonly kind: "lost"; readonly reason: string };
