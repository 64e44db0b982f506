/**
 * Which shard each tenant lives on: a database of the store, an index, a user of
 * messaging. A table says it, and never a hash, so that the number of shards can
 * grow.
 *
 * (1) A tenant is given a shard when a node whose configuration lists it starts,
 *     before that node knows its tokens. Its row stays: data of a tenant is on one
 *     shard only.
 * (2) A tenant that has data, whether it is listed or not, has the row of the shard
 *     with its data. While an area has one shard every row names that one; more
 *     are added only when the tenants of the first are known.
 */
import type { ShardEpoch } from "../../../cluster/log-store/log-store.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { type AreaName, areaNames } from "../../areas/area.ts";
import { StartRefusal } from "../../refusal.ts";
import { type ClusterPlace, changeAtOnce, type Transaction } from "../administer/transaction.ts";

/** The shard of each tenant of an area, by name. */
export type TenantShards = Readonly<Record<AreaName, ReadonlyMap<string, number>>>;

/** The names of the tenants of each area. */
export type TenantNames = Readonly<Record<AreaName, readonly string[]>>;

interface TenantRow {
  readonly area: string;
  readonly name: string;
  readonly shard: number;
}

const TENANTS: Statement = {
  name: "larder-tenants",
  text: "SELECT area, name, shard FROM larder.tenant",
};

/** A tenant that is made at run time waits meanwhile: it may have the same name. */
const LOCK_CLUSTER = "SELECT id FROM larder.cluster FOR NO KEY UPDATE";

/** Claims and other assignments wait meanwhile, and a statement after it sees those before. */
const LOCK_SHARDS = "SELECT id FROM larder.shard ORDER BY id FOR NO KEY UPDATE";

const LOADS = `SELECT id AS shard, area, (SELECT count(*) FROM larder.tenant t WHERE t.shard = s.id)::int AS tenants,
    (coalesce(snapshot_bytes, 0) + (SELECT coalesce(sum(stop - start), 0) FROM larder.log l WHERE l.shard = s.id))::float8
      AS bytes,
    EXISTS (SELECT 1 FROM larder.tenant t WHERE t.moving_to = s.id) AS is_awaited
  FROM larder.shard s ORDER BY id`;

const ASSIGN = `INSERT INTO larder.tenant (area, name, shard) VALUES ($1::text, $2::text, $3::int)
  ON CONFLICT DO NOTHING`;

/** Adds the tenants $3 of the shard $1 with the epoch $2, and says that they are all. */
const NOTE: Statement = {
  name: "larder-note-tenants",
  text: `WITH own AS MATERIALIZED (
        SELECT id, area FROM larder.shard WHERE id = $1::int AND epoch = $2::bigint FOR NO KEY UPDATE),
      put AS (
        INSERT INTO larder.tenant (area, name, shard)
        SELECT own.area, names.name, own.id FROM own, json_array_elements_text($3::json) AS names (name)
        ON CONFLICT DO NOTHING)
    UPDATE larder.shard SET are_tenants_known = true WHERE id = (SELECT id FROM own)`,
};

/** How much a shard has. */
export interface ShardLoad {
  readonly shard: number;
  tenants: number;
  /** Of its journal and its snapshot. */
  readonly bytes: number;
}

/** A shard that a tenant moves to is replaced as a whole, so nothing else is put there. */
interface LoadRow extends ShardLoad {
  readonly area: string;
  readonly is_awaited: boolean;
}

/** The shard for a new tenant: the one with the fewest tenants; of those the one with the fewest bytes, then the first. */
export function shardForTenant(loads: readonly ShardLoad[]): ShardLoad | undefined {
  return loads.toSorted((a, b) => a.tenants - b.tenants || a.bytes - b.bytes || a.shard - b.shard)[0];
}

/** The rows, with those that are made for tenants of `names` that have none. Throws a `StartRefusal`. keeps (1) */
export async function assignTenants(
  session: SqlSession,
  place: ClusterPlace,
  names: TenantNames,
): Promise<TenantShards> {
  const before = tenantShardsOf((await session.run<TenantRow>(TENANTS, [])).rows);
  if (unassigned(before, names).length === 0) return before;
  return changeAtOnce(place, (transaction) => assign(transaction, names));
}

/**
 * The shard for one more tenant, among those that the caller may choose. The transaction has locked the row of the cluster,
 * so other assignments wait, and commits of the journals do not. Throws a `StartRefusal` if the area has no shard.
 */
export async function findShardForTenant(
  transaction: Transaction,
  area: AreaName,
  shards: readonly number[],
): Promise<number> {
  const loads = (await transaction.rows<LoadRow>(LOADS)).filter((each) => each.area === area);
  if (loads.length === 0) throw new StartRefusal(`The cluster has no shard of the area ${area}: use another database`);
  const load = shardForTenant(loads.filter((each) => shards.includes(each.shard) && !each.is_awaited));
  if (load === undefined)
    throw new StartRefusal(`A tenant is moving to shard ${shards.join(", ")}: try again when it is there`);
  return load.shard;
}

async function assign(transaction: Transaction, names: TenantNames): Promise<TenantShards> {
  await transaction.rows(LOCK_CLUSTER);
  await transaction.rows(LOCK_SHARDS);
  const rows = [...(await transaction.rows<TenantRow>(TENANTS.text))];
  const loads = (await transaction.rows<LoadRow>(LOADS))
    .filter(({ is_awaited }) => !is_awaited)
    .map((load) => ({ ...load }));
  for (const { area, name } of unassigned(tenantShardsOf(rows), names)) {
    const load = shardForTenant(loads.filter((each) => each.area === area));
    if (load === undefined) continue;
    load.tenants += 1;
    await transaction.rows(ASSIGN, [area, name, load.shard]);
    rows.push({ area, name, shard: load.shard });
  }
  return tenantShardsOf(rows);
}

function unassigned(known: TenantShards, names: TenantNames): readonly { area: AreaName; name: string }[] {
  return areaNames.flatMap((area) =>
    names[area].filter((name) => !known[area].has(name)).map((name) => ({ area, name })),
  );
}

function tenantShardsOf(rows: readonly TenantRow[]): TenantShards {
  const of = (area: AreaName): ReadonlyMap<string, number> =>
    new Map(rows.filter((row) => row.area === area).map(({ name, shard }) => [name, shard]));
  return Object.fromEntries(areaNames.map((area) => [area, of(area)])) as Record<AreaName, ReadonlyMap<string, number>>;
}

/** Notes the tenants that a recovered shard has data of. Changes nothing if it has another owner. keeps (2) */
export async function noteTenants(
  session: SqlSession,
  { shard, epoch }: ShardEpoch,
  names: readonly string[],
): Promise<void> {
  await session.run(NOTE, [shard, epoch, JSON.stringify(names)]);
}
