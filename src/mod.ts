/**
 * larder as a library: a server inside a test run or another program.
 *
 *     import { start } from "larderd";
 *
 *     const larder = await start();
 *     const redis = new Redis({ url: larder.store.url, token: larder.store.token });
 *     await larder.clock.advance(3_600_000);
 *     await larder.reset();
 *     await larder.stop();
 *
 * By default it is `larder dev` on free ports, in the caller's thread. It reads no
 * environment variables and handles no signals.
 */
import { TravelClock } from "./kernel/clock.travel.ts";
import { systemClock } from "./kernel/clock.ts";
import { readTextFile } from "./persistence/disk/text-file.ts";
import { type Addresses, environmentOf } from "./program/cli/env-block.ts";
import { readVersion } from "./program/facts.ts";
import { StartRefusal } from "./program/refusal.ts";
import { Server } from "./program/server.ts";
import type { ConfigurationKeys } from "./program/settings/configuration-keys.generated.ts";
import { readSettings } from "./program/settings/read-settings.ts";
import type { RunSettings } from "./program/settings/run-settings.ts";
import { formatFor, stderrLog } from "./program/stderr.ts";
import { createFreshTenants, deleteFreshTenants } from "./program/tenants/fresh-tenants.ts";
import type { Tenant, Tenants } from "./program/tenants/tokens.ts";

/** The keys of a configuration file (docs/manual.md), the command and the clock. */
export interface StartOptions extends ConfigurationKeys {
  /** `dev` by default. */
  readonly command?: "dev" | "serve";
  /** `frozen`: the time of the engines moves only by `clock.advance`. Only in dev. */
  readonly clock?: "running" | "frozen";
}

export interface StartedArea {
  readonly url: string;
  readonly token: string;
  readonly readOnlyToken: string;
}

/** The addresses and tokens of a database, an index and a user of messaging. */
export interface Tenancy {
  readonly store: StartedArea;
  readonly vector: StartedArea;
  readonly messaging: StartedArea & { readonly currentSigningKey: string; readonly nextSigningKey: string };
  /** The variables that the official clients read. `REDIS_URL` is one of them if `respPort` is set. */
  readonly env: Readonly<Record<string, string>>;
}

type IndexKeys = NonNullable<NonNullable<ConfigurationKeys["vector"]>["indexes"]>[number];

export interface FreshTenantsOptions {
  /** The index, by the keys that it has in a configuration file; by default it is as that of `larder dev`. */
  readonly index?: Omit<IndexKeys, "name" | "token" | "readOnlyToken">;
}

/** A database, an index and a user of messaging that were made while the server runs. */
export interface FreshTenants extends Tenancy {
  /** Deletes them with their data. */
  end(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A running server. Its own addresses and tokens are those of the first database, index and user. */
export interface Larder extends Tenancy {
  readonly admin: { readonly url: string; readonly token: string };
  /** Makes an empty database, index and user of messaging, for one test. In dev only. */
  freshTenants(options?: FreshTenantsOptions): Promise<FreshTenants>;
  readonly clock: {
    /**
     * Moves the time of the engines forward and runs what falls due on the way, in order: expiry, delays, schedules. Waits
     * for each call of a destination before time goes on, for up to 3 s. In dev only.
     */
    advance(ms: number): Promise<void>;
    /** The time of the engines, in ms since the epoch. */
    now(): number;
  };
  /** Empties everything. In dev only. */
  reset(): Promise<void>;
  /** Finishes what is being answered and resolves when everything is closed. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A start that was refused because of its options or of the machine: the message says what to change. */
export { StartRefusal };

/** The last moment that a Date can have, in the year 275760. */
const DATE_MS_MAX = 8.64e15;

/** Names the options in a refusal, as a file is named there. */
const OPTIONS = "start()";

/** Starts a server and resolves when it serves. Rejects with a `StartRefusal` when options or machine do not allow it. */
export async function start(options: StartOptions = {}): Promise<Larder> {
  const { clock: wanted, ...settings } = options;
  const run = runFor(settings);
  const clock = new TravelClock(systemClock, { isFrozen: isFrozen(wanted, run) });
  const logFormat = formatFor(run.settings.logFormat);
  const log = stderrLog(run.settings.logLevel, logFormat);
  const server = new Server({
    run,
    version: readVersion(),
    log,
    logFormat,
    clock,
    onCrash: () => log.error("larder ended; start it again"),
  });
  try {
    const addresses = await server.open();
    return larderOf(server, { addresses, clock, isDev: run.command === "dev" });
  } catch (fault) {
    await server.close(0).catch(() => {});
    throw fault;
  }
}

function larderOf(
  server: Server,
  { addresses, clock, isDev }: { addresses: Addresses; clock: TravelClock; isDev: boolean },
): Larder {
  const { tenants, administration } = server;
  const onlyInDev = (): void => {
    if (!isDev)
      throw new StartRefusal("Only a development server can be emptied, travel in time or make fresh tenants");
  };
  const stop = (): Promise<void> => server.close();
  let freshCount = 0;
  return {
    ...tenancyOf(addresses, tenants),
    admin: { url: addresses.admin, token: tenants.adminToken.value },
    async freshTenants({ index = {} } = {}) {
      onlyInDev();
      freshCount += 1;
      const name = `fresh-${freshCount}`;
      const end = (): Promise<void> => deleteFreshTenants(administration, name);
      const fresh = await createFreshTenants(administration, name, { ...index });
      return { ...tenancyOf(addresses, fresh), end, [Symbol.asyncDispose]: end };
    },
    clock: {
      async advance(ms) {
        onlyInDev();
        if (!Number.isFinite(ms) || ms < 0) {
          throw new StartRefusal(`advance(${ms}): time moves forward by a number of milliseconds`);
        }
        // No answer, log or schedule could show such a time.
        if (clock.nowMs() + ms > DATE_MS_MAX) throw new StartRefusal(`advance(${ms}): no date is as late as that`);
        await clock.advance(ms);
      },
      now: () => clock.nowMs(),
    },
    async reset() {
      onlyInDev();
      await server.reset();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function tenancyOf(addresses: Addresses, tenants: Pick<Tenants, "databases" | "indexes" | "users">): Tenancy {
  const [database] = tenants.databases;
  const [index] = tenants.indexes;
  const [user] = tenants.users;
  const area = (url: string, tenant: Tenant | undefined): StartedArea => ({
    url,
    token: tenant?.token.value ?? "",
    readOnlyToken: tenant?.readOnlyToken.value ?? "",
  });
  return {
    store: area(addresses.store, database),
    vector: area(addresses.vector, index),
    messaging: {
      ...area(addresses.messaging, user),
      currentSigningKey: user?.currentSigningKey.value ?? "",
      nextSigningKey: user?.nextSigningKey.value ?? "",
    },
    env: environmentOf(addresses, tenants),
  };
}

function isFrozen(wanted: unknown, run: RunSettings): boolean {
  if (wanted !== undefined && wanted !== "running" && wanted !== "frozen") {
    throw new StartRefusal(`clock in ${OPTIONS}: ${JSON.stringify(wanted)} is neither "running" nor "frozen"`, 2);
  }
  if (wanted === "frozen" && run.command !== "dev") {
    throw new StartRefusal(`clock in ${OPTIONS}: only the time of a development server stands still`, 2);
  }
  return wanted === "frozen";
}

/** The options are read as a configuration file is, on free ports and in one thread. */
function runFor({ command = "dev", ...options }: StartOptions): RunSettings {
  const ports = options.port === undefined ? { storePort: 0, messagingPort: 0, vectorPort: 0 } : {};
  const configuration = { ...ports, adminPort: 0, threads: "one", logLevel: "error", ...options };
  const reading = readSettings({
    arguments: [command, "--config", OPTIONS],
    environment: {},
    // What the options name, such as the file of a key, is a file.
    readFile: (path) => (path === OPTIONS ? JSON.stringify(configuration) : readTextFile(path)),
    hasLines: false,
  });
  if (reading.kind !== "run") {
    throw new StartRefusal(reading.kind === "refused" ? reading.problems.join("\n") : `Unknown command ${command}`, 2);
  }
  if (reading.run.settings.threads !== "one") {
    throw new StartRefusal(`threads in ${OPTIONS}: a server inside another program runs in one thread`, 2);
  }
  return reading.run;
}
