/**
 * Changes the tables of a cluster of an earlier version, at the first start of a
 * node or by `larder cluster init`.
 *
 * (1) All changes are one transaction, and the second of two that change them at
 *     once finds nothing to do.
 * (2) Nodes of the earlier version that run go on. They cannot start again.
 * (3) A shard without data has no tenants, so they are known. Those of another one
 *     are noted by its next owner.
 */
import { SCHEMA_VERSION, UPGRADES } from "../../../cluster/postgres/schema.ts";
import { codeOf, StartRefusal } from "../../refusal.ts";
import { type ClusterIdentity, readIdentity, withSession } from "../cluster-facts.ts";
import { type ClusterPlace, changeAtOnce } from "./transaction.ts";

/** SQLSTATE `insufficient_privilege`. */
const NO_PERMISSION = "42501";

/** keeps (1): the lock is one that every owner of the tables may take. */
const LOCK = "LOCK TABLE larder.cluster IN ACCESS EXCLUSIVE MODE";
const VERSION = "SELECT schema_version AS version FROM larder.cluster";
const SET_VERSION = "UPDATE larder.cluster SET schema_version = $1::int";
/** keeps (3) */
const EMPTY_SHARDS = `UPDATE larder.shard s SET are_tenants_known = true
  WHERE snapshot_number IS NULL AND NOT EXISTS (SELECT 1 FROM larder.log WHERE shard = s.id)`;

/** Upgrades tables of an earlier version. Resolves with the identity as it was before. Throws a `StartRefusal`. */
export async function upgradeIfOlder(place: ClusterPlace): Promise<ClusterIdentity> {
  const identity = await withSession(place.plan, place.place, readIdentity);
  if (identity.version < SCHEMA_VERSION) await upgradeTables(place);
  return identity;
}

/** Resolves with the version that the tables had. Throws a `StartRefusal` if the user does not own them. */
export async function upgradeTables(place: ClusterPlace): Promise<number> {
  return changeAtOnce(place, async (transaction) => {
    try {
      await transaction.rows(LOCK);
      const [row] = await transaction.rows<{ version: number }>(VERSION);
      const before = row?.version ?? SCHEMA_VERSION;
      for (let version = before; version < SCHEMA_VERSION; version += 1)
        await transaction.rows(UPGRADES.get(version) ?? "");
      if (before >= SCHEMA_VERSION) return before;
      await transaction.rows(EMPTY_SHARDS);
      await transaction.rows(SET_VERSION, [SCHEMA_VERSION]);
      return before;
    } catch (fault) {
      if (codeOf(fault) !== NO_PERMISSION) throw fault;
      throw new StartRefusal(
        `The tables of the cluster are of an earlier version, and the user of ${place.place} does not own them: run larder cluster init and then larder cluster grants as their owner; nodes that run go on`,
        1,
        { cause: fault },
      );
    }
  });
}
