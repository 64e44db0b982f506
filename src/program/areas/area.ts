/**
 * The API between the program and its areas. An area runs in the main thread or
 * in its own thread, and main calls both in the same way, so everything here is
 * plain data that can be posted between threads.
 *
 *     opening --> serving --> draining --> closed
 *     standby --> opening     in a cluster, when the node has claimed the shard
 */

import type { ClientsPage, ClientsQuery } from "../../edge/admin/clients.ts";
import type { NamespacesPage, NamespacesQuery } from "../../edge/admin/namespaces.ts";
import type { AreaOwner } from "../../edge/forward/front.ts";
import type { TransportName } from "../../edge/http/transport.ts";
import type { DestinationProfile } from "../../edge/outbound/destination-policy.ts";
import type { OutboundMap } from "../../edge/outbound/host-map.ts";
import type { LogFormat, LogLevel } from "../../kernel/log.ts";
import type { FamilySnapshot } from "../../kernel/metrics.ts";
import type { HeaderSpelling, MessagingLimits } from "../../messaging/mod.ts";
import type { RecoveryStep } from "../../persistence/recovery.ts";
import type { MemorySettings } from "../../store/memory/mod.ts";
import type { LuaLimits } from "../../store/mod.ts";
import type { RowPlacement, VectorLimits } from "../../vector/mod.ts";
import type { ForwardingKeys, ShardClaim, ShardEvent, ShardPlan } from "../cluster/shard-plan.ts";
import type { LoggedProblem } from "../events/problems.ts";
import type { EventOutput } from "../events/reporter.ts";
import type { AreaTenant, PlacedTenant, TenantChanges } from "./area-tenant.ts";

export const areaNames = ["store", "messaging", "vector"] as const;

export type AreaName = (typeof areaNames)[number];

/** How long the other areas may commit and close after a crash. */
export const CRASH_CLOSE_MS = 2_000;

/** The configuration of an area. */
export interface AreaPlan {
  readonly area: AreaName;
  /** Undefined: it has no listener, main mounts it under a prefix. */
  readonly listen: ListenPlan | undefined;
  /** For the store, if it also speaks RESP: at a port, or with other nodes of a cluster. */
  readonly resp: RespPlan | undefined;
  /** Its own part of the data directory; undefined: nothing is stored. */
  readonly directory: string | undefined;
  /** The name of the area in the headers of its files (area-place.ts). */
  readonly nameInFiles: string;
  /** The shard of a cluster that the area is; undefined: an area of a single server. */
  readonly shard: ShardPlan | undefined;
  /** Memory in which its thread shows the synced location of its journal (workers/synced-place.ts); undefined: nobody reads it. */
  readonly synced: SharedArrayBuffer | undefined;
  /** Whether snapshots are written, except those that the operator requests at the admin port. */
  readonly snapshots: boolean;
  /** Free space that new writes require; undefined: no minimum. */
  readonly freeDiskBytesMin: number | undefined;
  readonly fsync: "always" | "everysec" | "no";
  readonly tenants: readonly AreaTenant[];
  /** Heap and memory outside the heap. */
  readonly memoryBytesMax: number;
  readonly limits: AreaLimits;
  readonly messaging: MessagingPlan;
  readonly vector: VectorPlan;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat; readonly events: EventOutput | undefined };
  readonly version: string;
}

/** The plans of the shards of an area of a cluster; on a single server the plan of the area. */
export type AreaPlans = readonly [AreaPlan, ...AreaPlan[]];

/** Configuration of messaging. */
export interface MessagingPlan {
  readonly destinations: DestinationProfile;
  readonly allowedDestinations: readonly string[];
  readonly outboundMap: OutboundMap;
  readonly limits: MessagingLimits;
  readonly logRetentionMs: number;
  readonly headerNames: HeaderSpelling;
  readonly region: string;
  /** No deliveries are made and no schedule fires. */
  readonly deliveriesDisabled: boolean;
}

/** Configuration of the vector area. */
export interface VectorPlan {
  readonly limits: VectorLimits;
  /** Where the dense vectors of an index are that does not say it. */
  readonly rows: RowPlacement;
  /** Threads that search, with the one of the area. */
  readonly threads: number;
}

/** Configuration of the RESP port. */
export interface RespPlan {
  /** Undefined: only other nodes of the cluster pass connections on. */
  readonly listen: ListenPlan | undefined;
  readonly connectionsMax: number;
  /** Undefined: connections are in the clear. */
  readonly tls: TlsPlan | undefined;
}

/** Files of a certificate and its key. */
export interface TlsPlan {
  readonly certificate: NamedFile;
  readonly key: NamedFile;
}

export interface NamedFile {
  readonly path: string;
  readonly place: string;
}

export interface ListenPlan {
  readonly host: string;
  readonly port: number;
  /** The setting of the port, for the remedy in an error text. */
  readonly portPlace: string;
  readonly hostPlace: string;
  /** Absent for RESP. */
  readonly transport?: TransportName;
  /** HTTP/2 beside HTTP/1; absent for RESP and the admin port. */
  readonly http2?: boolean;
  /** Undefined: connections are in the clear. */
  readonly tls?: TlsPlan | undefined;
}

export type DatabaseMemory = Pick<MemorySettings, "bytesMax" | "policy" | "samples">;

/** Limits of peers, and the trusted proxies. */
export interface PeerLimits {
  /** Addresses and CIDR blocks. */
  readonly trustedProxies: readonly string[];
  /** Undefined: any number. */
  readonly connectionsPerAddressMax: number | undefined;
  /** Of request bodies; undefined: any rate. */
  readonly bodyBytesPerSecondMin: number | undefined;
}

export interface AreaLimits {
  readonly requestBytesMax: number;
  readonly headerBytesMax: number;
  readonly peers: PeerLimits;
  /** For each database of the store. */
  readonly memory: DatabaseMemory;
  /** Values that differ for some of them, by name. */
  readonly memoryByDatabase: ReadonlyMap<string, Partial<DatabaseMemory>>;
  /** Memory that undoing one script or transaction may take. */
  readonly undoBytesMax: number;
  readonly requestsPerDayMax: number | undefined;
  readonly pendingEntriesMax: number | undefined;
  readonly requestsPerSecondMax: number | undefined;
  /** Event streams of the store. */
  readonly streamsPerTokenMax: number;
  readonly cors: boolean;
  readonly queryToken: boolean;
  /** Whether the store has what the tests of Redis need (`store/commands/redis-compat.ts`). */
  readonly redisCompat: boolean;
  readonly scripts: Pick<LuaLimits, "budgetMs" | "stateBytesMax" | "instanceBytesMax">;
}

/** `standby`: a node of a cluster that does not own the shard of the area. */
export type AreaState = "standby" | "opening" | "serving" | "draining" | "closed";

/** The progress of an area with reading its stored data. */
export interface ReplayProgress {
  readonly step: RecoveryStep;
  /** Sum of snapshot and journal. */
  readonly doneBytes: number;
  readonly totalBytes: number;
}

/** The events that an area reports. */
export interface AreaEvents {
  state(state: AreaState): void;
  /** The progress of the replay, while it opens; undefined: it has ended. */
  replayed(progress: ReplayProgress | undefined): void;
  /** Why new writes are refused (disk full); undefined: they are accepted again. */
  trouble(reason: string | undefined): void;
  /** Enough was written to justify a snapshot: of this shard, if the area has several. */
  snapshotDue(shard?: number): void;
  /** A client requested a snapshot: of this shard, if the area has several. */
  snapshotRequested(shard?: number): void;
  /** Of an area that is a shard. */
  shard(event: ShardEvent): void;
  /** Its thread has logged a warning or an error. An area in main logs to main's own log. */
  problem(problem: LoggedProblem): void;
}

/** The ports that an area listens on. */
export interface OpenPorts {
  readonly port: number | undefined;
  readonly respPort: number | undefined;
  /** Where other nodes forward requests to; absent: nowhere. */
  readonly clusterPort?: number | undefined;
}

/** A shard, and who serves it. */
export interface FollowedShard {
  readonly shard: number;
  readonly owner: AreaOwner;
}

/** The life of an area. */
export interface AreaControl {
  /** Binds the ports, which answer 503 until it serves, and returns the real ports. Rejects with a `StartRefusal`. */
  bind(): Promise<OpenPorts>;
  /**
   * Recovers the stored data, then serves. A shard needs its claim. Rejects with a `StartRefusal` if the operator has to
   * fix something.
   */
  open(claim?: ShardClaim): Promise<void>;
  /** Of a shard: a renewal has returned that was sent after its event with this number. */
  confirmed(event: { readonly shard: number; readonly id: number }): Promise<void>;
  /** Of a shard, on a node that forwards requests: another node serves it from now on, or none. */
  follow(shard: FollowedShard): Promise<void>;
  /** Of a shard, on a node that forwards requests: the keys by which nodes know each other from now on. */
  replaceKeys(keys: ForwardingKeys): Promise<void>;
  /**
   * Of a node of a cluster. Resolves when the tokens are those of the changes on each shard that the node serves, and will be
   * on one that it opens, with the removed tenants, and those that have left, of whom a served shard has no data any more,
   * durably.
   */
  changeTenants(changes: TenantChanges): Promise<readonly PlacedTenant[]>;
  /** A shard will be released soon: ends its open segment, so that its next owner can read that before. */
  prepareRelease(shard: number): Promise<void>;
  /**
   * Ends the service of a shard: requests for it go to its next owner, those under way have `graceMs`, and everything that it
   * has accepted is written and synced.
   */
  release(shard: { readonly shard: number; readonly graceMs: number }): Promise<void>;
  /** Stops accepting, waits up to `graceMs` for pending requests, writes and syncs the rest, and closes. */
  close(graceMs: number): Promise<void>;
  figures(): Promise<readonly FamilySnapshot[]>;
}

/** The memory of a tenant's data, as its engine counts it for the limit of the thread. */
export interface TenantMemory {
  readonly name: string;
  readonly memoryBytes: number;
}

/** The index, which of its namespaces a page has, and how many. */
export type WantedNamespaces = NamespacesQuery & { readonly index: string; readonly count: number };

/** The data of a serving area, and its tenants. */
export interface AreaData {
  /** Empties the area (dev). Resolves when that is durable. */
  reset(): Promise<void>;
  /** Tenants that have data: on this shard, or on all that the area serves. */
  tenantNames(shard?: number): Promise<readonly string[]>;
  /** The same tenants with their memory, on all shards that the area serves. */
  tenantMemory(): Promise<readonly TenantMemory[]>;
  /** Of the vector area: a page of the namespaces of an index; undefined if the area does not serve the index. */
  namespaces?(wanted: WantedNamespaces): Promise<NamespacesPage | undefined>;
  /** Replaces all tokens of a tenant. */
  setTokens(tenant: AreaTenant): Promise<void>;
  /** Removes a tenant, its tokens and its data. Resolves when that is durable. */
  dropTenant(name: string): Promise<void>;
  /**
   * Fills a directory with everything that was acknowledged before, durably: links to files that no longer change.
   * Resolves with the position up to which it is complete.
   */
  backUp(target: string): Promise<number>;
}

/** Which clients a page has, and how many. */
export type WantedClients = ClientsQuery & { readonly count: number };

/** The clients that are connected to the area: those of the RESP port of the store. */
export interface AreaClients {
  /** A page of them, by id. */
  list(query: WantedClients): Promise<ClientsPage>;
  /** Ends the connection of a client, as CLIENT KILL does. False: no client has this id. */
  kill(id: number): Promise<boolean>;
}

/** The area's side of a snapshot that another process writes. */
export interface AreaSnapshots {
  /** Closes the current segment, so that a snapshot can be made of the segments before it; of several shards, of this one. */
  prepareSnapshot(shard?: number): Promise<void>;
  /**
   * Notes the result of the snapshot process, which was prepared last; after a success, drops superseded files. True: enough was
   * written meanwhile that the next one is due.
   */
  finishSnapshot(isWritten: boolean): Promise<boolean>;
}

/** The calls of main to an area. All return promises, because the area may be in another thread. */
export interface AreaApi {
  readonly control: AreaControl;
  readonly data: AreaData;
  readonly snapshots: AreaSnapshots;
  readonly clients: AreaClients;
}
