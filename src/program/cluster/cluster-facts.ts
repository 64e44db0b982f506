/**
 * What a node reads of its cluster before it registers, and why it may not start.
 *
 * Each refusal names what is wrong and the remedy. None contains the password:
 * PostgreSQL and `pg` name the user and the database only.
 */
import { DoubtfulOutcome } from "../../cluster/log-store/log-store.ts";
import { PgSession } from "../../cluster/postgres/pg-session.ts";
import { SCHEMA_VERSION } from "../../cluster/postgres/schema.ts";
import type { SqlSession, Statement } from "../../cluster/postgres/session.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { type AreaName, areaNames } from "../areas/area.ts";
import { codeOf, StartRefusal } from "../refusal.ts";
import { missingGrantsText, readMissingGrants } from "./administer/grants.ts";
import { type ConnectionPlan, encryptionOf, printHost, printHosts } from "./connection-plan.ts";
import { Connector, NoServer, POSTGRES_PACKAGE, UnusableServer } from "./connector.ts";

/** A shard, as its row says permanently. */
export interface ShardFacts {
  readonly shard: number;
  readonly hashSeed: Buffer;
}

export interface ClusterFacts {
  /** UUIDs. */
  readonly id: string;
  readonly branch: string;
  /** The shard of each area: this version serves one. */
  readonly shards: Readonly<Record<AreaName, ShardFacts>>;
}

const CLUSTER: Statement = {
  name: "larder-cluster",
  text: "SELECT id, branch, schema_version AS version FROM larder.cluster",
};

const SHARDS: Statement = {
  name: "larder-shard-facts",
  text: "SELECT id AS shard, area, hash_seed AS seed FROM larder.shard ORDER BY id",
};

const STANDBYS: Statement = {
  name: "larder-standbys",
  text: "SELECT current_setting('synchronous_standby_names') AS names",
};

/** A command waits for PostgreSQL this long. */
const PATIENCE_MS = 10_000;

/** Calls `use` with a session of its own, and closes it. Throws a `StartRefusal` that names the trouble and `place`. */
export async function withSession<Result>(
  plan: ConnectionPlan,
  place: string,
  use: (session: SqlSession) => Promise<Result>,
): Promise<Result> {
  const connector = new Connector({ plan, clock: systemClock, patienceMs: PATIENCE_MS });
  const session = new PgSession(connector.connect);
  try {
    return await use(session);
  } catch (fault) {
    throw refusalOf(fault, plan, place);
  } finally {
    await session.close();
  }
}

/** What may lose data or disclose it, and does not prevent a start. */
export interface ClusterWarning {
  readonly event: string;
  readonly remedy: string;
  /** `db1:5432`; undefined: all of PostgreSQL. */
  readonly host?: string;
}

/** Throws a `StartRefusal` if the cluster cannot be used. Logs the warnings. */
export async function readClusterFacts(
  plan: ConnectionPlan,
  { place, log }: { readonly place: string; readonly log: Log },
): Promise<ClusterFacts> {
  return withSession(plan, place, async (session) => {
    const facts = await readFacts(session);
    const missing = await readMissingGrants(session);
    if (missing.length > 0) throw new StartRefusal(missingGrantsText(missing, place));
    for (const { event, ...fields } of await readWarnings(session, plan)) log.warn(event, fields);
    return facts;
  });
}

export async function readWarnings(session: SqlSession, plan: ConnectionPlan): Promise<readonly ClusterWarning[]> {
  const warnings: ClusterWarning[] = [];
  const [standbys] = (await session.run<{ names: string }>(STANDBYS, [])).rows;
  if (standbys?.names === "")
    warnings.push({
      event: "PostgreSQL has no synchronous standby: a failover may lose acknowledged writes",
      remedy: "set synchronous_standby_names, unless the storage of PostgreSQL is replicated",
    });
  for (const host of plan.hosts) {
    const encryption = encryptionOf(plan, host);
    const isLocal = plan.encryption === undefined && encryption === "disable";
    if (encryption === "verify-full" || isLocal) continue;
    warnings.push({
      event:
        encryption === "disable"
          ? "the connection to PostgreSQL is not encrypted"
          : "the certificate of PostgreSQL is not verified",
      host: printHost(host),
      remedy: "set sslmode=verify-full in the URL, or leave sslmode out",
    });
  }
  return warnings;
}

/** Throws a `StartRefusal` if this version cannot serve the cluster. */
export async function readFacts(session: SqlSession): Promise<ClusterFacts> {
  const { id, branch } = await readIdentity(session);
  const { rows } = await session.run<{ shard: number; area: string; seed: Buffer }>(SHARDS, []);
  const shardOf = (area: AreaName): ShardFacts => {
    const own = rows.filter((row) => row.area === area);
    const [first] = own;
    if (first === undefined || own.length > 1)
      throw new StartRefusal(
        `The cluster has ${own.length} shards of the area ${area}, and this version serves exactly one: use a newer larder, or another database`,
      );
    return { shard: first.shard, hashSeed: first.seed };
  };
  const shards = Object.fromEntries(areaNames.map((area) => [area, shardOf(area)])) as Record<AreaName, ShardFacts>;
  return { id, branch, shards };
}

/** Throws a `StartRefusal` if the database has no cluster, or one of another version. */
export async function readIdentity(session: SqlSession): Promise<{ readonly id: string; readonly branch: string }> {
  const [row] = (await session.run<{ id: string; branch: string; version: number }>(CLUSTER, [])).rows;
  if (row === undefined) throw new StartRefusal(NO_CLUSTER);
  if (row.version !== SCHEMA_VERSION) {
    const remedy = row.version > SCHEMA_VERSION ? "use a newer larder" : "use the larder that made it";
    throw new StartRefusal(
      `The tables of the cluster have version ${row.version}, and this larder knows version ${SCHEMA_VERSION}: ${remedy}`,
    );
  }
  return row;
}

const NO_CLUSTER = "The database has no cluster: run larder cluster init with the same settings";

/** Why a name cannot be that of this node. */
export function nameInUseText(name: string, place: string): string {
  return `A node with the name ${name} lives in the cluster: end that process, or set ${place} to another name`;
}

/** SQLSTATEs of PostgreSQL. */
const UNDEFINED = ["42P01", "3F000"];
const LOGIN_REFUSED = ["28000", "28P01"];
const NO_DATABASE = "3D000";
const NO_PERMISSION = "42501";

/** The reason why the cluster cannot be used, or the fault itself if the reason is unknown. */
export function refusalOf(fault: unknown, plan: ConnectionPlan, place: string): unknown {
  if (fault instanceof StartRefusal) return fault;
  if (fault instanceof NoServer) return new StartRefusal(noServerText(fault, plan, place), 1, { cause: fault });
  if (fault instanceof DoubtfulOutcome)
    return new StartRefusal(`The connection to PostgreSQL at ${printHosts(plan)} was lost: try again`, 1, {
      cause: fault,
    });
  const refusal = loginRefusal(fault, plan, place);
  return refusal === undefined ? fault : new StartRefusal(refusal, 1, { cause: fault });
}

function noServerText({ faults, message }: NoServer, plan: ConnectionPlan, place: string): string {
  const [first] = faults;
  for (const { host, fault } of faults) {
    if (codeOf(fault) === "ERR_MODULE_NOT_FOUND")
      return `A cluster needs the package ${POSTGRES_PACKAGE}, the client of PostgreSQL: npm install ${POSTGRES_PACKAGE}`;
    if (fault instanceof UnusableServer && fault.reason === "asynchronous")
      return `PostgreSQL at ${printHost(host)} acknowledges commits before they are on its disk, because ${fault.message}: set synchronous_commit to on for this user`;
    const text = loginRefusal(fault, plan, place);
    if (text !== undefined) return text;
    if (codeOf(fault) === "ENOENT" && plan.rootCertificatePath !== undefined)
      return `${place}: there is no file ${plan.rootCertificatePath}, which sslrootcert names`;
  }
  if (faults.every(({ fault }) => fault instanceof UnusableServer))
    return `PostgreSQL at ${printHosts(plan)} accepts no writes: name its primary in ${place}, or promote a standby`;
  const isTls = first !== undefined && /certificate|SSL/i.test(message);
  const remedy = isTls
    ? "correct the certificate of PostgreSQL, or set sslrootcert or sslmode in the URL"
    : `start it, or correct ${place}`;
  return `${message}: ${remedy}`;
}

function loginRefusal(fault: unknown, plan: ConnectionPlan, place: string): string | undefined {
  const code = codeOf(fault) ?? "";
  const text = fault instanceof Error ? fault.message : "";
  if (LOGIN_REFUSED.includes(code))
    return `PostgreSQL refuses the login of ${place}: ${text}. Correct the user or the password`;
  if (code === NO_DATABASE) return `PostgreSQL has no database ${plan.database}: create it, or correct ${place}`;
  if (UNDEFINED.includes(code)) return NO_CLUSTER;
  if (code === NO_PERMISSION)
    return `The user of ${place} may not use the schema larder: ${text}. Run larder cluster init as the same user, or the statements of larder cluster grants as the owner of the tables`;
  return undefined;
}
