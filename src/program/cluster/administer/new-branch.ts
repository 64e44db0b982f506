/**
 * `larder cluster new-branch`: after PostgreSQL was restored to an earlier time, its
 * positions and epochs count again what they have counted before, with other
 * contents.
 *
 * (1) The branch gets another id. A node believes no file of another branch, and
 *     fetches everything.
 * (2) Each epoch becomes larger than any that was reached before the restore, so a
 *     process that has survived it owns nothing.
 * (3) No node may live: it would go on with a state that the database does not have.
 */
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { StartRefusal } from "../../refusal.ts";
import { readIdentity, withSession } from "../cluster-facts.ts";
import { findLivingNodes, printNodes } from "./living-nodes.ts";
import { type ClusterPlace, changeAtOnce } from "./transaction.ts";

/** keeps (2): a shard that changes hands each second takes eleven days for as many. */
const EPOCHS = 1_000_000;

const LOCK_SHARDS = "SELECT id FROM larder.shard ORDER BY id FOR UPDATE";
const UNDEAD = "SELECT name FROM larder.node WHERE NOT is_dead ORDER BY name";
const SET_BRANCH = "UPDATE larder.cluster SET branch = $1::uuid";
const FREE_SHARDS = `UPDATE larder.shard SET epoch = epoch + ${EPOCHS}, owner = NULL, heir = NULL`;

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function beginBranch(place: ClusterPlace): Promise<readonly string[]> {
  const living = await withSession(place.plan, place.place, async (session) => {
    await readIdentity(session);
    return findLivingNodes(new PostgresLogStore(session), systemClock);
  });
  assertNone(living);
  const branch = crypto.randomUUID();
  await changeAtOnce(place, async (transaction) => {
    // A claim waits for this, and finds another epoch.
    await transaction.rows(LOCK_SHARDS);
    assertNone((await transaction.rows<{ name: string }>(UNDEAD)).map(({ name }) => name)); // keeps (3)
    await transaction.rows(SET_BRANCH, [branch]);
    await transaction.rows(FREE_SHARDS);
  });
  return [
    `the cluster has the new branch ${branch}: each node fetches its data again at its next start`,
    "start the nodes again",
  ];
}

function assertNone(living: readonly string[]): void {
  if (living.length === 0) return;
  throw new StartRefusal(
    `The ${printNodes(living)} of the cluster must not run meanwhile: stop what runs, and run this command again`,
  );
}
