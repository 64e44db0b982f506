/** Makes the plan of each area from settings and tenants. */

import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import type { LogFormat } from "../../kernel/log.ts";
import { defaultLimits, RESPONSE_BYTES_MAX } from "../../messaging/settings.ts";
import { defaultVectorLimits } from "../../vector/mod.ts";
import type {
  AreaName,
  AreaPlan,
  ListenPlan,
  MessagingPlan,
  PeerLimits,
  RespPlan,
  TlsPlan,
  VectorPlan,
} from "../areas/area.ts";
import { areaPlace } from "../areas/area-place.ts";
import type { ShardPlan } from "../cluster/shard-plan.ts";
import type { EventOutput } from "../events/reporter.ts";
import { areaTenantOf } from "../tenants/administration.ts";
import type { IndexTenant, Tenant, Tenants, UserTenant } from "../tenants/tokens.ts";
import type { RunSettings } from "./run-settings.ts";
import type { SettingName } from "./settings.ts";
import { isLoopback } from "./values.ts";

export interface PlanOptions {
  readonly run: RunSettings;
  readonly tenants: Tenants;
  readonly logFormat: LogFormat;
  /** Undefined: no events are printed. */
  readonly events?: EventOutput | undefined;
  readonly version: string;
  /** Messaging makes no deliveries, and no schedule fires. */
  readonly deliveriesDisabled: boolean;
  /** The memory limit of the area. */
  readonly memoryBytesMax: number;
  /** As in `AreaPlan`. */
  readonly synced?: SharedArrayBuffer | undefined;
  /** The shard of a cluster that the area is; absent: an area of a single server. */
  readonly shard?: ShardPlan | undefined;
  /** The shards of the area, which share the threads that search; absent: 1. */
  readonly shardCount?: number;
}

/** So many users can have script states at the same time if each uses its maximum. */
const SCRIPT_STATES = 4;
/** Concurrent deliveries of all users together, unless one user may have more. */
const PARALLELISM_MIN = 2_000;

/** Whether pages of other origins can ever be allowed (edge/messaging/area.ts has the reason). */
const isForPages: Readonly<Record<AreaName, boolean>> = { store: true, vector: true, messaging: false };

const portSettings = {
  store: "storePort",
  messaging: "messagingPort",
  vector: "vectorPort",
} as const satisfies Record<AreaName, SettingName>;

export function planArea(area: AreaName, options: PlanOptions): AreaPlan {
  const { run, tenants, logFormat, version, deliveriesDisabled, memoryBytesMax, shard, shardCount = 1 } = options;
  const { settings } = run;
  const place =
    settings.dataDirectory === undefined ? undefined : areaPlace(resolve(settings.dataDirectory), area, shard?.shard);
  return {
    area,
    listen: settings.port === undefined ? listenPlan(run, portSettings[area]) : undefined,
    resp:
      area === "store" && (settings.respPort !== undefined || shard?.forwarding !== undefined)
        ? respPlan(run)
        : undefined,
    directory: place?.directory,
    nameInFiles: place?.name ?? area,
    shard,
    synced: options.synced,
    snapshots: settings.snapshots,
    freeDiskBytesMin: settings.freeDiskBytesMin,
    // Messaging acknowledges only synced messages, whatever the setting of the store.
    fsync: area === "messaging" ? "always" : settings.fsync,
    tenants: tenantsOf(area, tenants)
      .filter(({ name }) => shard?.tenants?.includes(name) ?? true)
      .map(areaTenantOf),
    memoryBytesMax,
    limits: {
      requestBytesMax: settings.requestBytesMax,
      headerBytesMax: settings.headerBytesMax,
      peers: peerLimits(run),
      memory: {
        bytesMax: settings.memoryBytesMax,
        policy: settings.evictionPolicy,
        samples: settings.evictionSamples,
      },
      memoryByDatabase: new Map(run.configuration.databases.map(({ name, memory = {} }) => [name, memory])),
      undoBytesMax: settings.undoBytesMax,
      requestsPerDayMax: settings.requestsPerDayMax,
      pendingEntriesMax: settings.pendingEntriesMax,
      requestsPerSecondMax: settings.requestsPerSecondMax,
      streamsPerTokenMax: settings.streamsPerTokenMax,
      cors: settings.cors && isForPages[area],
      queryToken: settings.queryToken,
      redisCompat: settings.redisCompat,
      scripts: {
        budgetMs: settings.scriptTimeMsMax,
        stateBytesMax: settings.scriptMemoryBytesMax,
        instanceBytesMax: settings.scriptMemoryBytesMax * SCRIPT_STATES,
      },
    },
    messaging: messagingPlan(run, deliveriesDisabled),
    vector: vectorPlan(run, shardCount),
    log: { level: settings.logLevel, format: logFormat, events: options.events },
    version,
  };
}

export function peerLimits({ settings }: RunSettings): PeerLimits {
  const { trustedProxies, connectionsPerAddressMax, bodyBytesPerSecondMin } = settings;
  return { trustedProxies, connectionsPerAddressMax, bodyBytesPerSecondMin };
}

function messagingPlan({ settings }: RunSettings, deliveriesDisabled: boolean): MessagingPlan {
  return {
    destinations: settings.destinations,
    allowedDestinations: settings.allowedDestinations,
    outboundMap: settings.outboundMap,
    limits: {
      ...defaultLimits,
      bodyBytesMax: settings.requestBytesMax,
      responseBytesMax: settings.responseBytesMax ?? Math.min(settings.requestBytesMax, RESPONSE_BYTES_MAX),
      retriesMax: settings.retriesMax,
      delayMsMax: settings.delayMsMax,
      timeoutMsMax: settings.timeoutMsMax,
      messagesPerDayMax: settings.messagesPerDayMax ?? 0,
      schedulesMax: settings.schedulesMax,
      queuesMax: settings.queuesMax,
      queueParallelismMax: settings.queueParallelismMax,
      groupsMax: settings.groupsMax,
      endpointsPerGroupMax: settings.endpointsMax,
      deadLetterRetentionMs: settings.deadLetterRetentionMs,
      stepsPerRunMax: settings.stepsPerRunMax,
      runBytesMax: settings.runBytesMax,
      invokeDepthMax: settings.invokeDepthMax,
      waitersPerEventMax: settings.waitersPerEventMax,
      lazyFetchBytes: settings.lazyFetchBytes,
      // As long as its messages are in the log.
      runRetentionMs: settings.logRetentionMs,
      userParallelism: settings.userParallelism,
      originParallelism: settings.destinationParallelism,
      parallelism: Math.max(PARALLELISM_MIN, settings.userParallelism),
    },
    logRetentionMs: settings.logRetentionMs,
    headerNames: settings.headerNames,
    region: settings.region,
    deliveriesDisabled,
  };
}

function vectorPlan({ settings }: RunSettings, shardCount: number): VectorPlan {
  // One core is for the thread that builds graphs, and for other areas.
  const threads = settings.vectorThreads ?? Math.max(1, availableParallelism() - 1);
  return {
    rows: settings.vectorRows,
    threads: Math.max(1, Math.floor(threads / shardCount)),
    limits: {
      ...defaultVectorLimits,
      topKMax: settings.topKMax,
      effortMax: settings.effortMax,
      recallTarget: settings.recallTarget,
      readsPerRequestMax: settings.readsPerRequestMax,
      writesPerRequestMax: settings.writesPerRequestMax,
      requestBytesMax: settings.vectorRequestBytesMax,
      dimensionMax: settings.dimensionMax,
      sparseValuesMax: settings.sparseValuesMax,
      metadataBytesMax: settings.metadataBytesMax,
      dataBytesMax: settings.dataBytesMax,
      namespacesMax: settings.namespacesMax,
      resumableQueriesMax: settings.resumableQueriesMax,
      queriesPerDayMax: settings.queriesPerDayMax ?? 0,
      updatesPerDayMax: settings.updatesPerDayMax ?? 0,
    },
  };
}

/** The certificate of the HTTP ports. */
export function tlsPlan({ settings, origins }: RunSettings): TlsPlan | undefined {
  const { tlsCertificatePath, tlsKeyPath } = settings;
  if (tlsCertificatePath === undefined || tlsKeyPath === undefined) return undefined;
  return {
    certificate: { path: resolve(tlsCertificatePath), place: origins.tlsCertificatePath.place },
    key: { path: resolve(tlsKeyPath), place: origins.tlsKeyPath.place },
  };
}

export function respPlan(run: RunSettings): RespPlan {
  const { settings, origins } = run;
  const { respCertificatePath, respKeyPath } = settings;
  const isEncrypted = respCertificatePath !== undefined && respKeyPath !== undefined;
  return {
    listen: settings.respPort === undefined ? undefined : listenPlan(run, "respPort"),
    connectionsMax: settings.respConnectionsMax,
    tls: isEncrypted
      ? {
          certificate: { path: resolve(respCertificatePath), place: origins.respCertificatePath.place },
          key: { path: resolve(respKeyPath), place: origins.respKeyPath.place },
        }
      : undefined,
  };
}

type PortSetting = "storePort" | "messagingPort" | "vectorPort" | "port" | "respPort";

/** The address of a listener: the host of the areas and the port of this setting. */
export function listenPlan(run: RunSettings, port: PortSetting): ListenPlan {
  return {
    host: run.settings.host,
    port: run.settings[port] ?? 0,
    portPlace: run.origins[port].place,
    hostPlace: run.origins.host.place,
    ...(port === "respPort" ? {} : { transport: run.settings.transport, http2: run.settings.http2, tls: tlsPlan(run) }),
  };
}

/**
 * The admin port speaks TLS if other machines may reach it. Nobody can eavesdrop on a loopback address, and local
 * programs (health checks, Prometheus, `larder token reset`) need not know the certificate's name.
 */
export function adminListenPlan(run: RunSettings): ListenPlan {
  const { settings, origins } = run;
  return {
    host: settings.adminHost,
    port: settings.adminPort,
    portPlace: origins.adminPort.place,
    hostPlace: origins.adminHost.place,
    transport: settings.transport,
    tls: isLoopback(settings.adminHost) ? undefined : tlsPlan(run),
  };
}

function tenantsOf(area: AreaName, tenants: Tenants): readonly (Tenant | IndexTenant | UserTenant)[] {
  if (area === "store") return tenants.databases;
  return area === "vector" ? tenants.indexes : tenants.users;
}
