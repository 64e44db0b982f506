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
  /** Whether each tenant that it has data of has a row (`tenants/tenant-shards.ts`). */
  readonly areTenantsKnown: boolean;
}

/** The secrets of the last two keys by which nodes know each other (`forwarding/forwarding-keys.ts`). */
export interface StoredKeys {
  /** Of the newest one, counted from 0. */
  readonly number: number;
  /** Undefined for the key 0, which has no secret of its own. */
  readonly newest: Buffer | undefined;
  readonly former: Buffer | undefined;
}

export interface ClusterFacts {
  /** UUIDs. */
  readonly id: string;
  readonly branch: string;
  /** Of the tables, which a start of a node changes to that of this larder. */
  readonly version: number;
  readonly keys: StoredKeys;
  /** The shards of each area by their ids: at least one. */
  readonly shards: Readonly<Record<AreaName, readonly ShardFacts[]>>;
}

/** The shards that an area has had from the beginning: its first one. */
export function firstShardOf({ shards }: Pick<ClusterFacts, "shards">, area: AreaName): ShardFacts {
  const [first] = shards[area];
  if (first === undefined) throw new StartRefusal(`The cluster has no shard of the area ${area}: use another database`);
  return first;
}

const CLUSTER: Statement = {
  name: "larder-cluster",
  text: "SELECT id, branch, schema_version AS version FROM larder.cluster",
};

const SHARDS: Statement = {
  name: "larder-shard-facts",
  text: "SELECT id AS shard, area, hash_seed AS seed, are_tenants_known AS known FROM larder.shard ORDER BY id",
};

/** Of tables of version 1, which have one shard of each area and no table of tenants. */
const SHARDS_1: Statement = {
  name: "larder-shard-facts-1",
  text: "SELECT id AS shard, area, hash_seed AS seed, false AS known FROM larder.shard ORDER BY id",
};

const KEYS: Statement = {
  name: "larder-keys",
  text: "SELECT key_number AS number, key AS newest, former_key AS former FROM larder.cluster",
};
/** The version of the tables that have them. */
const KEYS_SINCE = 4;

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

export interface StartOptions {
  readonly place: string;
  readonly log: Log;
  /** Changes tables of an earlier version. */
  upgrade(): Promise<unknown>;
}

/** Throws a `StartRefusal` if the cluster cannot be used. Logs the warnings. */
export async function readClusterFacts(
  plan: ConnectionPlan,
  { place, log, upgrade }: StartOptions,
): Promise<ClusterFacts> {
  return withSession(plan, place, async (session) => {
    const { version } = await readIdentity(session);
    if (version < SCHEMA_VERSION) {
      await upgrade();
      log.info("the tables of the cluster are upgraded", { from: version, to: SCHEMA_VERSION });
    }
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
  const { id, branch, version } = await readIdentity(session);
  type Row = { shard: number; area: string; seed: Buffer; known: boolean };
  const { rows } = await session.run<Row>(version === 1 ? SHARDS_1 : SHARDS, []);
  const shardsOf = (area: AreaName): readonly ShardFacts[] =>
    rows
      .filter((row) => row.area === area)
      .map(({ shard, seed: hashSeed, known: areTenantsKnown }) => ({ shard, hashSeed, areTenantsKnown }));
  const shards = Object.fromEntries(areaNames.map((area) => [area, shardsOf(area)])) as ClusterFacts["shards"];
  for (const area of areaNames) firstShardOf({ shards }, area);
  const keys = version < KEYS_SINCE ? { number: 0, newest: undefined, former: undefined } : await readKeys(session);
  return { id, branch, version, keys, shards };
}

/** Of tables of this version. */
export async function readKeys(session: SqlSession): Promise<StoredKeys> {
  type Row = { number: number; newest: Buffer | null; former: Buffer | null };
  const [row] = (await session.run<Row>(KEYS, [])).rows;
  if (row === undefined) throw new StartRefusal(NO_CLUSTER);
  return { number: row.number, newest: row.newest ?? undefined, former: row.former ?? undefined };
}

export interface ClusterIdentity {
  /** UUIDs. */
  readonly id: string;
  readonly branch: string;
  /** Of the tables: this one, or an earlier one that can be changed to it. */
  readonly version: number;
}

/** Throws a `StartRefusal` if the database has no cluster, or one that this larder cannot use. */
export async function readIdentity(session: SqlSession): Promise<ClusterIdentity> {
  const [row] = (await session.run<ClusterIdentity>(CLUSTER, [])).rows;
  if (row === undefined) throw new StartRefusal(NO_CLUSTER);
  if (row.version > SCHEMA_VERSION || row.version < 1) {
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
