/**
 * `larder cluster change-key`: the secrets of tenants that were made at run time are
 * sealed again, with another key of the cluster, while nodes run.
 *
 *     all nodes have the old key
 *     each node is started again with LARDER_CLUSTER_KEY and LARDER_CLUSTER_KEY_OLD
 *     larder cluster change-key         one transaction: all rows, and the check value
 *     each node is started again without the old key, when that is convenient
 *
 * (1) Each living node has the new key before anything is sealed with it. Nodes report
 *     the check values of their keys, and the transaction compares them.
 * (2) All rows are sealed with one key, that of the check value, or nothing is
 *     changed. A row that cannot be opened with the old key is named.
 * (3) A repetition finds the new check value, and proves that every row opens.
 * (4) Tokens stay as they are, and so do the versions of the rows: nodes read nothing
 *     again.
 */
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import { systemClock } from "../../../kernel/clock.ts";
import type { AreaName } from "../../areas/area.ts";
import { StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { withSession } from "../cluster-facts.ts";
import { type ClusterKey, hasCheck } from "../tenants/cluster-key.ts";
import { keysOf } from "../tenants/open-tenants.ts";
import { assertNoneOlder, findLivingNodes, OLDER_NODES, printNodes } from "./living-nodes.ts";
import { type ClusterPlace, changeAtOnce, type Transaction } from "./transaction.ts";
import { upgradeIfOlder } from "./upgrade.ts";

/** The version of the tables whose nodes report their keys. */
const CHECKS_SINCE = 6;

const LOCK = "SELECT key_check AS check FROM larder.cluster FOR UPDATE";
const NODES = "SELECT name, key_checks AS checks FROM larder.node WHERE NOT is_dead ORDER BY name";
const SEALED = `SELECT area, name, version::float8 AS version, sealed FROM larder.tenant
  WHERE sealed IS NOT NULL ORDER BY area, name FOR UPDATE`;
const SEAL = "UPDATE larder.tenant SET sealed = $3::bytea WHERE area = $1::text AND name = $2::text";
const SET_CHECK = "UPDATE larder.cluster SET key_check = $1::bytea";

interface SealedRow {
  readonly area: AreaName;
  readonly name: string;
  readonly version: number;
  readonly sealed: Buffer;
}

/** Returns the lines to print. Throws a `StartRefusal`; then nothing was changed. */
export async function changeKey(run: RunSettings, place: ClusterPlace): Promise<readonly string[]> {
  const { id } = await upgradeIfOlder(place);
  const keys = keysOf(run, id);
  const { clusterKey, clusterKeyOld } = run.origins;
  if (keys === undefined)
    throw new StartRefusal(
      `${clusterKey.place} is not set: set it to the new key, and ${clusterKeyOld.place} to the one that the nodes have`,
      2,
    );
  const { newest, former } = keys;
  // A node that is gone need not have the key.
  await withSession(place.plan, place.place, (session) => findLivingNodes(new PostgresLogStore(session), systemClock));
  return changeAtOnce(place, async (transaction) => {
    const [cluster] = await transaction.rows<{ check: Buffer | null }>(LOCK);
    const check = cluster?.check ?? undefined;
    const rows = await transaction.rows<SealedRow>(SEALED);
    if (check !== undefined && newest.isChecked(check)) {
      assertOpen(rows, newest, clusterKey.place); // keeps (3)
      return [`the cluster has this key already, and it opens ${countOf(rows)}; nothing was changed`];
    }
    await assertNodesHave(transaction, newest, clusterKeyOld.place); // keeps (1)
    const before = check === undefined ? newest : former;
    if (before === undefined || (check !== undefined && !before.isChecked(check)))
      throw new StartRefusal(
        before === undefined
          ? `${clusterKeyOld.place} is not set: set it to the key that the nodes have`
          : `${clusterKeyOld.place} is not the key of the cluster: set it to the key that the nodes have`,
      );
    assertOpen(rows, before, clusterKeyOld.place);
    // keeps (2) and (4)
    for (const { area, name, version, sealed } of rows) {
      const secrets = before.open(sealed, { area, name, version });
      if (secrets !== undefined)
        await transaction.rows(SEAL, [area, name, newest.seal(secrets, { area, name, version })]);
    }
    await transaction.rows(SET_CHECK, [newest.check]);
    return [
      `the cluster has the new key: ${countOf(rows)} sealed again`,
      `keep the old key for backups of PostgreSQL from before; start each node again without ${clusterKeyOld.place} when it is convenient`,
    ];
  });
}

/** Throws a `StartRefusal` that names the rows which a key does not open. */
function assertOpen(rows: readonly SealedRow[], key: ClusterKey, place: string): void {
  const strange = rows.filter(({ sealed, ...row }) => key.open(sealed, row) === undefined);
  if (strange.length === 0) return;
  const names = strange.map(({ area, name }) => `${area}/${name}`).join(", ");
  throw new StartRefusal(
    `${place} does not open the secrets of ${names}: replace their tokens at the admin port of a node, or delete them, and run this command again`,
  );
}

async function assertNodesHave(transaction: Transaction, key: ClusterKey, oldPlace: string): Promise<void> {
  assertNoneOlder(await transaction.rows<{ name: string }>(OLDER_NODES, [CHECKS_SINCE]));
  const nodes = await transaction.rows<{ name: string; checks: Buffer | null }>(NODES);
  const without = nodes.filter(({ checks }) => checks === null || !hasCheck(checks, key.check));
  if (without.length === 0) return;
  throw new StartRefusal(
    `The new key is missing on ${printNodes(without.map(({ name }) => name))}: start each with both keys, the one that the cluster has in ${oldPlace}, and run this command then`,
  );
}

function countOf(rows: readonly unknown[]): string {
  return rows.length === 1 ? "the secrets of 1 tenant" : `the secrets of ${rows.length} tenants`;
}
