/**
 * `larder cluster init`: makes the tables of a cluster, its id, and the shards.
 * All of it is one transaction, so a database has a whole cluster or none. Tables
 * of an earlier version are changed to those of this one.
 */
import { SCHEMA, SCHEMA_VERSION } from "../../cluster/postgres/schema.ts";
import { systemClock } from "../../kernel/clock.ts";
import { secretBytes } from "../../kernel/random.ts";
import { type AreaName, areaNames } from "../areas/area.ts";
import { codeOf, StartRefusal } from "../refusal.ts";
import type { ClusterPlace } from "./administer/transaction.ts";
import { upgradeIfOlder } from "./administer/upgrade.ts";
import { refusalOf } from "./cluster-facts.ts";
import { type ConnectionPlan, printHosts } from "./connection-plan.ts";
import { Connector } from "./connector.ts";

export const HASH_SEED_BYTES = 8;
/** A shard without data. */
export const INSERT_SHARD =
  "INSERT INTO larder.shard (id, area, hash_seed, are_tenants_known) VALUES ($1, $2, $3, true)";
const PATIENCE_MS = 60_000;
/** SQLSTATE `duplicate_schema`. */
const DUPLICATE_SCHEMA = "42P06";
const NO_PERMISSION = "42501";

/** Shards of an area. Each one costs its owner two connections to PostgreSQL. */
export const SHARDS_MAX = 64;

export interface InitOptions extends ClusterPlace {
  /** Shards of each area. */
  readonly shards: number;
}

/** The value of `--shards`. Throws a `StartRefusal` that names `what`. */
export function parseShardCount(text: string, what: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= SHARDS_MAX) return count;
  throw new StartRefusal(`${what} must be a number from 1 to ${SHARDS_MAX}: ${JSON.stringify(text)}`, 2);
}

/** The shards of a new cluster, the first ones of all areas before the second ones. */
function newShards(count: number): readonly { readonly shard: number; readonly area: AreaName }[] {
  return Array.from({ length: count * areaNames.length }, (_, index) => ({
    shard: index + 1,
    area: areaNames[index % areaNames.length] as AreaName,
  }));
}

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function initCluster({ plan, place, shards: count }: InitOptions): Promise<readonly string[]> {
  const shards = newShards(count);
  const connection = await new Connector({ plan, clock: systemClock, patienceMs: PATIENCE_MS })
    .connect()
    .catch((fault: unknown) => {
      throw refusalOf(fault, plan, place);
    });
  const id = crypto.randomUUID();
  try {
    await connection.query("BEGIN");
    await connection.query(SCHEMA);
    await connection.query("INSERT INTO larder.cluster (id, branch, schema_version) VALUES ($1, $2, $3)", [
      id,
      crypto.randomUUID(),
      SCHEMA_VERSION,
    ]);
    for (const { shard, area } of shards)
      await connection.query(INSERT_SHARD, [shard, area, Buffer.from(secretBytes(HASH_SEED_BYTES))]);
    await connection.query("COMMIT");
  } catch (fault) {
    if (codeOf(fault) === DUPLICATE_SCHEMA) return await describeExisting(plan, place);
    if (codeOf(fault) === NO_PERMISSION)
      throw new StartRefusal(
        `The user of ${place} may not create a schema in the database ${plan.database}: grant it CREATE on the database`,
        1,
        { cause: fault },
      );
    throw refusalOf(fault, plan, place);
  } finally {
    await connection.end();
  }
  return [
    `cluster ${id}: made in the database ${plan.database} at ${printHosts(plan)}`,
    ...shards.map(({ shard, area }) => `shard ${shard}: ${area}`),
    "start each node with: larder serve, the same URL, and a name and a data directory of its own",
  ];
}

async function describeExisting(plan: ConnectionPlan, place: string): Promise<readonly string[]> {
  const { id, version } = await upgradeIfOlder({ plan, place });
  const where = `cluster ${id}: exists in the database ${plan.database} at ${printHosts(plan)}`;
  if (version === SCHEMA_VERSION) return [`${where}; nothing was changed`];
  return [
    `${where}; its tables were changed from version ${version} to version ${SCHEMA_VERSION}`,
    "if nodes connect as another user: run larder cluster grants again",
  ];
}
