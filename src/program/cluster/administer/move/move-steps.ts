/**
 * The changes of the tables by which a tenant moves to another shard: each is one
 * transaction.
 *
 *     (shard S)  ->  frozen: moving_to T  ->  switched: shard T, moving_to T, left_on S
 *                        |                        |
 *                    cancelled: shard S       freed: shard T, left_on S  ->  (shard T)
 *
 * (1) `shard` says where the tenant is, whatever ends in between: its data on the
 *     other shard is nobody's, and is replaced or removed.
 * (2) Each step raises the version of the tenants, and the next one follows when all
 *     nodes have reported it. So no node accepts a write, or answers a read from the
 *     former shard, after another one may have accepted a write to the new one.
 * (3) A step that follows others compares the version of the step before: a move that
 *     was cancelled, and perhaps begun again, does not continue with an older copy.
 * (4) The last step is that of the node which has removed the data on shard S
 *     (`tenants/run-time-tenants.ts`).
 */
import type { AreaName } from "../../../areas/area.ts";
import { codeOf, StartRefusal } from "../../../refusal.ts";
import { raiseVersion } from "../../tenants/tenant-table.ts";
import { assertNoneOlder, OLDER_NODES, printNodes } from "../living-nodes.ts";
import { type ClusterPlace, changeAtOnce, type Transaction } from "../transaction.ts";

/** The version of the tables whose nodes know that a tenant of the area moves. */
const MOVES_SINCE: Readonly<Record<AreaName, number>> = { store: 6, vector: 6, messaging: 7 };
/** SQLSTATE `insufficient_privilege`. */
const NO_PERMISSION = "42501";

export interface Move {
  readonly area: AreaName;
  readonly name: string;
  /** The shard that it is to live on. */
  readonly shard: number;
}

/** What is left to do. `version`: of the step that was made. */
export type MoveState =
  /** Nothing: it lives there. */
  | { readonly kind: "there"; readonly left: number | undefined }
  /** An unfinished move to another shard was undone. */
  | { readonly kind: "cancelled"; readonly version: number; readonly to: number }
  | { readonly kind: "frozen"; readonly version: number; readonly from: number }
  | { readonly kind: "switched"; readonly version: number };

interface TenantRow {
  readonly shard: number;
  readonly moving_to: number | null;
  readonly left_on: number | null;
  readonly is_removed: boolean;
}

const TENANT = `SELECT shard, moving_to, left_on, is_removed FROM larder.tenant
  WHERE area = $1::text AND name = $2::text FOR UPDATE`;
const SHARDS = `SELECT id, are_tenants_known AS known FROM larder.shard WHERE area = $1::text ORDER BY id`;
const OTHERS = `SELECT name FROM larder.tenant
  WHERE area = $1::text AND name <> $2::text AND (shard = $3::int OR moving_to = $3::int OR left_on = $3::int)
  ORDER BY name`;
const KEYLESS = "SELECT name FROM larder.node WHERE NOT is_dead AND tenants_seen IS NULL ORDER BY name";
const FREEZE = `UPDATE larder.tenant SET moving_to = $3::int, moved = $4::bigint
  WHERE area = $1::text AND name = $2::text`;
const CANCEL = `UPDATE larder.tenant SET moving_to = NULL, moved = $4::bigint
  WHERE area = $1::text AND name = $2::text AND moving_to = $3::int AND shard <> moving_to`;
const HOLD = "UPDATE larder.shard SET is_held = true WHERE id = $1::int";
const LET_GO = `UPDATE larder.shard s SET is_held = false
  WHERE id = $1::int AND NOT EXISTS (SELECT 1 FROM larder.tenant t WHERE t.moving_to = s.id AND t.shard <> s.id)`;
const FOUND = `SELECT 1 FROM larder.tenant
  WHERE area = $1::text AND name = $2::text AND moving_to = $3::int AND moved = $4::bigint`;
const SWITCH = `UPDATE larder.tenant SET shard = $3::int, left_on = $5::int, moved = $6::bigint
  WHERE area = $1::text AND name = $2::text AND moving_to = $3::int AND moved = $4::bigint AND shard = $5::int RETURNING 1`;
const FREE = `UPDATE larder.tenant SET moving_to = NULL, moved = $4::bigint
  WHERE area = $1::text AND name = $2::text AND moving_to = $3::int AND shard = $3::int`;

/** Freezes the tenant, or finds what an earlier command has left. Throws a `StartRefusal`; then nothing was changed. */
export async function beginMove(place: ClusterPlace, move: Move): Promise<MoveState> {
  const { area, name, shard } = move;
  return change(place, async (transaction, version) => {
    const [row] = await transaction.rows<TenantRow>(TENANT, [area, name]);
    if (row === undefined || row.is_removed)
      throw new StartRefusal(`The cluster has no ${nounOf[area]} ${JSON.stringify(name)}`, 2);
    await assertShard(transaction, move, row.shard);
    const { moving_to: to, left_on: left } = row;
    if (to !== null && to !== shard) {
      if (row.shard !== shard)
        throw new StartRefusal(
          `The ${nounOf[area]} ${name} is moving from shard ${left ?? row.shard} to shard ${to}: run this command with shard ${to}, which completes the move${left === null ? `, or with shard ${row.shard}, which undoes it` : ""}`,
        );
      await transaction.rows(CANCEL, [area, name, to, version]);
      await transaction.rows(LET_GO, [to]);
      return { kind: "cancelled", version, to };
    }
    if (to === null && row.shard === shard) return { kind: "there", left: left ?? undefined };
    await assertNodes(transaction, area);
    if (row.shard === shard) {
      await transaction.rows(FREEZE, [area, name, shard, version]);
      return { kind: "switched", version };
    }
    if (left !== null)
      throw new StartRefusal(
        `The data of the ${nounOf[area]} ${name} is not removed from shard ${left} yet: run this command again when a node has served that shard`,
      );
    const others = (await transaction.rows<{ name: string }>(OTHERS, [area, name, shard])).map((each) => each.name);
    if (others.length > 0)
      throw new StartRefusal(
        `Shard ${shard} is not free, but that of ${others.join(", ")}: name a shard without others, which larder cluster add-shards ${area} 1 makes`,
      );
    await transaction.rows(FREEZE, [area, name, shard, version]);
    return { kind: "frozen", version, from: row.shard };
  });
}

/**
 * Undoes what `beginMove` has done, unless the tenant is on the new shard. Resolves with the version. Throws a
 * `StartRefusal`.
 */
export async function cancelMove(place: ClusterPlace, { area, name, shard }: Move): Promise<number> {
  return change(place, async (transaction, version) => {
    await transaction.rows(CANCEL, [area, name, shard, version]);
    await transaction.rows(LET_GO, [shard]);
    return version;
  });
}

/** From now on the node that owns the shard releases it, and none claims it. */
export async function holdShard(place: ClusterPlace, { area, name, shard }: Move, version: number): Promise<void> {
  await change(place, async (transaction) => {
    const found = await transaction.rows(FOUND, [area, name, shard, version]);
    if (found.length === 0) throw otherCommand; // keeps (3)
    await transaction.rows(HOLD, [shard]);
  });
}

export interface Switch {
  readonly move: Move;
  readonly from: number;
  /** Of the step before. */
  readonly frozen: number;
}

/** The end of the transaction that has written the new shard. Resolves with the version. */
export async function switchShard(transaction: Transaction, { move, from, frozen }: Switch): Promise<number> {
  const { area, name, shard } = move;
  const version = await raiseVersion(transaction);
  // keeps (3)
  const switched = await transaction.rows(SWITCH, [area, name, shard, frozen, from, version]);
  if (switched.length === 0) throw otherCommand;
  await transaction.rows("UPDATE larder.shard SET is_held = false WHERE id = $1::int", [shard]);
  return version;
}

/** Writes are accepted again. Resolves with the version. */
export async function freeTenant(place: ClusterPlace, { area, name, shard }: Move): Promise<number> {
  return change(place, async (transaction, version) => {
    await transaction.rows(FREE, [area, name, shard, version]);
    return version;
  });
}

export const otherCommand = new StartRefusal(
  "Another command has changed the move meanwhile: run this one again, which finds out how far it is",
);

export const nounOf = { store: "database", vector: "index", messaging: "user" } as const satisfies Record<
  AreaName,
  string
>;

async function assertShard(transaction: Transaction, { area, shard }: Move, from: number): Promise<void> {
  const shards = await transaction.rows<{ id: number; known: boolean }>(SHARDS, [area]);
  if (!shards.some(({ id }) => id === shard))
    throw new StartRefusal(
      `Shard ${shard} is not one of the area ${area}: name one of ${shards.map(({ id }) => id).join(", ")}, or make one with larder cluster add-shards ${area} 1`,
      2,
    );
  const unknown = shards.filter(({ id, known }) => !known && (id === shard || id === from)).map(({ id }) => id);
  if (unknown.length > 0)
    throw new StartRefusal(
      `The tenants of shard ${unknown.join(", ")} are not known yet: start a node of this version, wait until it serves ${area}, and run this command again`,
    );
}

async function assertNodes(transaction: Transaction, area: AreaName): Promise<void> {
  assertNoneOlder(await transaction.rows<{ name: string }>(OLDER_NODES, [MOVES_SINCE[area]]));
  const keyless = (await transaction.rows<{ name: string }>(KEYLESS)).map(({ name }) => name);
  if (keyless.length > 0)
    throw new StartRefusal(
      `The ${printNodes(keyless)} of the cluster cannot say which changes of tenants are in effect there: start each node again with LARDER_CLUSTER_KEY`,
    );
}

/** A transaction with a new version, in which the row of the cluster is locked. */
async function change<Result>(
  place: ClusterPlace,
  work: (transaction: Transaction, version: number) => Promise<Result>,
): Promise<Result> {
  return changeAtOnce(place, async (transaction) => {
    try {
      return await work(transaction, await raiseVersion(transaction));
    } catch (fault) {
      throw ownerNeeded(fault, place);
    }
  });
}

/** The error that says who may move tenants, in place of that of PostgreSQL. */
export function ownerNeeded(fault: unknown, { place }: ClusterPlace): unknown {
  if (codeOf(fault) !== NO_PERMISSION) return fault;
  return new StartRefusal(`The user of ${place} may not move tenants: run this command as the owner of the tables`, 1, {
    cause: fault,
  });
}
