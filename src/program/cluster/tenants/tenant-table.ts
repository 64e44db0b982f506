/**
 * The tenants of a cluster that were made at run time, in PostgreSQL: rows of
 * `larder.tenant` with sealed secrets. `larder.cluster.tenants` is the version of
 * the last change, and each node reports in its row the version that it has.
 *
 *     no row -> made (sealed) -> removed (is_removed) -> no row
 *
 * (1) Each change raises the version in its own transaction, which locks the row of
 *     the cluster: so changes follow one another, and a node that has read a version
 *     has every change before it.
 * (2) A version is a time in milliseconds, or one more than the version before: so it
 *     does not return after PostgreSQL has lost a change. Nothing is decided by the
 *     time.
 * (3) The row of a removed tenant stays until its shard has no data of it, and its
 *     name is taken until then.
 * (4) A tenant that moves to another shard, of whatever origin, has the version of
 *     each step in `moved`: its secrets are sealed for `version`, and only nodes
 *     can open them.
 */
import { DoubtfulOutcome } from "../../../cluster/log-store/log-store.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { type AreaName, areaNames } from "../../areas/area.ts";
import type { Transaction } from "../administer/transaction.ts";

export interface TenantContent {
  /** JSON, of an index. */
  readonly definition: string | undefined;
  readonly sealed: Buffer;
}

export interface TenantRow {
  readonly area: AreaName;
  readonly name: string;
  readonly shard: number;
  /** Of its last change. */
  readonly version: number;
  /** Of the last step of a move; absent: it was not moved. */
  readonly moved?: number;
  /** No node accepts its writes: it is moving to this shard, or is there and the nodes do not all know it yet. */
  readonly movingTo?: number;
  /** The shard that may still have its data from before a move. */
  readonly leftOn?: number;
  readonly isRemoved: boolean;
  /** It has no secrets here, since it was not made at run time: it was moved. */
  readonly isConfigured?: true;
  /** Absent: it is not newer than the version that was asked for, or the tenant is removed, or it has none. */
  readonly content?: TenantContent;
}

export interface TenantsRead {
  /** Of the last change. */
  readonly version: number;
  /** All of them. */
  readonly rows: readonly TenantRow[];
}

const READ: Statement = {
  name: "larder-read-tenants",
  text: `SELECT c.tenants::float8 AS current, t.area, t.name, t.shard, t.version::float8 AS version, t.is_removed,
      t.moved::float8 AS moved, t.moving_to, t.left_on, t.sealed IS NULL AND NOT t.is_removed AS is_configured,
      CASE WHEN greatest(t.version, t.moved) > $1::bigint THEN t.definition::text END AS definition,
      CASE WHEN greatest(t.version, t.moved) > $1::bigint THEN t.sealed END AS sealed
    FROM larder.cluster c LEFT JOIN larder.tenant t ON t.sealed IS NOT NULL OR t.is_removed OR t.moved > 0`,
};

const REPORT: Statement = {
  name: "larder-report-tenants",
  text: "UPDATE larder.node SET tenants_seen = $2::bigint WHERE life = $1::uuid AND NOT is_dead",
};

const LACKING: Statement = {
  name: "larder-lacking-tenants",
  text: `SELECT name FROM larder.node WHERE NOT is_dead AND coalesce(tenants_seen < $1::bigint, true) ORDER BY name`,
};

const HAS_ROW: Statement = {
  name: "larder-has-tenant",
  text: "SELECT 1 FROM larder.tenant WHERE area = $1::text AND name = $2::text",
};

/** keeps (3): the data is gone in the log of the shard, so another owner has none either. */
const FORGET_LEFT: Statement = {
  name: "larder-forget-left-tenant",
  text: "UPDATE larder.tenant SET left_on = NULL WHERE area = $1::text AND name = $2::text AND left_on = $3::int",
};

const FORGET: Statement = {
  name: "larder-forget-tenant",
  text: "DELETE FROM larder.tenant WHERE area = $1::text AND name = $2::text AND version = $3::bigint AND is_removed",
};

/**
 * A key with which nothing is sealed may be replaced, unless another node has it. The check value is then that of the
 * first node that starts with a key.
 */
const SET_KEY: Statement = {
  name: "larder-set-key-check",
  text: `UPDATE larder.cluster SET key_check = $1::bytea
    WHERE key_check IS NULL OR (key_check <> $1::bytea
      AND NOT EXISTS (SELECT 1 FROM larder.tenant WHERE sealed IS NOT NULL)
      AND NOT EXISTS (
        SELECT 1 FROM larder.node WHERE NOT is_dead AND tenants_seen IS NOT NULL AND name <> $2::text))`,
};

const KEY: Statement = {
  name: "larder-key-check",
  text: `SELECT key_check AS check, (SELECT count(*) FROM larder.tenant WHERE sealed IS NOT NULL)::int AS sealed
    FROM larder.cluster`,
};

/** All tenants, with the contents of those that were changed after a version; -1: of all. */
export async function readTenants(session: SqlSession, since: number): Promise<TenantsRead> {
  type Row = Pick<TenantRow, "area" | "name" | "shard" | "version"> & {
    current: number;
    is_removed: boolean;
    is_configured: boolean;
    moved: number;
    moving_to: number | null;
    left_on: number | null;
    definition: string | null;
    sealed: Buffer | null;
  };
  const { rows } = await session.run<Row>(READ, [since]);
  return {
    version: rows[0]?.current ?? 0,
    rows: rows
      .filter(({ area }) => areaNames.includes(area))
      .map(({ area, name, shard, version, is_removed: isRemoved, is_configured, definition, sealed, ...row }) => ({
        ...{ area, name, shard, version, isRemoved },
        ...(row.moved > 0 && { moved: row.moved }),
        ...(row.moving_to !== null && { movingTo: row.moving_to }),
        ...(row.left_on !== null && { leftOn: row.left_on }),
        ...(is_configured && { isConfigured: true }),
        ...(sealed !== null && { content: { definition: definition ?? undefined, sealed } }),
      })),
  };
}

/** Says that a life of a node has all changes up to a version. */
export async function reportTenants(session: SqlSession, life: string, version: number): Promise<void> {
  await session.run(REPORT, [life, version]);
}

/** The names of the nodes that are not dead and have not reported a version, or have no key. */
export async function nodesLacking(session: SqlSession, version: number): Promise<readonly string[]> {
  return (await session.run<{ name: string }>(LACKING, [version])).rows.map(({ name }) => name);
}

/** Whether a tenant has a row, of whatever origin. */
export async function hasTenantRow(session: SqlSession, area: AreaName, name: string): Promise<boolean> {
  return (await session.run(HAS_ROW, [area, name])).rows.length > 0;
}

/** Removes the row of a tenant whose shard has no data of it, unless it was made again. keeps (3) */
export async function forgetTenant(
  session: SqlSession,
  { area, name, version }: Pick<TenantRow, "area" | "name" | "version">,
): Promise<void> {
  await session.run(FORGET, [area, name, version]);
}

/** The shard that a moved tenant has left has no data of it any more, durably. */
export async function forgetLeftTenant(
  session: SqlSession,
  { area, name, leftOn }: Pick<TenantRow, "area" | "name"> & { readonly leftOn: number },
): Promise<void> {
  await session.run(FORGET_LEFT, [area, name, leftOn]);
}

export interface KeyFacts {
  /** Undefined: no node has had a key. */
  readonly check: Buffer | undefined;
  /** Tenants whose secrets are sealed. */
  readonly sealed: number;
}

export async function readKeyFacts(session: SqlSession): Promise<KeyFacts> {
  const [row] = (await session.run<{ check: Buffer | null; sealed: number }>(KEY, [])).rows;
  return { check: row?.check ?? undefined, sealed: row?.sealed ?? 0 };
}

/** Makes the key of the node `name` that of the cluster, if that has none. Throws `DoubtfulOutcome`. */
export async function giveKey(session: SqlSession, check: Buffer, name: string): Promise<void> {
  const { isWarned } = await session.run(SET_KEY, [check, name]);
  if (isWarned) throw new DoubtfulOutcome("PostgreSQL committed with a warning: a standby may not have it");
}

/** keeps (1) and (2) */
const RAISE = `UPDATE larder.cluster SET key_check = coalesce(key_check, $1::bytea),
    tenants = greatest(tenants + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
  RETURNING tenants::float8 AS version, key_check AS check`;

const RAISE_ONLY = `UPDATE larder.cluster
  SET tenants = greatest(tenants + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
  RETURNING tenants::float8 AS version`;

const FIND = `SELECT version::float8 AS version, is_removed, sealed,
    moving_to IS NOT NULL OR left_on IS NOT NULL AS is_moving
  FROM larder.tenant
  WHERE area = $1::text AND name = $2::text`;

const COUNT = "SELECT count(*)::int AS count FROM larder.tenant WHERE area = $1::text AND sealed IS NOT NULL";

const KEYLESS = "SELECT name FROM larder.node WHERE NOT is_dead AND tenants_seen IS NULL ORDER BY name";

const UNKNOWN_SHARDS = `SELECT id FROM larder.shard WHERE area = $1::text AND NOT are_tenants_known ORDER BY id`;

const INSERT = `INSERT INTO larder.tenant (area, name, shard, definition, sealed, version)
  VALUES ($1::text, $2::text, $3::int, $4::jsonb, $5::bytea, $6::bigint)`;

const PUT_SECRETS = `UPDATE larder.tenant SET sealed = $3::bytea, version = $4::bigint
  WHERE area = $1::text AND name = $2::text AND sealed IS NOT NULL`;

const PUT_CONTENT = `UPDATE larder.tenant SET definition = $3::jsonb, sealed = $4::bytea, version = $5::bigint
  WHERE area = $1::text AND name = $2::text AND sealed IS NULL`;

const REMOVE = `UPDATE larder.tenant SET is_removed = true, sealed = NULL, definition = NULL, version = $3::bigint
  WHERE area = $1::text AND name = $2::text AND sealed IS NOT NULL RETURNING 1`;

/** Raises the version for a change that needs no key. The transaction locks the row of the cluster. keeps (1) and (2) */
export async function raiseVersion(transaction: Transaction): Promise<number> {
  const [row] = await transaction.rows<{ version: number }>(RAISE_ONLY);
  if (row === undefined) throw new Error("The database has no cluster");
  return row.version;
}

/** A row of any tenant: without `sealed` and `isRemoved` it is one of a configuration, now or before. */
export interface FoundTenant {
  readonly version: number;
  readonly isRemoved: boolean;
  /** A move to another shard is not complete. */
  readonly isMoving: boolean;
  readonly sealed: Buffer | undefined;
}

/** The statements of one change: of a transaction that has raised the version. */
export class TenantChange {
  readonly #transaction: Transaction;
  readonly version: number;
  /** That of the key of the cluster. */
  readonly check: Buffer;

  private constructor(transaction: Transaction, { version, check }: { version: number; check: Buffer }) {
    this.#transaction = transaction;
    this.version = version;
    this.check = check;
  }

  /** `check`: that of this node, for a cluster that has none. */
  static async begin(transaction: Transaction, check: Buffer): Promise<TenantChange> {
    const [row] = await transaction.rows<{ version: number; check: Buffer }>(RAISE, [check]);
    if (row === undefined) throw new Error("The database has no cluster");
    return new TenantChange(transaction, row);
  }

  async find(area: AreaName, name: string): Promise<FoundTenant | undefined> {
    type Row = { version: number; is_removed: boolean; is_moving: boolean; sealed: Buffer | null };
    const [row] = await this.#transaction.rows<Row>(FIND, [area, name]);
    if (row === undefined) return undefined;
    const { version, is_removed: isRemoved, is_moving: isMoving } = row;
    return { version, isRemoved, isMoving, sealed: row.sealed ?? undefined };
  }

  async count(area: AreaName): Promise<number> {
    const [row] = await this.#transaction.rows<{ count: number }>(COUNT, [area]);
    return row?.count ?? 0;
  }

  /** The nodes that are not dead and cannot open what is sealed. */
  async keylessNodes(): Promise<readonly string[]> {
    return (await this.#transaction.rows<{ name: string }>(KEYLESS)).map(({ name }) => name);
  }

  /** Shards that may have data of tenants without rows. */
  async shardsWithUnknownTenants(area: AreaName): Promise<readonly number[]> {
    return (await this.#transaction.rows<{ id: number }>(UNKNOWN_SHARDS, [area])).map(({ id }) => id);
  }

  async insert(
    { area, name, shard }: { readonly area: AreaName; readonly name: string; readonly shard: number },
    { definition, sealed }: { readonly definition: object | undefined; readonly sealed: Buffer },
  ): Promise<void> {
    const json = definition === undefined ? null : JSON.stringify(definition);
    await this.#transaction.rows(INSERT, [area, name, shard, json, sealed, this.version]);
  }

  async putSecrets(area: AreaName, name: string, sealed: Buffer): Promise<void> {
    await this.#transaction.rows(PUT_SECRETS, [area, name, sealed, this.version]);
  }

  /** Of a tenant that has a row without them, since it has data. */
  async putContent(
    area: AreaName,
    name: string,
    { definition, sealed }: { readonly definition: object | undefined; readonly sealed: Buffer },
  ): Promise<void> {
    const json = definition === undefined ? null : JSON.stringify(definition);
    await this.#transaction.rows(PUT_CONTENT, [area, name, json, sealed, this.version]);
  }

  /** Returns false if no such tenant was made at run time. */
  async remove(area: AreaName, name: string): Promise<boolean> {
    return (await this.#transaction.rows(REMOVE, [area, name, this.version])).length > 0;
  }
}
