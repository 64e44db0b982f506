/**
 * The larder that `larder import` and `larder export` use: the one that uses the
 * data directory. They call it over HTTP, with clients of its areas.
 *
 *     a server has the data directory locked    its addresses are in the directory, as soon as it serves
 *     the data directory is not in use          a server is started here, on free ports of the loopback, and stopped
 *                                               by `close`
 *
 * A server that is started here makes no deliveries and fires no schedule. Work
 * that falls due meanwhile is due at the next start.
 */
import { join, resolve } from "node:path";
import { systemClock } from "../kernel/clock.ts";
import { DirectoryInUse } from "../persistence/errors.ts";
import type { Addresses } from "../program/cli/env-block.ts";
import { awaitServing, usedDirectory } from "../program/cli/running-server.ts";
import { readTokensFile } from "../program/directory/data-directory.ts";
import { StartRefusal } from "../program/refusal.ts";
import { Server } from "../program/server.ts";
import type { RunSettings } from "../program/settings/run-settings.ts";
import type { SettingName } from "../program/settings/settings.ts";
import { formatFor, stderrLog } from "../program/stderr.ts";
import { TOKENS_FILE } from "../program/tenants/stored-tokens.ts";
import { resolveTenants, type Tenant, type Tenants } from "../program/tenants/tokens.ts";
import { AreaClient } from "./area-client.ts";

export interface TargetOptions {
  readonly run: RunSettings;
  readonly version: string;
  /** Whether an unused data directory is created; otherwise it is refused, because it has no data. */
  readonly isMade: boolean;
}

export interface Target {
  /** The data directory, absolute. */
  readonly directory: string;
  /** Whether this command created the data directory. */
  readonly isNew: boolean;
  readonly addresses: Omit<Addresses, "resp">;
  readonly tenants: Tenants;
  /** The most bytes of a request, by this command's settings: a running server may have others. */
  readonly requestBytesMax: number;
  /** A client with the standard token of a tenant; `close` closes it too. Throws a `StartRefusal`. */
  client(area: TargetArea, name?: string): AreaClient;
  close(): Promise<void>;
}

export type TargetArea = "store" | "vector" | "messaging";

const tenantKinds = {
  store: { list: "databases", word: "database", setting: "storeToken" },
  vector: { list: "indexes", word: "index", setting: "vectorToken" },
  messaging: { list: "users", word: "messaging user", setting: "messagingToken" },
} as const satisfies Record<TargetArea, { list: keyof Tenants; word: string; setting: SettingName }>;

/** A server for one command accepts the largest possible requests: it has no other clients. */
const REQUEST_BYTES_MAX = 128 * 1024 * 1024;

/** Rejects with a `StartRefusal`. */
export async function openTarget(options: TargetOptions): Promise<Target> {
  const directory = directoryOf(options);
  const server = serverFor(options);
  try {
    const addresses = await server.open();
    const { tenants } = server;
    const end = (): Promise<void> => server.close();
    const { isNew } = server.directory;
    return targetOf(options.run, { directory, isNew, addresses, tenants, requestBytesMax: REQUEST_BYTES_MAX, end });
  } catch (fault) {
    await server.close(0).catch(() => {});
    if (!(fault instanceof StartRefusal && fault.cause instanceof DirectoryInUse)) throw fault;
  }
  return runningTarget(options.run, directory);
}

function directoryOf({ run, isMade }: TargetOptions): string {
  return isMade ? resolve(run.settings.dataDirectory ?? "") : usedDirectory(run);
}

function serverFor({ run, version }: TargetOptions): Server {
  const { settings, origins } = run;
  const logFormat = formatFor(settings.logFormat);
  const log = stderrLog(origins.logLevel.source === "default" ? "warn" : settings.logLevel, logFormat);
  const own = {
    ...settings,
    host: "127.0.0.1",
    adminHost: "127.0.0.1",
    port: undefined,
    tlsCertificatePath: undefined,
    tlsKeyPath: undefined,
    http2: false,
    storePort: 0,
    vectorPort: 0,
    messagingPort: 0,
    adminPort: 0,
    respPort: undefined,
    redisCompat: false,
    requestBytesMax: REQUEST_BYTES_MAX,
    requestsPerSecondMax: undefined,
    requestsPerDayMax: undefined,
    // Of new keys they save a start nothing, and one that is under way at the end is lost. The next server makes one if it is due.
    snapshots: false,
  };
  return new Server({
    run: { ...run, settings: own },
    version,
    log,
    logFormat,
    clock: systemClock,
    deliveriesDisabled: true,
    onCrash: () => process.exit(1),
  });
}

/** The larder that has the directory locked. */
async function runningTarget(run: RunSettings, directory: string): Promise<Target> {
  const serving = await awaitServing(run, directory);
  const path = join(directory, TOKENS_FILE);
  const stored = readTokensFile(path) ?? {};
  const { tenants, problems } = resolveTenants({ ...run, command: serving.command }, stored);
  if (problems.length > 0) throw new StartRefusal(problems.join("\n"), 2);
  // A secret generated here is not a token of the server: `client` refuses it.
  const known = new Set(secretsOf(stored));
  const isKnown = (token: string): boolean => known.has(token);
  const { addresses } = serving;
  const { requestBytesMax } = run.settings;
  return targetOf(run, { directory, isNew: false, addresses, tenants, requestBytesMax, isKnown, end: async () => {} });
}

function secretsOf(tokens: object): readonly string[] {
  return Object.values(tokens).flatMap((value: unknown) => {
    if (typeof value === "string") return [value];
    return typeof value === "object" && value !== null ? secretsOf(value) : [];
  });
}

interface Found {
  readonly directory: string;
  readonly isNew: boolean;
  readonly addresses: Omit<Addresses, "resp">;
  readonly tenants: Tenants;
  readonly requestBytesMax: number;
  /** Whether a token is really in tokens.json; absent: it is. */
  readonly isKnown?: (token: string) => boolean;
  readonly end: () => Promise<void>;
}

function targetOf(run: RunSettings, { end, isKnown = () => true, ...found }: Found): Target {
  const clients: AreaClient[] = [];
  return {
    ...found,
    client(area, name) {
      const { list, word, setting } = tenantKinds[area];
      const { token } = findTenant(found.tenants[list], { word, name });
      if (token.from.kind === "stored" && !isKnown(token.value)) {
        throw new StartRefusal(
          `${join(found.directory, TOKENS_FILE)} has no token of the ${word}: set ${run.origins[setting].place} to the token that its larder was started with`,
        );
      }
      const client = new AreaClient({
        base: found.addresses[area],
        token: token.value,
        clock: systemClock,
        isThisMachine: true,
      });
      clients.push(client);
      return client;
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await end();
    },
  };
}

/** The tenant of that name, or the first. */
function findTenant(tenants: readonly Tenant[], { word, name }: { word: string; name: string | undefined }): Tenant {
  const found = name === undefined ? tenants[0] : tenants.find((tenant) => tenant.name === name);
  if (found !== undefined) return found;
  const known = tenants.map((tenant) => tenant.name).join(", ");
  throw new StartRefusal(
    name === undefined ? `There is no ${word}` : `There is no ${word} ${JSON.stringify(name)}: there is ${known}`,
    2,
  );
}
