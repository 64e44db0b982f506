/**
 * Connections to the PostgreSQL of a cluster, through the optional package `pg`.
 *
 * (1) Of several hosts the one that accepts writes is used. Each new connection
 *     asks, because a former primary may have become a standby meanwhile.
 * (2) A server whose commits do not wait for its own disk is refused at each
 *     connection, since its setting may have changed.
 * (3) A statement that is not answered in time ends its connection, so that a
 *     machine which has vanished is left. The statement may still be carried out:
 *     its caller repeats it. Each time in a row waits twice as long, because the
 *     server may keep each of these connections until a standby answers.
 */
import type { ClientConfig } from "pg";
import type { PgConnection } from "../../cluster/postgres/pg-session.ts";
import type { Clock } from "../../kernel/clock.ts";
import { readFileBytes } from "../../persistence/disk/text-file.ts";
import { type ConnectionPlan, encryptionOf, type PostgresHost, printHost } from "./connection-plan.ts";

export const POSTGRES_PACKAGE = "pg";

/** Why a connection cannot be used, although PostgreSQL answers. */
export class UnusableServer extends Error {
  override name = "UnusableServer";
  readonly reason: "read only" | "asynchronous";

  constructor(reason: UnusableServer["reason"], text: string) {
    super(text);
    this.reason = reason;
  }
}

/** No host of the cluster could be used. */
export class NoServer extends Error {
  override name = "NoServer";
  /** Each host with its fault, in the order of the URL. */
  readonly faults: readonly { readonly host: PostgresHost; readonly fault: unknown }[];

  constructor(faults: NoServer["faults"]) {
    const texts = faults.map(({ host, fault }) => `${printHost(host)}: ${textOf(fault)}`);
    super(`PostgreSQL cannot be used: ${texts.join("; ")}`, { cause: faults[0]?.fault });
    this.faults = faults;
  }
}

export interface ConnectorOptions {
  readonly plan: ConnectionPlan;
  readonly clock: Pick<Clock, "after">;
  /** How long a statement may take before its connection is ended (3). */
  readonly patienceMs: number;
  /** Imports `pg`; for tests. */
  readonly load?: () => Promise<typeof import("pg")>;
}

/** The rows of (1) and (2). A pooler may change servers between two statements, so it is one. */
const CHECK =
  "SELECT current_setting('transaction_read_only') AS reads, current_setting('synchronous_commit') AS commits";
/** Their commits may be lost by a crash of the server alone. */
const UNSAFE_COMMITS = ["off", "local"];
const CONNECT_MS_MAX = 3_000;
const KEEP_ALIVE_MS = 5_000;
const PATIENCE_MS_MAX = 320_000;

export class Connector {
  readonly #options: ConnectorOptions;
  #patienceMs: number;
  /** The host of the last connection is tried first. */
  #index = 0;

  constructor(options: ConnectorOptions) {
    this.#options = options;
    this.#patienceMs = options.patienceMs;
  }

  /** Resolves with a connection to the server that accepts writes. Rejects with `NoServer`. */
  readonly connect = async (): Promise<PgConnection> => {
    const { hosts } = this.#options.plan;
    const faults = new Map<PostgresHost, unknown>();
    for (let tried = 0; tried < hosts.length; tried += 1) {
      const index = (this.#index + tried) % hosts.length;
      const host = hosts[index] as PostgresHost;
      try {
        const connection = await this.#connectTo(host);
        this.#index = index;
        return connection;
      } catch (fault) {
        faults.set(host, fault);
      }
    }
    throw new NoServer(hosts.map((host) => ({ host, fault: faults.get(host) })));
  };

  async #connectTo(host: PostgresHost): Promise<PgConnection> {
    const { plan, load = () => import("pg") } = this.#options;
    const { Client } = await load();
    const client = new Client(clientConfig(plan, host));
    // Until it has an owner, an end of the connection is reported by the call that it fails.
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await this.#patiently(client, () => client.query(CHECK));
      const [{ reads, commits }] = rows as [{ reads: string; commits: string }];
      if (reads !== "off") throw new UnusableServer("read only", "it accepts no writes");
      if (UNSAFE_COMMITS.includes(commits))
        throw new UnusableServer("asynchronous", `its synchronous_commit is ${commits}`);
    } catch (fault) {
      void client.end().catch(() => {}); // Its fault is reported.
      throw fault;
    }
    const query = (async (...given: readonly unknown[]) => {
      const ask = client.query as (...all: readonly unknown[]) => Promise<unknown>;
      const result = await this.#patiently(client, () => ask.apply(client, [...given]));
      // The check of a connection is no sign that statements are answered: it waits for no standby and no lock.
      this.#patienceMs = this.#options.patienceMs;
      return result;
    }) as PgConnection["query"];
    return { query, end: () => client.end(), on: client.on.bind(client) as PgConnection["on"] };
  }

  /** keeps (3) */
  async #patiently<Result>(client: PgConnection, ask: () => Promise<Result>): Promise<Result> {
    const cancel = this.#options.clock.after(this.#patienceMs, () => {
      this.#patienceMs = Math.min(2 * this.#patienceMs, PATIENCE_MS_MAX);
      // With a statement under way this ends the connection at once.
      void client.end().catch(() => {});
    });
    try {
      return await ask();
    } finally {
      cancel();
    }
  }
}

function clientConfig(plan: ConnectionPlan, host: PostgresHost): ClientConfig {
  const { user, password, database, rootCertificatePath } = plan;
  const encryption = encryptionOf(plan, host);
  const ca = rootCertificatePath === undefined ? {} : { ca: readFileBytes(rootCertificatePath).toString("utf8") };
  return {
    host: host.host,
    port: host.port,
    ...(user !== undefined && { user }),
    // A function, because without a password `pg` would look for one in other places.
    password: () => password ?? "",
    database,
    ssl: encryption === "disable" ? false : { rejectUnauthorized: encryption === "verify-full", ...ca },
    application_name: "larder",
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  };
}

/** An error of several addresses has no text of its own. */
function textOf(fault: unknown): string {
  if (fault instanceof AggregateError) return fault.errors.map(textOf).join(", ");
  if (!(fault instanceof Error)) return String(fault);
  const code = "code" in fault ? String(fault.code) : fault.name;
  return fault.message === "" ? code : fault.message;
}
