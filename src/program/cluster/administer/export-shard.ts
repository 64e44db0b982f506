/**
 * `larder cluster export-shard <area or shard> <directory>`: a shard of a cluster
 * becomes an area of a single server.
 *
 * (1) Everything is read from one state of the database, so a shard may be served
 *     meanwhile: the copy ends at the last commit before that state.
 * (2) The files are complete, durable and read as a start would read them before the
 *     area gets its name, by one rename. Until then the directory has no such area,
 *     and the next start or export removes the rest.
 */
import { accessSync, constants, existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SnapshotPointer } from "../../../cluster/log-store/log-store.ts";
import { ObjectTrouble } from "../../../cluster/objects/objects.ts";
import { type PointerRow, PostgresLogStore, pointerOf } from "../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession } from "../../../cluster/postgres/session.ts";
import { DamagedLog } from "../../../cluster/shipped/errors.ts";
import { type FetchOptions, fetchSegment, fetchSnapshot } from "../../../cluster/shipped/fetch.ts";
import { secretBytes } from "../../../kernel/random.ts";
import { segmentPath, snapshotPath } from "../../../persistence/area-files.ts";
import { areaDirectory, assertNotForeign, prepareDataDirectory } from "../../../persistence/data-directory.ts";
import { readFully, withFile, writeFully } from "../../../persistence/disk/disk.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { DirectoryInUse, NewerFormat } from "../../../persistence/errors.ts";
import type { AreaReport } from "../../../persistence/inspection.ts";
import { FILE_HEADER_BYTES } from "../../../persistence/journal/file-format.ts";
import { highWaterPath } from "../../../persistence/journal/high-water.ts";
import { type AreaName, areaNames } from "../../areas/area.ts";
import { areaPlace } from "../../areas/area-place.ts";
import { damageOf, inspectStoredArea } from "../../areas/inspect-area.ts";
import { describeArea } from "../../cli/backups/describe-area.ts";
import { reportBytes } from "../../cli/progress.ts";
import { RESTORING_PREFIX, STORED_AREAS } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { makeDirectory } from "../../directory/make-directory.ts";
import { directoryRefusal, StartRefusal } from "../../refusal.ts";
import { ClusterObjects } from "../../services/objects/cluster-objects.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { readFacts, withSession } from "../cluster-facts.ts";
import { assertNoNode } from "../node-file.ts";
import { renameArea } from "./area-header.ts";
import { type ClusterPlace, readAtOnce, type Transaction } from "./transaction.ts";

const DIRECTORY_MODE = 0o700;

/** Returns the lines to print. Throws a `StartRefusal`; then the directory has no such area. */
export async function exportShard(
  run: RunSettings,
  place: ClusterPlace,
  operands: readonly string[],
): Promise<readonly string[]> {
  const [name = "", operand = ""] = operands;
  const { area, shard } = await findShard(place, name);
  const directory = resolve(operand);
  let lock: DirectoryLock | undefined;
  const staging = join(directory, `${RESTORING_PREFIX}${secretBytes(8).toString("hex")}`);
  try {
    makeDirectory(directory, DIRECTORY_MODE);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    assertFree(directory, area);
    lock = await lockTarget(directory);
    // Another process may have filled it before the lock.
    assertFree(directory, area);
    const names = readdirSync(directory).filter((each) => each.startsWith(RESTORING_PREFIX));
    for (const each of names) rmSync(join(directory, each), { recursive: true, force: true });
    const { owner, epoch } = await readAtOnce(place, (transaction) =>
      fetchShard(transaction, { area, shard, staging }),
    );
    const report = await reportBytes(run, (onBytes) => inspectStoredArea(staging, area, onBytes));
    if (report.fault !== undefined) throw new StartRefusal(report.fault);
    await adopt(directory, area, staging);
    return describe(directory, report, { owner, epoch });
  } catch (fault) {
    if (fault instanceof DamagedLog || fault instanceof NewerFormat)
      throw new StartRefusal(fault.message, 1, { cause: fault });
    throw directoryRefusal(fault, directory, "the second operand");
  } finally {
    if (lock !== undefined) rmSync(staging, { recursive: true, force: true });
    lock?.release();
  }
}

interface StagedShard extends ExportedShard {
  /** A directory that does not exist. */
  readonly staging: string;
}

interface ExportedShard {
  readonly area: AreaName;
  readonly shard: number;
}

/** The shard that an operand names: the only one of an area, or its number. */
async function findShard({ plan, place }: ClusterPlace, name: string): Promise<ExportedShard> {
  const named = areaNames.find((each) => each === name);
  if (named === undefined && !/^\d{1,9}$/.test(name))
    throw new StartRefusal(
      `${JSON.stringify(name)} is not an area: name one of ${areaNames.join(", ")}, or the number of a shard`,
      2,
    );
  const { shards } = await withSession(plan, place, readFacts);
  for (const area of areaNames) {
    const numbers = shards[area].map(({ shard }) => shard);
    const [first = 0] = numbers;
    if (area === named && numbers.length === 1) return { area, shard: first };
    if (area === named)
      throw new StartRefusal(`The area ${area} has several shards: name one of ${numbers.join(", ")}`, 2);
    if (numbers.includes(Number(name))) return { area, shard: Number(name) };
  }
  throw new StartRefusal(`The cluster has no shard ${name}: larder cluster status lists them`, 2);
}

async function lockTarget(directory: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory);
  } catch (fault) {
    if (!(fault instanceof DirectoryInUse)) throw fault;
    throw new StartRefusal(`A larder uses ${directory}: stop it, or name another directory`, 1, { cause: fault });
  }
}

/** Throws a `StartRefusal` unless the directory can get the area. */
function assertFree(directory: string, area: AreaName): void {
  assertNoNode(directory);
  const names = readdirSync(directory).filter((each) => !each.startsWith(RESTORING_PREFIX));
  assertNotForeign(directory, names, STORED_AREAS);
  const own = areaDirectory(directory, area);
  const isUsed = (existsSync(own) && readdirSync(own).length > 0) || existsSync(highWaterPath(own));
  if (isUsed)
    throw new StartRefusal(
      `${directory} has data of the area ${area} already: name another directory, such as a new one`,
    );
}

interface ShardState {
  readonly owner: string | undefined;
  readonly epoch: number;
}

/** Tables of an earlier version have no snapshots in an object store. */
const SHARD = `SELECT s.epoch::float8 AS epoch, snapshot_epoch::float8 AS snapshot_epoch, snapshot_number::float8 AS number,
    snapshot_parts AS parts, snapshot_bytes::float8 AS bytes, to_jsonb(s) ->> 'snapshot_address' AS address,
    to_jsonb(s) ->> 'snapshot_object' AS object,
    (SELECT n.name FROM larder.node n WHERE n.life = s.owner AND NOT n.is_dead) AS owner
  FROM larder.shard s WHERE id = $1::int`;

interface ShardRow extends PointerRow {
  readonly owner: string | null;
  readonly epoch: number;
}

/** Copies all files of a shard below `staging`, with the names of the area. keeps (1) */
export async function fetchShard(transaction: Transaction, { area, shard, staging }: StagedShard): Promise<ShardState> {
  const [row] = await transaction.rows<ShardRow>(SHARD, [shard]);
  if (row === undefined) throw new StartRefusal(`The cluster has no shard ${shard}`);
  await fetchShardFiles(transaction, { area, shard, staging }, pointerOf(row));
  return { owner: row.owner ?? undefined, epoch: row.epoch };
}

/** The same with the snapshot that this transaction has written, and its row of the shard does not name yet. */
export async function fetchShardFiles(
  transaction: Transaction,
  { area, shard, staging }: StagedShard,
  snapshot: SnapshotPointer | undefined,
): Promise<void> {
  const session: SqlSession = {
    async run<Row>({ text }: { readonly text: string }, values: readonly unknown[]) {
      return { rows: await transaction.rows<Row>(text, values), isWarned: false };
    },
  };
  const directory = areaDirectory(staging, area);
  await fileDisk.mkdir(staging);
  await fileDisk.mkdir(directory);
  const store = new PostgresLogStore(session);
  const { name: nameInFiles } = areaPlace(staging, area, shard);
  const objects = new ClusterObjects("read");
  const fetch: FetchOptions = {
    ...{ local: fileDisk, directory, area: nameInFiles, store, shard },
    // One state of the database cannot be read over a second connection, so nothing is repeated.
    statements: { run: (statement) => statement() },
    objects: { stores: objects, patiently: (call) => call() },
  };
  if (snapshot !== undefined) {
    const { number } = snapshot;
    try {
      await fetchSnapshot(fetch, snapshot);
    } catch (fault) {
      if (!(fault instanceof ObjectTrouble)) throw fault;
      throw new StartRefusal(`The snapshot of shard ${shard} cannot be read: ${fault.message}`, 1, { cause: fault });
    } finally {
      await objects.close();
    }
    await rename("snapshot", number, { path: snapshotPath(directory, number), from: nameInFiles, to: area });
  }
  for (const view of await store.segments(shard)) {
    const { segment: number } = view;
    await fetchSegment(fetch, view);
    await rename("segment", number, { path: segmentPath(directory, number), from: nameInFiles, to: area });
  }
  await fileDisk.syncDirectory(directory);
}

async function rename(
  kind: "segment" | "snapshot",
  number: number,
  { path, from, to }: { path: string; from: string; to: string },
): Promise<void> {
  await withFile(await fileDisk.open(path, "update"), async (file) => {
    const bytes = Buffer.alloc(FILE_HEADER_BYTES);
    await readFully(file, bytes, 0);
    renameArea(bytes, { kind, number, path, from, to });
    await writeFully(file, bytes, 0);
    await file.fsync();
  });
}

/** keeps (2) */
async function adopt(directory: string, area: AreaName, staging: string): Promise<void> {
  await prepareDataDirectory(fileDisk, directory, STORED_AREAS);
  const own = areaDirectory(directory, area);
  rmdirSync(own);
  await fileDisk.rename(areaDirectory(staging, area), own);
  await fileDisk.syncDirectory(directory);
}

function describe(directory: string, report: AreaReport, { owner, epoch }: ShardState): readonly string[] {
  const { area } = report;
  return [
    `exported ${area} into ${directory}`,
    describeArea(report),
    ...damageOf([report]),
    owner === undefined
      ? `no node serves ${area}: this is everything that it has accepted, up to epoch ${epoch}`
      : `node ${owner} serves ${area}, so this is what was committed when the export began: stop the nodes to export the last state`,
    "give the single server the tokens and signing keys of the nodes, or it generates others",
  ];
}
