/**
 * The server of a client suite, in this process: that of `start()`, or a node of a
 * cluster on a PostgreSQL of its own, which owns everything or forwards everything to
 * the one that does. The time of the owner moves by `clock.advance` too: the clock of
 * the engines travels, and that of leases does not.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert } from "../../../src/kernel/assert.ts";
import { TravelClock } from "../../../src/kernel/clock.travel.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { type Larder, type StartedArea, type StartOptions, start } from "../../../src/mod.ts";
import { type Addresses, environmentOf } from "../../../src/program/cli/env-block.ts";
import { parseClusterUrl } from "../../../src/program/cluster/connection-plan.ts";
import { initCluster } from "../../../src/program/cluster/init.ts";
import { Server } from "../../../src/program/server.ts";
import { readSettings } from "../../../src/program/settings/read-settings.ts";
import type { RunSettings } from "../../../src/program/settings/run-settings.ts";
import { stderrLog } from "../../../src/program/stderr.ts";
import { wellKnown } from "../../../src/program/tenants/tokens.ts";
import { secrets } from "../../program/cluster/cluster-program.ts";
import { type PostgresProcess, startPostgres } from "../postgres-process.ts";
import { type SuiteSetting, suiteSetting } from "./suite-setting.ts";

/** Each look is a request, so this is seconds. */
const LOOKS_MAX = 20_000;

/** As `start`; in the suites of a cluster a node with the same options, which must not need a command. */
export function startSuite(options: StartOptions = {}): Promise<Larder> {
  const setting = suiteSetting();
  return setting === undefined ? start(options) : startOnCluster(options, setting);
}

async function startOnCluster(options: StartOptions, setting: SuiteSetting): Promise<Larder> {
  const postgres = await startPostgres(["fsync=off"]);
  const cluster = new SuiteCluster(postgres, setting);
  try {
    await initCluster({
      plan: parseClusterUrl(postgres.connectionString),
      place: "the cluster of the suite",
      shards: 1,
    });
    const larder = await cluster.startOwner(options);
    let idle: ClientSide | undefined;
    for (let count = 1; count < setting.nodeCount; count += 1)
      idle = await cluster.startIdle(`idle-${count}`, setting.asks === "front" ? options : {});
    if (setting.asks === "owner") return larder;
    assert(idle !== undefined, "a cluster with a front has a node that owns nothing");
    return { ...larder, ...idle };
  } catch (fault) {
    await cluster.stop();
    throw fault;
  }
}

/** What a client needs; the clock and the admin port are those of the owner. */
type ClientSide = Pick<Larder, "store" | "vector" | "messaging" | "env">;

class SuiteCluster {
  readonly #postgres: PostgresProcess;
  readonly #setting: SuiteSetting;
  readonly #directory = mkdtempSync(join(tmpdir(), "larder-suite-"));
  readonly #servers: Server[] = [];

  constructor(postgres: PostgresProcess, setting: SuiteSetting) {
    this.#postgres = postgres;
    this.#setting = setting;
  }

  async startOwner(options: StartOptions): Promise<Larder> {
    const clock = new TravelClock(systemClock, { isFrozen: false });
    const { server, addresses } = await this.#open("owner", { clock, options });
    await untilReady(addresses);
    const stop = (): Promise<void> => this.stop();
    return {
      ...clientSideOf(server, addresses),
      admin: { url: addresses.admin, token: server.tenants.adminToken.value },
      freshTenants: () => Promise.reject(new Error("The tenants of a cluster are changed by its admin ports")),
      clock: { advance: (ms) => clock.advance(ms), now: () => clock.nowMs() },
      reset: () => server.reset(),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  }

  /** A node that owns nothing: a front, or one that waits, because the owner gives no shard away. */
  async startIdle(name: string, options: StartOptions): Promise<ClientSide> {
    const { server, addresses } = await this.#open(name, { clock: systemClock, options, isIdle: true });
    return clientSideOf(server, addresses);
  }

  async stop(): Promise<void> {
    // The owner last: otherwise the others would take its shards over.
    for (const server of this.#servers.toReversed()) await server.close();
    await this.#postgres.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #open(
    name: string,
    {
      clock,
      options,
      isIdle = false,
    }: { clock: TravelClock | typeof systemClock; options: StartOptions; isIdle?: boolean },
  ): Promise<{ readonly server: Server; readonly addresses: Addresses }> {
    const log = stderrLog("error", "text");
    const { reads, asks } = this.#setting;
    const run = settingsOf({
      ...options,
      dataDir: join(this.#directory, name),
      cluster: this.#postgres.connectionString,
      clusterNode: name,
      reads,
      ...(asks === "front" && { clusterAddress: "127.0.0.1:0", front: isIdle }),
    });
    const server = new Server({
      ...{ run, version: "0.0.0", log, logFormat: "text", clock },
      onCrash: () => log.error("the node has crashed", { name }),
    });
    this.#servers.push(server);
    return { server, addresses: await server.open() };
  }
}

/** As `start()` reads its options, for a server that stores. */
function settingsOf({ command: _, clock: __, ...options }: StartOptions): RunSettings {
  const ports = { storePort: 0, messagingPort: 0, vectorPort: 0, adminPort: 0 };
  const indexes = options.vector?.indexes?.map((index) => ({
    token: `token-of-${index.name}`,
    readOnlyToken: `read-only-token-of-${index.name}`,
    ...index,
  }));
  const vector = indexes === undefined ? {} : { vector: { ...options.vector, indexes } };
  // Destinations as those of a development server: they are on loopback.
  const server = { threads: "one", logLevel: "error", shutdownGrace: "1s", destinations: "any" };
  const configuration = { ...ports, ...server, ...options, ...vector };
  const reading = readSettings({
    arguments: ["serve", "--config", "suite"],
    environment: givenSecrets(options),
    readFile: () => JSON.stringify(configuration),
    hasLines: false,
  });
  if (reading.kind !== "run") throw new Error(reading.kind === "refused" ? reading.problems.join("\n") : reading.kind);
  return reading.run;
}

/** Secrets of the tenants that the options do not list: a node generates none. The keys are those that clients know. */
function givenSecrets({ vector }: StartOptions): Readonly<Record<string, string>> {
  const isListed = (name: string): boolean => name.startsWith("LARDER_VECTOR_") && vector?.indexes !== undefined;
  return {
    ...Object.fromEntries(Object.entries(secrets).filter(([name]) => !isListed(name))),
    LARDER_CURRENT_SIGNING_KEY: wellKnown.currentSigningKey,
    LARDER_NEXT_SIGNING_KEY: wellKnown.nextSigningKey,
  };
}

function clientSideOf(server: Server, addresses: Addresses): ClientSide {
  const { databases, indexes, users } = server.tenants;
  const [user] = users;
  const area = (url: string, tenant: (typeof databases)[number] | undefined): StartedArea => ({
    url,
    token: tenant?.token.value ?? "",
    readOnlyToken: tenant?.readOnlyToken.value ?? "",
  });
  return {
    store: area(addresses.store, databases[0]),
    vector: area(addresses.vector, indexes[0]),
    messaging: {
      ...area(addresses.messaging, user),
      currentSigningKey: user?.currentSigningKey.value ?? "",
      nextSigningKey: user?.nextSigningKey.value ?? "",
    },
    env: environmentOf(addresses, server.tenants),
  };
}

async function untilReady({ admin }: Addresses): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const reply = await fetch(`${admin}/health/ready`);
    await reply.arrayBuffer();
    if (reply.status === 200) return;
  }
  throw new Error("the node does not serve all areas");
}
