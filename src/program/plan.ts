/** From settings and tenants to the plan of each area. */
import { resolve } from "node:path";
import type { LogFormat } from "../kernel/log.ts";
import { areaDirectory } from "../persistence/data-directory.ts";
import { areaTenantOf } from "./administration.ts";
import type { AreaName, AreaPlan, ListenPlan } from "./area.ts";
import type { RunSettings } from "./read-settings.ts";
import type { SettingName } from "./settings.ts";
import type { Tenants } from "./tokens.ts";

export interface PlanOptions {
  readonly run: RunSettings;
  readonly tenants: Tenants;
  readonly logFormat: LogFormat;
  readonly version: string;
}

const portSettings = {
  store: "storePort",
  messaging: "messagingPort",
  vector: "vectorPort",
} as const satisfies Record<AreaName, SettingName>;

export function planArea(area: AreaName, { run, tenants, logFormat, version }: PlanOptions): AreaPlan {
  const { settings } = run;
  return {
    area,
    listen: settings.port === undefined ? listenPlan(run, portSettings[area]) : undefined,
    directory: settings.dataDirectory === undefined ? undefined : areaDirectory(resolve(settings.dataDirectory), area),
    // Messaging acknowledges only what is synced, whatever the store does.
    fsync: area === "messaging" ? "always" : settings.fsync,
    tenants: tenantsOf(area, tenants).map(areaTenantOf),
    limits: {
      requestBytesMax: settings.requestBytesMax,
      headerBytesMax: settings.headerBytesMax,
      memory: {
        bytesMax: settings.memoryBytesMax,
        policy: settings.evictionPolicy,
        samples: settings.evictionSamples,
      },
      requestsPerDayMax: settings.requestsPerDayMax,
      requestsPerSecondMax: settings.requestsPerSecondMax,
      cors: settings.cors,
      queryToken: settings.queryToken,
      redisCompat: settings.redisCompat,
    },
    log: { level: settings.logLevel, format: logFormat },
    version,
  };
}

/** Where a port is listened on: the host of the areas and the port of this setting. */
export function listenPlan(run: RunSettings, port: "storePort" | "messagingPort" | "vectorPort" | "port"): ListenPlan {
  return {
    host: run.settings.host,
    port: run.settings[port] ?? 0,
    portPlace: run.origins[port].place,
    hostPlace: run.origins.host.place,
  };
}

export function adminListenPlan({ settings, origins }: RunSettings): ListenPlan {
  return {
    host: settings.adminHost,
    port: settings.adminPort,
    portPlace: origins.adminPort.place,
    hostPlace: origins.adminHost.place,
  };
}

function tenantsOf(area: AreaName, tenants: Tenants): Tenants["databases"] {
  if (area === "store") return tenants.databases;
  return area === "vector" ? tenants.indexes : tenants.users;
}
