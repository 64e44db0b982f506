/**
 * `larder cluster files <address>|off`: snapshots of shards go to an object store,
 * or into PostgreSQL again. The address is in PostgreSQL, and the credentials are in
 * the environment of each node.
 *
 * (1) No node lives that cannot read a snapshot which is an object, and none of an
 *     earlier version can start on these tables.
 * (2) The store has taken, returned and removed an object of this command before any
 *     node uses it.
 */
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { InvalidAddress, printAddress } from "../../../replication/objects/address.ts";
import { contentOf, ObjectStoreFailure } from "../../../replication/objects/object-store.ts";
import { codeOf, StartRefusal } from "../../refusal.ts";
import { ClusterObjects } from "../../services/objects/cluster-objects.ts";
import { copyAddressOf } from "../../services/objects/copy-settings.ts";
import { withSession } from "../cluster-facts.ts";
import { assertNoneOlder, findLivingNodes, OLDER_NODES } from "./living-nodes.ts";
import { type ClusterPlace, changeAtOnce } from "./transaction.ts";
import { upgradeIfOlder } from "./upgrade.ts";

/** The version of the tables whose nodes read snapshots from an object store. */
const FILES_SINCE = 7;
/** SQLSTATE `insufficient_privilege`. */
const NO_PERMISSION = "42501";
const OFF = "off";

const SET_FILES = "UPDATE larder.cluster SET files = $1::text";

/** Returns the lines to print. Throws a `StartRefusal`; then nothing was changed. */
export async function setFiles(place: ClusterPlace, operand: string): Promise<readonly string[]> {
  const address = operand === OFF ? undefined : operand;
  if (address !== undefined) printed(address);
  const { id } = await upgradeIfOlder(place);
  if (address !== undefined) await tryStore(address, id); // keeps (2)
  await withSession(place.plan, place.place, (session) => findLivingNodes(new PostgresLogStore(session), systemClock));
  await changeAtOnce(place, async (transaction) => {
    try {
      await transaction.rows(SET_FILES, [address ?? null]);
      if (address === undefined) return;
      assertNoneOlder(await transaction.rows<{ name: string }>(OLDER_NODES, [FILES_SINCE])); // keeps (1)
    } catch (fault) {
      if (codeOf(fault) !== NO_PERMISSION) throw fault;
      throw new StartRefusal(
        `The user of ${place.place} does not own the tables of the cluster: run this command as their owner`,
        1,
        { cause: fault },
      );
    }
  });
  if (address === undefined)
    return ["the next snapshot of each shard goes into PostgreSQL; those in an object store are read until then"];
  return [
    `the next snapshot of each shard goes to ${printed(address)}`,
    "each node needs its credentials, and rights to read, write, list and remove there",
  ];
}

/** The address for people. Throws a `StartRefusal` if it is not valid. */
function printed(address: string): string {
  try {
    return printAddress(copyAddressOf(address, "The address"));
  } catch (fault) {
    if (!(fault instanceof InvalidAddress)) throw fault;
    throw new StartRefusal(fault.message, 2, { cause: fault });
  }
}

async function tryStore(address: string, cluster: string): Promise<void> {
  const objects = new ClusterObjects("write");
  const name = `${cluster}/probe-${crypto.randomUUID()}`;
  try {
    const store = await objects.open(address);
    const bytes = Buffer.from(name);
    await store.putNew(name, contentOf(bytes));
    const found = await store.get(name, { start: 0, end: bytes.length });
    await store.remove([name]);
    if (found?.equals(bytes) !== true)
      throw new StartRefusal(`The object store ${printed(address)} does not return what was written: use another one`);
  } catch (fault) {
    if (!(fault instanceof ObjectStoreFailure)) throw fault;
    throw new StartRefusal(fault.message, 1, { cause: fault });
  } finally {
    await objects.close();
  }
}

/** Tables of an earlier version have none. */
const ADDRESSES: Statement = {
  name: "larder-object-addresses",
  text: `SELECT to_jsonb(c) ->> 'files' AS address FROM larder.cluster c
    UNION SELECT to_jsonb(s) ->> 'snapshot_address' FROM larder.shard s`,
};

export interface UnusableStore {
  readonly text: string;
  /** True: it may answer later. False: somebody must do something. */
  readonly isAway: boolean;
}

/** The object stores of a cluster that this machine cannot read: that of the next snapshots, and those of the present ones. */
export async function findUnusableStores(session: SqlSession, cluster: string): Promise<readonly UnusableStore[]> {
  const { rows } = await session.run<{ address: string | null }>(ADDRESSES, []);
  const addresses = rows.flatMap(({ address }) => (address === null ? [] : [address]));
  const objects = new ClusterObjects("read");
  const unusable: UnusableStore[] = [];
  try {
    for (const address of addresses) {
      try {
        await (await objects.open(address)).list(`${cluster}/`);
      } catch (fault) {
        if (!(fault instanceof ObjectStoreFailure || fault instanceof InvalidAddress)) throw fault;
        const isAway = fault instanceof ObjectStoreFailure && fault.kind === "unavailable";
        unusable.push({ text: `The object store of the cluster cannot be read: ${fault.message}`, isAway });
      }
    }
  } finally {
    await objects.close();
  }
  return unusable;
}
