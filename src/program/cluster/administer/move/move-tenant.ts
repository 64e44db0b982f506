/**
 * `larder cluster move-tenant <area>/<tenant> <shard>`: a database, an index or a
 * user of messaging moves to a shard that has no others, while its cluster runs
 * (`move-steps.ts`).
 *
 * (1) From the first step on no node accepts a write of the tenant, until the new
 *     shard is the one of the table and every node knows it. Reads go on. The command
 *     says how long that was. For a user of messaging no call starts meanwhile, and no
 *     schedule fires; a node reports the step when no call is under way any more, or
 *     has given up those that are.
 * (2) The new shard is written, read back and compared in the transaction that makes
 *     it the shard of the tenant. So the tenant is whole on one shard at every moment.
 * (3) A failure before that transaction lets writes go on where the tenant was. After
 *     it, and after the end of the command at any step, running it again completes it.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SnapshotPointer } from "../../../../cluster/log-store/log-store.ts";
import { isFree } from "../../../../cluster/node/placement.ts";
import { PostgresLogStore } from "../../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../../cluster/postgres/session.ts";
import { PART_BYTES } from "../../../../cluster/shipped/snapshot-store.ts";
import { systemClock } from "../../../../kernel/clock.ts";
import { secretBytes } from "../../../../kernel/random.ts";
import { areaNames } from "../../../areas/area.ts";
import { areaPlace } from "../../../areas/area-place.ts";
import { StartRefusal } from "../../../refusal.ts";
import { withSession } from "../../cluster-facts.ts";
import { whenReached } from "../../tenants/reach.ts";
import { nodesLacking } from "../../tenants/tenant-table.ts";
import { fetchShard, fetchShardFiles } from "../export-shard.ts";
import { ShardFiles } from "../import/shard-files.ts";
import { ShardRows } from "../import/shard-rows.ts";
import { findLivingNodes, printNodes } from "../living-nodes.ts";
import { waitUntil } from "../place-shards.ts";
import { type ClusterPlace, changeAtOnce, readAtOnce, type Transaction } from "../transaction.ts";
import { upgradeIfOlder } from "../upgrade.ts";
import {
  beginMove,
  cancelMove,
  freeTenant,
  holdShard,
  type Move,
  nounOf,
  otherCommand,
  ownerNeeded,
  switchShard,
} from "./move-steps.ts";
import { readImage, readOutline } from "./read-image.ts";
import type { ShardOutline, TenantImage, WantedTenant } from "./tenant-image.ts";

type Print = (line: string) => void;

/** How long the node that owns the new shard may take to release it. */
const RELEASE_MS_MAX = 30_000;
/** How long the command waits for the removal of the data on the former shard. */
const REMOVAL_MS_MAX = 30_000;
const LOOK_MS = 100;

/** Prints what it has done, and returns the exit code. Throws a `StartRefusal`. */
export async function moveTenant(place: ClusterPlace, operands: readonly string[], print: Print): Promise<0 | 1> {
  const move = parseMove(operands);
  await upgradeIfOlder(place);
  return withSession(place.plan, place.place, (session) => moveWith(session, { place, move, print }));
}

/** The operands. Throws a `StartRefusal`. */
export function parseMove([tenant = "", number = ""]: readonly string[]): Move {
  const slash = tenant.indexOf("/");
  const [area, name] = [tenant.slice(0, Math.max(0, slash)), tenant.slice(slash + 1)];
  const known = areaNames.find((each) => each === area);
  if (known === undefined || name === "")
    throw new StartRefusal(
      `${JSON.stringify(tenant)} is not a database, an index or a user: name one as store/<database>, vector/<index> or messaging/<user>`,
      2,
    );
  if (!/^[1-9]\d{0,8}$/.test(number))
    throw new StartRefusal(
      `${JSON.stringify(number)} is not the number of a shard: larder cluster status lists them`,
      2,
    );
  return { area: known, name, shard: Number(number) };
}

interface MoveRun {
  readonly place: ClusterPlace;
  readonly move: Move;
  readonly print: Print;
}

async function moveWith(session: SqlSession, { place, move, print }: MoveRun): Promise<0 | 1> {
  const { area, name, shard } = move;
  const what = `${nounOf[area]} ${name}`;
  // A node that is gone and that nobody has declared dead would be waited for.
  const living = await findLivingNodes(new PostgresLogStore(session), systemClock);
  const frozenMs = systemClock.monotonicMs();
  const state = await beginMove(place, move);
  switch (state.kind) {
    case "there":
      print(`${what}: lives on shard ${shard} already; nothing was changed`);
      return reportRemoval(session, { move, print, hasNodes: living.length > 0 });
    case "cancelled":
      await untilReached(session, state.version);
      print(`${what}: stays on shard ${shard}; its move to shard ${state.to} was undone`);
      return 0;
    case "frozen": {
      const copied = await copyOrCancel(session, { place, move, from: state.from, frozen: state.version });
      print(`${what}: moved from shard ${state.from} to shard ${shard}`);
      print(describeCopy(copied.image));
      if (area === "messaging") print(describeLog(copied.image));
      await settle(session, { version: copied.version, what, shard });
      break;
    }
    case "switched":
      await settle(session, { version: state.version, what, shard });
      print(`${what}: lives on shard ${shard} since an earlier command, which did not complete the move`);
      break;
    default: {
      const never: never = state;
      throw new Error(`Unknown state: ${String(never)}`);
    }
  }
  await untilReached(session, await freeTenant(place, move));
  const hasNodes = living.length > 0;
  const isServed = !hasNodes || (await untilServed(session, shard, print));
  const seconds = ((systemClock.monotonicMs() - frozenMs) / 1_000).toFixed(1);
  print(
    state.kind === "frozen"
      ? `writes were refused for at most ${seconds} s`
      : `writes are accepted again, ${seconds} s after this command began`,
  );
  return (await reportRemoval(session, { move, print, hasNodes })) === 0 && isServed ? 0 : 1;
}

interface Copy {
  readonly place: ClusterPlace;
  readonly move: Move;
  readonly from: number;
  /** The version of the freeze. */
  readonly frozen: number;
}

interface Copied {
  /** That of the switch. */
  readonly version: number;
  /** Undefined: the former shard had nothing of the tenant. */
  readonly image: Pick<TenantImage, "contents" | "bytes" | "checksum" | "log"> | undefined;
}

/** keeps (3) */
async function copyOrCancel(session: SqlSession, copy: Copy): Promise<Copied> {
  const { place, move, frozen } = copy;
  const staging = await mkdtemp(join(tmpdir(), "larder-move-"));
  try {
    const reach = await whenReached(frozen, reachOptions(session));
    if (reach.reachedAllNodes !== true)
      throw new StartRefusal(
        `The ${printNodes(reach.missingNodes ?? ["…"])} of the cluster may still accept writes: see its log, start it again, and run this command again`,
      );
    await holdShard(place, move, frozen);
    await untilReleased(session, move.shard);
    return await copyShard(staging, copy);
  } catch (fault) {
    // Without an effect if the switch was committed: then the next command finds the tenant there.
    const version = await cancelMove(place, move).catch(() => {
      throw new StartRefusal(
        `The move has failed (${fault instanceof Error ? fault.message : String(fault)}), and writes may still be refused: run this command again, or with shard ${copy.from}, which undoes it`,
        1,
        { cause: fault },
      );
    });
    await untilReached(session, version);
    throw fault;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** keeps (2) */
async function copyShard(staging: string, { place, move, from, frozen }: Copy): Promise<Copied> {
  const { area, name, shard } = move;
  const source = { area, directory: join(staging, "source") };
  const target = { area, directory: join(staging, "target") };
  await readAtOnce(place, async (transaction) => {
    await fetchShard(transaction, { area, shard: from, staging: source.directory });
    await fetchShard(transaction, { area, shard, staging: target.directory });
  });
  const outline = await readOutline(target);
  const others = outline.names.filter((each) => each !== name);
  if (others.length > 0)
    throw new StartRefusal(`Shard ${shard} has data of ${others.join(", ")}: name a shard without data`);
  const image = await readImage(source, wantedOf(move, outline));
  try {
    const version = await changeAtOnce(place, async (transaction) => {
      try {
        const finish = image && (await writeShard(transaction, { move, outline, image, staging }));
        const switched = await switchShard(transaction, { move, from, frozen });
        await finish?.();
        return switched;
      } catch (fault) {
        throw ownerNeeded(fault, place);
      }
    });
    return { version, image };
  } finally {
    image?.close();
  }
}

const SHARD = `SELECT epoch::float8 AS epoch, is_held AS held,
    EXISTS (SELECT 1 FROM larder.node n WHERE n.life = s.owner AND NOT n.is_dead) AS owned
  FROM larder.shard s WHERE id = $1::int`;
/** A snapshot in an object store is not that of the shard any more. */
const FORGET_OBJECT = "UPDATE larder.shard SET snapshot_address = NULL, snapshot_object = NULL WHERE id = $1::int";
const REMOVE_LOG = "DELETE FROM larder.log WHERE shard = $1::int";

interface ShardRow {
  readonly epoch: number;
  readonly held: boolean;
  readonly owned: boolean;
}

interface NewShard {
  readonly move: Move;
  readonly outline: ShardOutline;
  readonly image: TenantImage;
  readonly staging: string;
}

/**
 * Replaces the files of the shard by those of the tenant, and compares them with it. The returned function gives the shard
 * its new epoch: it locks the row, after the row of the cluster, as other commands do.
 */
async function writeShard(
  transaction: Transaction,
  { move, outline, image, staging }: NewShard,
): Promise<() => Promise<void>> {
  const { area, name, shard } = move;
  const before = await readFree(transaction, SHARD, shard);
  const epoch = before.epoch + 1;
  const rows = await ShardRows.begin(transaction, { shard, epoch });
  await transaction.rows(REMOVE_LOG, [shard]);
  const files = new ShardFiles({
    rows,
    nameInFiles: areaPlace("", area, shard).name,
    saltOf: () => secretBytes(4).readUInt32LE(0),
  });
  await image.write(files, outline);
  const { number = 0, bytes = 0 } = files.snapshot ?? {};
  const pointer: SnapshotPointer = { epoch, number, parts: Math.ceil(bytes / PART_BYTES), bytes };
  const written = { area, directory: join(staging, "written") };
  await fetchShardFiles(transaction, { area, shard, staging: written.directory }, pointer);
  const found = await readImage(written, wantedOf(move, outline));
  found?.close();
  if (found?.contents !== image.contents || found.checksum !== image.checksum || found.log !== image.log)
    throw new StartRefusal(
      `The copy on shard ${shard} differs from the ${nounOf[area]} ${name}: checksum ${found?.checksum ?? "of nothing"} in place of ${image.checksum}. Nothing was changed`,
    );
  return async () => {
    const now = await readFree(transaction, `${SHARD} FOR UPDATE`, shard);
    if (now.epoch !== before.epoch) throw otherCommand;
    await transaction.rows(FORGET_OBJECT, [shard]);
    await files.finish();
  };
}

/** The row of a shard that nobody may own now. */
async function readFree(transaction: Transaction, statement: string, shard: number): Promise<ShardRow> {
  const [row] = await transaction.rows<ShardRow>(statement, [shard]);
  if (row === undefined || row.owned) throw otherCommand;
  return row;
}

function wantedOf({ name }: Move, { nextTenant: number, lastMessage }: ShardOutline): WantedTenant {
  return { name, number, lastMessage };
}

function describeCopy(image: Copied["image"]): string {
  if (image === undefined) return "it had no data";
  return `${image.contents}, ${image.bytes} bytes, the same checksum on both shards: sha256 ${image.checksum}`;
}

function describeLog(image: Copied["image"]): string {
  const log = image?.log === undefined ? "begins again" : `has what the journal still had: ${image.log}`;
  return `its log of messages ${log}; dead letters and everything unfinished moved`;
}

function reachOptions(session: SqlSession): Parameters<typeof whenReached>[1] {
  return { lacking: (version) => nodesLacking(session, version), clock: systemClock };
}

/** Resolves with the nodes that did not report a version in time. */
async function untilReached(session: SqlSession, version: number): Promise<readonly string[]> {
  const { reachedAllNodes, missingNodes = ["…"] } = await whenReached(version, reachOptions(session));
  return reachedAllNodes === true ? [] : missingNodes;
}

/** Every node knows where the tenant is: keeps (1). */
async function settle(
  session: SqlSession,
  { version, what, shard }: { readonly version: number; readonly what: string; readonly shard: number },
): Promise<void> {
  const missing = await untilReached(session, version);
  if (missing.length === 0) return;
  throw new StartRefusal(
    `The ${what} is on shard ${shard}, and its writes are still refused, because the ${printNodes(missing)} of the cluster may not know that yet: see its log, and run this command again`,
  );
}

async function untilReleased(session: SqlSession, shard: number): Promise<void> {
  const store = new PostgresLogStore(session);
  const endMs = systemClock.monotonicMs() + RELEASE_MS_MAX;
  for (;;) {
    const { shards, nodes } = await store.watch();
    const found = shards.find((each) => each.shard === shard);
    if (found === undefined || isFree(found, nodes)) return;
    if (systemClock.monotonicMs() > endMs)
      throw new StartRefusal(
        `Node ${found.ownerName} has not released shard ${shard} after ${RELEASE_MS_MAX / 1_000} s: see its log, and run this command again`,
      );
    await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
  }
}

async function untilServed(session: SqlSession, shard: number, print: Print): Promise<boolean> {
  const store = new PostgresLogStore(session);
  const left = await waitUntil(store, systemClock, { shards: [shard], print, isDone: () => true });
  if (left.length > 0) print(`shard ${shard}: no node serves it yet; see the logs of the nodes`);
  return left.length === 0;
}

const LEFT: Statement = {
  name: "larder-left-tenant",
  text: "SELECT left_on AS left FROM larder.tenant WHERE area = $1::text AND name = $2::text",
};

interface Removal {
  readonly move: Move;
  readonly print: Print;
  readonly hasNodes: boolean;
}

/** Waits until the former shard has no data of the tenant any more. Returns the exit code. */
async function reportRemoval(session: SqlSession, { move: { area, name }, print, hasNodes }: Removal): Promise<0 | 1> {
  const endMs = systemClock.monotonicMs() + REMOVAL_MS_MAX;
  for (let isFirst = true; ; isFirst = false) {
    const [row] = (await session.run<{ left: number | null }>(LEFT, [area, name])).rows;
    const left = row?.left ?? undefined;
    if (left === undefined) {
      if (!isFirst) print("its data on the former shard is removed");
      return 0;
    }
    if (!hasNodes || systemClock.monotonicMs() > endMs) {
      print(`its data on shard ${left} is removed when a node serves that shard`);
      return 0;
    }
    await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
  }
}
