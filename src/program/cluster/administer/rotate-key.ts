/**
 * `larder cluster rotate-key`: another key by which the nodes of a cluster know each
 * other (`../forwarding/forwarding-keys.ts`).
 *
 * (1) Each living node accepts the newest key before there is a newer one, because a
 *     node accepts only two. The statement that adds the key checks it.
 * (2) After two rotations no node accepts the first of the three keys.
 */
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import { SCHEMA_VERSION } from "../../../cluster/postgres/schema.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { secretBytes } from "../../../kernel/random.ts";
import { codeOf, StartRefusal } from "../../refusal.ts";
import { readIdentity, withSession } from "../cluster-facts.ts";
import { assertNoneOlder, findLivingNodes, OLDER_NODES, printNodes } from "./living-nodes.ts";
import { type ClusterPlace, changeAtOnce } from "./transaction.ts";
import { upgradeTables } from "./upgrade.ts";

const SECRET_BYTES = 32;
/** The version of the tables whose nodes follow a rotation. */
const KEYS_SINCE = 4;
/** SQLSTATE `insufficient_privilege`. */
const NO_PERMISSION = "42501";

const LOCK = "SELECT key_number AS number FROM larder.cluster FOR UPDATE";
const BEHIND = "SELECT name FROM larder.node WHERE NOT is_dead AND key_number < $1::int ORDER BY name";
const ROTATE =
  "UPDATE larder.cluster SET key_number = key_number + 1, former_key = key, key = $1::bytea RETURNING key_number AS number";

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function rotateKey(place: ClusterPlace): Promise<readonly string[]> {
  const { version } = await withSession(place.plan, place.place, readIdentity);
  if (version < SCHEMA_VERSION) await upgradeTables(place);
  // If no node lives, those that were left as alive are declared dead, and need not know the key.
  await withSession(place.plan, place.place, (session) => findLivingNodes(new PostgresLogStore(session), systemClock));
  const number = await changeAtOnce(place, async (transaction) => {
    try {
      const [before] = await transaction.rows<{ number: number }>(LOCK);
      assertNoneOlder(await transaction.rows<{ name: string }>(OLDER_NODES, [KEYS_SINCE]));
      const behind = await transaction.rows<{ name: string }>(BEHIND, [before?.number ?? 0]);
      if (behind.length > 0) throw new StartRefusal(behindText(behind.map(({ name }) => name))); // keeps (1)
      const [after] = await transaction.rows<{ number: number }>(ROTATE, [secretBytes(SECRET_BYTES)]);
      return after?.number ?? 0;
    } catch (fault) {
      if (codeOf(fault) !== NO_PERMISSION) throw fault;
      throw new StartRefusal(
        `The user of ${place.place} does not own the tables of the cluster: run this command as their owner`,
        1,
        { cause: fault },
      );
    }
  });
  return [
    `the cluster has the key larder-${number}: each node learns it within seconds, and uses it when all have`,
    `connections with the key larder-${number - 1} are accepted until the next rotation`,
  ];
}

function behindText(names: readonly string[]): string {
  const isOne = names.length === 1;
  return `The ${printNodes(names)} of the cluster ${isOne ? "has" : "have"} not learned the last key yet: run this command again in some seconds. ${isOne ? "A node" : "Nodes"} whose machine is gone will have been declared dead by then`;
}
