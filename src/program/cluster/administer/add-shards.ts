/**
 * `larder cluster add-shards <area> <count>`: more shards for an area, which new
 * tenants get.
 *
 * (1) The tenants of the shards that exist must be known, or one of them could be
 *     given to a new shard, where its data is not.
 * (2) No node of a version that knows one shard of an area may live: it would serve
 *     every tenant of its configuration on that shard.
 * (3) Nodes that run go on with the shards that they know, and claim no others.
 */

import { secretBytes } from "../../../kernel/random.ts";
import { areaNames } from "../../areas/area.ts";
import { codeOf, StartRefusal } from "../../refusal.ts";
import { HASH_SEED_BYTES, INSERT_SHARD, parseShardCount, SHARDS_MAX } from "../init.ts";
import { assertNoneOlder, OLDER_NODES } from "./living-nodes.ts";
import { type ClusterPlace, changeAtOnce } from "./transaction.ts";
import { upgradeIfOlder } from "./upgrade.ts";

/** A claim, and a node that gives shards to new tenants, wait meanwhile. */
const LOCK_SHARDS = "SELECT id FROM larder.shard ORDER BY id FOR NO KEY UPDATE";
const SHARDS = "SELECT id, area, are_tenants_known AS known FROM larder.shard ORDER BY id";
/** The version of the tables whose nodes know several shards of an area. */
const SHARDED_SINCE = 2;
/** SQLSTATE `insufficient_privilege`. */
const NO_PERMISSION = "42501";

interface ShardRow {
  readonly id: number;
  readonly area: string;
  readonly known: boolean;
}

/** Returns the lines to print. Throws a `StartRefusal`; then no shard was added. */
export async function addShards(place: ClusterPlace, operands: readonly string[]): Promise<readonly string[]> {
  const [name = "", text = ""] = operands;
  const area = areaNames.find((each) => each === name);
  if (area === undefined)
    throw new StartRefusal(`${JSON.stringify(name)} is not an area: name one of ${areaNames.join(", ")}`, 2);
  const count = parseShardCount(text, "the number of shards");
  await upgradeIfOlder(place);
  const added = await changeAtOnce(place, async (transaction) => {
    await transaction.rows(LOCK_SHARDS);
    const shards = await transaction.rows<ShardRow>(SHARDS);
    const own = shards.filter((shard) => shard.area === area);
    if (own.length + count > SHARDS_MAX)
      throw new StartRefusal(`The area ${area} has ${own.length} shards, and may have ${SHARDS_MAX}: add fewer`, 2);
    const unknown = own.filter(({ known }) => !known).map(({ id }) => id);
    // keeps (1)
    if (unknown.length > 0)
      throw new StartRefusal(
        `The tenants of shard ${unknown.join(", ")} are not known yet: start a node of this version, wait until it serves ${area}, and run this command again`,
      );
    assertNoneOlder(await transaction.rows<{ name: string }>(OLDER_NODES, [SHARDED_SINCE])); // keeps (2)
    const last = Math.max(...shards.map(({ id }) => id));
    const numbers = Array.from({ length: count }, (_, index) => last + index + 1);
    try {
      for (const number of numbers)
        await transaction.rows(INSERT_SHARD, [number, area, Buffer.from(secretBytes(HASH_SEED_BYTES))]);
    } catch (fault) {
      if (codeOf(fault) !== NO_PERMISSION) throw fault;
      throw new StartRefusal(
        `The user of ${place.place} may not add shards: run this command as the owner of the tables`,
        1,
        { cause: fault },
      );
    }
    return numbers;
  });
  return [
    ...added.map((number) => `shard ${number}: ${area}`),
    "start each node again, one at a time: nodes that run do not serve them, and new tenants get the shards with the fewest tenants",
  ];
}
