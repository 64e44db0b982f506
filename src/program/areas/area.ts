/**
 * What the program and its areas say to each other. An area runs in the main
 * thread or in one of its own, and main asks both in the same way, so everything
 * here is plain data that can be posted between threads.
 *
 *     opening --> serving --> draining --> closed
 */

import type { TokenFor } from "../../edge/auth.ts";
import type { DestinationProfile } from "../../edge/outbound/destination-policy.ts";
import type { OutboundMap } from "../../edge/outbound/host-map.ts";
import type { LogFormat, LogLevel } from "../../kernel/log.ts";
import type { FamilySnapshot } from "../../kernel/metrics.ts";
import type { HeaderSpelling, MessagingLimits } from "../../messaging/mod.ts";
import type { RecoveryStep } from "../../persistence/recovery.ts";
import type { MemorySettings } from "../../store/memory/mod.ts";
import type { LuaLimits } from "../../store/mod.ts";
import type { VectorLimits } from "../../vector/mod.ts";
import type { IndexPlan } from "../settings/index-settings.ts";

export const areaNames = ["store", "messaging", "vector"] as const;

export type AreaName = (typeof areaNames)[number];

/** How long the rest may commit and close when something has crashed. */
export const CRASH_CLOSE_MS = 2_000;

export interface AreaTenant {
  readonly name: string;
  readonly tokens: readonly TokenFor[];
  /** Of a messaging user. */
  readonly signingKeys?: { readonly current: string; readonly next: string };
  /** Of an index: what it is, and who embeds its texts. */
  readonly index?: IndexPlan;
}

/** All that an area needs to know to run. */
export interface AreaPlan {
  readonly area: AreaName;
  /** Undefined: it has no listener, main mounts it below a prefix. */
  readonly listen: ListenPlan | undefined;
  /** Of the store, when it speaks RESP too. */
  readonly resp: RespPlan | undefined;
  /** Its own part of the data directory; undefined: nothing is kept. */
  readonly directory: string | undefined;
  /** So much space has to be left for new writes; undefined: any. */
  readonly freeDiskBytesMin: number | undefined;
  readonly fsync: "always" | "everysec" | "no";
  readonly tenants: readonly AreaTenant[];
  /** Heap and what lies outside of it. */
  readonly memoryBytesMax: number;
  readonly limits: AreaLimits;
  readonly messaging: MessagingPlan;
  readonly vector: VectorPlan;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly version: string;
}

/** What only messaging goes by. */
export interface MessagingPlan {
  readonly destinations: DestinationProfile;
  readonly allowedDestinations: readonly string[];
  readonly outboundMap: OutboundMap;
  readonly limits: MessagingLimits;
  readonly logRetentionMs: number;
  readonly headerNames: HeaderSpelling;
  readonly region: string;
  /** Nothing is called and no schedule fires. */
  readonly deliveriesDisabled: boolean;
}

/** What only the vector area goes by. */
export interface VectorPlan {
  readonly limits: VectorLimits;
}

/** Where and how the store speaks RESP over TCP. */
export interface RespPlan {
  readonly listen: ListenPlan;
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
  /** The setting that named the port, for a refusal that says what to change. */
  readonly portPlace: string;
  readonly hostPlace: string;
  /** Undefined: connections are in the clear. */
  readonly tls?: TlsPlan | undefined;
}

export type DatabaseMemory = Pick<MemorySettings, "bytesMax" | "policy" | "samples">;

/** What peers may do, and which of them speak for others. */
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
  /** What is different for some of them, by name. */
  readonly memoryByDatabase: ReadonlyMap<string, Partial<DatabaseMemory>>;
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

export type AreaState = "opening" | "serving" | "draining" | "closed";

/** How far an area is with reading what it keeps. */
export interface ReplayProgress {
  readonly step: RecoveryStep;
  /** Of snapshot and journal together. */
  readonly doneBytes: number;
  readonly totalBytes: number;
}

/** What an area reports without being asked. */
export interface AreaEvents {
  state(state: AreaState): void;
  /** How far the reading of what is kept is, while it opens; undefined: it is over. */
  replayed(progress: ReplayProgress | undefined): void;
  /** Why no new write may start (disk full), or undefined when they may again. */
  trouble(reason: string | undefined): void;
  /** Enough was written that a snapshot is worth its while. */
  snapshotDue(): void;
}

/** The ports that an area listens on. */
export interface OpenPorts {
  readonly port: number | undefined;
  readonly respPort: number | undefined;
}

/** The life of an area. */
export interface AreaControl {
  /** Binds the ports, where it answers 503 for now, and returns the real ones. Rejects with a `StartRefusal`. */
  bind(): Promise<OpenPorts>;
  /** Recovers what is stored, then serves. Rejects with a `StartRefusal` for what the operator has to put right. */
  open(): Promise<void>;
  /** Stops accepting, waits up to `graceMs` for what is being answered, writes and syncs the rest, and closes. */
  close(graceMs: number): Promise<void>;
  figures(): Promise<readonly FamilySnapshot[]>;
}

/** The data of an area that serves, and whose it is. */
export interface AreaData {
  /** Empties the area (dev). Resolves when that is safe. */
  reset(): Promise<void>;
  /** Tenants that have data. */
  tenantNames(): Promise<readonly string[]>;
  /** Makes a tenant's tokens these and no others. */
  setTokens(tenant: AreaTenant): Promise<void>;
  /** Removes a tenant, its tokens and its data. Resolves when that is safe. */
  dropTenant(name: string): Promise<void>;
  /**
   * Fills a directory with everything that was acknowledged before, durably: links to files that do not change any more.
   * Resolves with the position up to which it has everything.
   */
  backUp(target: string): Promise<number>;
}

/** The area's side of a snapshot that another process writes. */
export interface AreaSnapshots {
  /** Closes the segment that is being written, so that a snapshot can be made of what is before it. */
  prepareSnapshot(): Promise<void>;
  /**
   * Takes note of how the snapshot process ended; after a success drops what it made superfluous. True: enough was
   * written meanwhile that the next one is due.
   */
  finishSnapshot(isWritten: boolean): Promise<boolean>;
}

/** What main may ask of an area. Every answer comes by promise, because the area may be in another thread. */
export interface AreaApi {
  readonly control: AreaControl;
  readonly data: AreaData;
  readonly snapshots: AreaSnapshots;
}
