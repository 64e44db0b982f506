/**
 * `larder cluster init`: makes the tables of a cluster, its id, and the shards.
 * All of it is one transaction, so a database has a whole cluster or none.
 */
import { SCHEMA, SCHEMA_VERSION } from "../../cluster/postgres/schema.ts";
import { systemClock } from "../../kernel/clock.ts";
import { secretBytes } from "../../kernel/random.ts";
import { areaNames } from "../areas/area.ts";
import { codeOf, StartRefusal } from "../refusal.ts";
import { readIdentity, refusalOf, withSession } from "./cluster-facts.ts";
import { type ConnectionPlan, printHosts } from "./connection-plan.ts";
import { Connector } from "./connector.ts";

const HASH_SEED_BYTES = 8;
const PATIENCE_MS = 60_000;
/** SQLSTATE `duplicate_schema`. */
const DUPLICATE_SCHEMA = "42P06";
const NO_PERMISSION = "42501";

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function initCluster(plan: ConnectionPlan, place: string): Promise<readonly string[]> {
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
    for (const [index, area] of areaNames.entries())
      await connection.query("INSERT INTO larder.shard (id, area, hash_seed) VALUES ($1, $2, $3)", [
        index + 1,
        area,
        Buffer.from(secretBytes(HASH_SEED_BYTES)),
      ]);
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
    ...areaNames.map((area, index) => `shard ${index + 1}: ${area}`),
    "start each node with: larder serve, the same URL, and a name and a data directory of its own",
  ];
}

async function describeExisting(plan: ConnectionPlan, place: string): Promise<readonly string[]> {
  const { id } = await withSession(plan, place, readIdentity);
  return [`cluster ${id}: exists in the database ${plan.database} at ${printHosts(plan)}; nothing was changed`];
}
