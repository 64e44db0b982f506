/** What an area that is a shard of a cluster needs: plain data, because the area may be in another thread. */

import type { SnapshotPointer } from "../../cluster/log-store/log-store.ts";
import type { NamedKey } from "../../edge/http/shared-key.ts";
import type { TransportName } from "../../edge/http/transport.ts";
import type { TenantsAtOpen } from "../areas/area-tenant.ts";
import type { ConnectionPlan } from "./connection-plan.ts";

export interface ShardPlan {
  readonly shard: number;
  /** The names of the tenants that live on it; undefined: all of the area, which has one shard. */
  readonly tenants: readonly string[] | undefined;
  /** The same for all owners, so that cursors of scans outlive them. */
  readonly hashSeed: Uint8Array;
  /** The id of the cluster, which names its objects. */
  readonly cluster: string;
  /** The id of the database's branch, by which files of another one are known. */
  readonly branch: string;
  readonly connection: ConnectionPlan;
  /** The lease of the node, which the main thread extends. */
  readonly leaseMemory: SharedArrayBuffer;
  readonly reads: "lease" | "confirm";
  /** What answers call this node; undefined: they do not name it. */
  readonly ownerName: string | undefined;
  /** How nodes forward requests; undefined: this node does not take part. */
  readonly forwarding: ForwardingPlan | undefined;
}

export interface ForwardingPlan {
  /** Those at the start of the node. */
  readonly keys: ForwardingKeys;
  /** Where the area accepts forwarded requests; port 0: any free port. */
  readonly host: string;
  readonly port: number;
  /** The setting of that address, for the remedy in an error text. */
  readonly place: string;
  readonly transport: TransportName;
  /** How long a request waits for an owner of the area. */
  readonly waitMs: number;
}

/** The keys by which the nodes of a cluster know each other. */
export interface ForwardingKeys {
  /** What this node shows to others. */
  readonly offered: NamedKey;
  /** What others may show. */
  readonly accepted: readonly NamedKey[];
}

/** A claim of a shard that was committed. */
export interface ShardClaim {
  readonly shard: number;
  readonly epoch: number;
  readonly snapshot: SnapshotPointer | undefined;
  /** The time of the engine is never before it. */
  readonly floorMs: number;
  /** Its tenants that are not in its plan. */
  readonly tenants: TenantsAtOpen;
}

/** What the area of a shard reports to the main thread. */
export type ShardEvent = ShardReport & { readonly shard: number };

export type ShardReport =
  /** Replies wait for a renewal that is sent now or later: `AreaControl.confirmed` with this number, which is of the shard. */
  | { readonly kind: "confirm"; readonly id: number }
  /** Why the store of the log takes no writes now; undefined: it takes them again. */
  | { readonly kind: "refusing"; readonly reason: string | undefined }
  /** Why its snapshots cannot be read from the object store or written to it; undefined: they can again. */
  | { readonly kind: "objects"; readonly reason: string | undefined }
  /** Another node has claimed the shard: the process must end. */
  | { readonly kind: "lost"; readonly reason: string };
