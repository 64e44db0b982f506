/**
 * `larder cluster import <directory>`: the data of a single server becomes that of
 * a cluster whose areas are empty.
 *
 * (1) The directory is locked, read as a start reads it, and not changed.
 * (2) All areas are written in one transaction, under a new epoch of each shard.
 *     So an interrupted import leaves the cluster empty, and a former owner of a
 *     shard can add nothing.
 * (3) The end of a commit can be unknown. A repetition finds the areas as it would
 *     write them, and proves by a commit of its own that they are safe.
 *
 * The files themselves become rows, with another name in their headers: so bodies
 * of messages stay at their places, and a start replays what it would have
 * replayed before.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { ROW_BYTES_MAX } from "../../../cluster/shipped/segment-log.ts";
import { PART_BYTES } from "../../../cluster/shipped/snapshot-store.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { segmentPath, snapshotPath } from "../../../persistence/area-files.ts";
import type { OnBytes } from "../../../persistence/byte-progress.ts";
import { checkDataDirectory } from "../../../persistence/data-directory.ts";
import { type DiskFile, readFully, withFile } from "../../../persistence/disk/disk.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { DamagedData, DirectoryInUse } from "../../../persistence/errors.ts";
import type { AreaReport } from "../../../persistence/inspection.ts";
import { FILE_HEADER_BYTES, type FileKind, FORMAT } from "../../../persistence/journal/file-format.ts";
import type { AreaName } from "../../areas/area.ts";
import { areaPlace } from "../../areas/area-place.ts";
import { damageOf, inspectStoredArea } from "../../areas/inspect-area.ts";
import { describeArea } from "../../cli/check.ts";
import { reportBytes } from "../../cli/progress.ts";
import { readStoredTokens } from "../../cli/running-server.ts";
import { assertRestored, STORED_AREAS } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { directoryRefusal, StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { type StoredTenant, type StoredTokens, TOKENS_FILE } from "../../tenants/stored-tokens.ts";
import { resolveTenants } from "../../tenants/tokens.ts";
import { firstShardOf, readFacts, withSession } from "../cluster-facts.ts";
import { ungivenSecrets } from "../given-secrets.ts";
import { assertNoNode } from "../node-file.ts";
import { renameArea } from "./area-header.ts";
import { findLivingNodes, printNodes } from "./living-nodes.ts";
import { type ClusterPlace, changeAtOnce, type Transaction } from "./transaction.ts";

/** A file of an area, and the bytes of it that count: without the end that a crash left. */
interface ImportedFile {
  readonly kind: FileKind;
  readonly number: number;
  readonly path: string;
  readonly bytes: number;
}

interface ImportedArea {
  readonly area: AreaName;
  readonly shard: number;
  /** In the headers of its files in the cluster. */
  readonly nameInFiles: string;
  readonly segments: readonly ImportedFile[];
  readonly snapshot: ImportedFile | undefined;
}

/** Returns the lines to print. Throws a `StartRefusal`; then the directory is unchanged, and the cluster is empty or whole. */
export async function importDirectory(
  run: RunSettings,
  place: ClusterPlace,
  operand: string,
): Promise<readonly string[]> {
  const directory = resolve(operand);
  const lock = await openSource(directory);
  try {
    const reports = await readAreas(run, directory);
    const stored = readStoredTokens(directory);
    const { id, version, areas, isDone } = await withSession(place.plan, place.place, (session) =>
      compare(session, directory, reports),
    );
    const lines = [...reports.map(describeArea), ...damageOf(reports), ...notesOn(run, directory, stored)];
    if (isDone) return [`the cluster ${id} already has the data of ${directory}; nothing was changed`, ...lines];
    await reportBytes(run, (onBytes) =>
      changeAtOnce(place, async (transaction) => {
        await write(transaction, areas, onBytes);
        if (version > 1) await transaction.rows(FORGET_TENANTS);
      }),
    );
    return [`imported ${directory} into the cluster ${id}`, ...lines];
  } catch (fault) {
    throw directoryRefusal(fault, directory, "the operand");
  } finally {
    lock.release();
  }
}

/** keeps (1) */
async function openSource(directory: string): Promise<DirectoryLock> {
  try {
    if (!existsSync(directory)) throw new StartRefusal(`${directory} does not exist: name a data directory`);
    assertRestored(directory);
    if (!(await checkDataDirectory(fileDisk, directory, STORED_AREAS)))
      throw new StartRefusal(`${directory} is not a data directory: it has no format file`);
    assertNoNode(directory);
    return await lockDirectory(directory);
  } catch (fault) {
    if (fault instanceof DirectoryInUse)
      throw new StartRefusal(`A larder uses ${directory}: stop it with larder stop, and import then`, 1, {
        cause: fault,
      });
    throw directoryRefusal(fault, directory, "the operand");
  }
}

async function readAreas(run: RunSettings, directory: string): Promise<readonly AreaReport[]> {
  const reports: AreaReport[] = [];
  for (const area of STORED_AREAS) {
    const report = await reportBytes(run, (onBytes) => inspectStoredArea(directory, area, onBytes));
    if (report.fault !== undefined) throw new StartRefusal(report.fault);
    reports.push(report);
  }
  return reports;
}

interface Comparison {
  readonly id: string;
  /** Of the tables. */
  readonly version: number;
  readonly areas: readonly ImportedArea[];
  readonly isDone: boolean;
}

/** The areas with their shards, and whether the cluster has them already. Throws a `StartRefusal` if it has others. */
async function compare(session: SqlSession, directory: string, reports: readonly AreaReport[]): Promise<Comparison> {
  const facts = await readFacts(session);
  const { id, version } = facts;
  const several = STORED_AREAS.filter((area) => facts.shards[area].length > 1);
  if (several.length > 0)
    throw new StartRefusal(
      `The cluster ${id} has several shards of an area (${several.join(", ")}): import into a new cluster, which larder cluster init makes in another database, and add shards afterwards`,
    );
  const areas = STORED_AREAS.map((area, index) =>
    importedArea(directory, { area, shard: firstShardOf(facts, area).shard, report: reports[index] as AreaReport }),
  );
  const states: ("empty" | "same" | "other")[] = [];
  for (const area of areas) states.push(await stateOf(session, area));
  if (states.every((state) => state === "empty")) {
    const living = await findLivingNodes(new PostgresLogStore(session), systemClock);
    if (living.length === 0) return { id, version, areas, isDone: false };
    throw new StartRefusal(
      `The ${printNodes(living)} of the cluster must not run meanwhile: stop what runs, and import then`,
    );
  }
  const isMissing = areas.some(({ segments }, index) => segments.length > 0 && states[index] !== "same");
  if (isMissing || states.includes("other")) {
    const used = areas.filter((_, index) => states[index] !== "empty").map(({ area }) => area);
    throw new StartRefusal(
      `The cluster ${id} has data already (${used.join(", ")}): import into a new cluster, which larder cluster init makes in another database`,
    );
  }
  if ((await session.run(LOCK, [])).isWarned) throw new StartRefusal(NOT_SAFE); // keeps (3)
  return { id, version, areas, isDone: true };
}

/** Changes nothing, and its commit waits for the standby as an import does. */
const LOCK: Statement = { name: "larder-import-lock", text: "SELECT id FROM larder.shard FOR NO KEY UPDATE" };
const NOT_SAFE =
  "PostgreSQL has the data, but perhaps only on its primary: run the command again when its standby is there";

function importedArea(
  dataDirectory: string,
  { area, shard, report }: { area: AreaName; shard: number; report: AreaReport },
): ImportedArea {
  const { directory } = areaPlace(dataDirectory, area);
  const { covered, segments, snapshot } = report;
  return {
    area,
    shard,
    nameInFiles: areaPlace(dataDirectory, area, shard).name,
    segments: [...covered, ...segments].map(
      ({ number, bytes }): ImportedFile => ({ kind: "segment", number, path: segmentPath(directory, number), bytes }),
    ),
    snapshot: snapshot && {
      kind: "snapshot",
      number: snapshot.number,
      path: snapshotPath(directory, snapshot.number),
      bytes: snapshot.bytes,
    },
  };
}

const SNAPSHOT: Statement = {
  name: "larder-import-snapshot",
  text: "SELECT snapshot_number::float8 AS number, snapshot_bytes::float8 AS bytes FROM larder.shard WHERE id = $1::int",
};

/** What a shard has: nothing, or what this import writes, or something else. */
async function stateOf(session: SqlSession, area: ImportedArea): Promise<"empty" | "same" | "other"> {
  const store = new PostgresLogStore(session);
  const found = await store.segments(area.shard);
  type Pointer = { number: number | null; bytes: number | null };
  const [pointer] = (await session.run<Pointer>(SNAPSHOT, [area.shard])).rows;
  if (found.length === 0 && (pointer?.number ?? null) === null) return "empty";
  const last = area.segments.at(-1);
  const isSame =
    found.length === area.segments.length &&
    found.every(({ segment, bytes }, index) => {
      const own = area.segments[index];
      return own?.number === segment && own.bytes === bytes;
    }) &&
    (pointer?.number ?? undefined) === area.snapshot?.number &&
    (pointer?.bytes ?? undefined) === area.snapshot?.bytes;
  if (!isSame || last === undefined) return "other";
  // The salt in the header is drawn for each segment.
  const [row] = await store.read(area.shard, last.number, 0, 1);
  const header = await withFile(await fileDisk.open(last.path, "read"), (file) =>
    readPiece(file, area, { of: last, start: 0, length: FILE_HEADER_BYTES }),
  );
  return row?.bytes.subarray(0, FILE_HEADER_BYTES).equals(header) === true ? "same" : "other";
}

/** A part of a file, as the cluster has it. */
async function readPiece(
  file: DiskFile,
  { area: from, nameInFiles: to }: ImportedArea,
  { of: { kind, number, path }, start, length }: { of: ImportedFile; start: number; length: number },
): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const count = await readFully(file, bytes, start);
  if (count < length) throw new DamagedData(path, start + count, "it became shorter");
  if (start === 0) renameArea(bytes, { kind, number, path, from, to });
  return bytes;
}

/** Every claim and append waits for the end of the transaction. */
const LOCK_SHARDS = "SELECT id FROM larder.shard ORDER BY id FOR UPDATE";

/** A statement of its own, because one that waits for a lock does not see the rows of the log that were added meanwhile. */
const SHARD_STATES = `SELECT id, epoch::float8 AS epoch,
    snapshot_number IS NOT NULL OR EXISTS (SELECT 1 FROM larder.log WHERE shard = s.id) AS is_used,
    EXISTS (SELECT 1 FROM larder.node n WHERE n.life = s.owner AND NOT n.is_dead) AS is_owned
  FROM larder.shard s`;

const INSERT_ROW = `INSERT INTO larder.log (shard, segment, start, stop, epoch, bytes)
  VALUES ($1::int, $2::bigint, $3::bigint, $3::bigint + length($5::bytea), $4::bigint, $5::bytea)`;

/** Parts of a snapshot that was never completed may be there. */
const REMOVE_PARTS = "DELETE FROM larder.snapshot_part WHERE shard = $1::int";

const INSERT_PART = `INSERT INTO larder.snapshot_part (shard, epoch, number, part, bytes)
  VALUES ($1::int, $2::bigint, $3::bigint, $4::int, $5::bytea)`;

const SET_SHARD = `UPDATE larder.shard SET epoch = $2::bigint, owner = NULL, heir = NULL, tries = 0,
    writer_format = greatest(writer_format, $3::int), snapshot_epoch = $4::bigint, snapshot_number = $5::bigint,
    snapshot_parts = $6::int, snapshot_bytes = $7::bigint
  WHERE id = $1::int`;

/** The names of the imported tenants are in the data: the next owner of a shard notes them. */
const FORGET_TENANTS = "UPDATE larder.shard SET are_tenants_known = false";

/** keeps (2) */
async function write(transaction: Transaction, areas: readonly ImportedArea[], onBytes: OnBytes): Promise<void> {
  type Shard = { id: number; epoch: number; is_used: boolean; is_owned: boolean };
  await transaction.rows(LOCK_SHARDS);
  const shards = await transaction.rows<Shard>(SHARD_STATES);
  if (shards.some(({ is_used, is_owned }) => is_used || is_owned))
    throw new StartRefusal("A node has started in the cluster meanwhile: stop it, and import into a new cluster");
  for (const area of areas) {
    const epoch = (shards.find(({ id }) => id === area.shard)?.epoch ?? 0) + 1;
    await writeArea(transaction, { area, epoch, onBytes });
  }
}

async function writeArea(
  transaction: Transaction,
  { area, epoch, onBytes }: { area: ImportedArea; epoch: number; onBytes: OnBytes },
): Promise<void> {
  const { shard, segments, snapshot } = area;
  const all = [...segments, ...(snapshot === undefined ? [] : [snapshot])];
  const totalBytes = all.reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBytes = 0;
  const send = async (
    file: ImportedFile,
    pieceBytes: number,
    put: (start: number, bytes: Buffer) => Promise<unknown>,
  ) =>
    withFile(await fileDisk.open(file.path, "read"), async (opened) => {
      for (let start = 0; start < file.bytes; start += pieceBytes) {
        const length = Math.min(pieceBytes, file.bytes - start);
        await put(start, await readPiece(opened, area, { of: file, start, length }));
        doneBytes += length;
        onBytes(area.area, doneBytes, totalBytes);
      }
    });
  for (const file of segments)
    await send(file, ROW_BYTES_MAX, (start, bytes) =>
      transaction.rows(INSERT_ROW, [shard, file.number, start, epoch, bytes]),
    );
  await transaction.rows(REMOVE_PARTS, [shard]);
  if (snapshot !== undefined)
    await send(snapshot, PART_BYTES, (start, bytes) =>
      transaction.rows(INSERT_PART, [shard, epoch, snapshot.number, start / PART_BYTES, bytes]),
    );
  const pointer =
    snapshot === undefined
      ? [null, null, null, null]
      : [epoch, snapshot.number, Math.ceil(snapshot.bytes / PART_BYTES), snapshot.bytes];
  await transaction.rows(SET_SHARD, [shard, epoch, FORMAT, ...pointer]);
}

/** What the operator has to do, because the cluster stores no secrets and no definitions of tenants. */
function notesOn(run: RunSettings, directory: string, stored: StoredTokens): readonly string[] {
  const notes = [`do not start a single server on ${directory} again: what it accepts is not in the cluster`];
  const ungiven = ungivenSecrets(resolveTenants(run, stored).tenants);
  if (ungiven.length > 0)
    notes.push(`${join(directory, TOKENS_FILE)} has secrets that a cluster does not store:`, ...ungiven);
  const lists: readonly (readonly [string, readonly StoredTenant[] | undefined])[] = [
    ["database", stored.databases],
    ["index", stored.indexes],
    ["messaging user", stored.users],
  ];
  for (const [noun, tenants] of lists)
    for (const { name } of tenants?.filter(({ madeBy }) => madeBy === "admin") ?? [])
      notes.push(`The ${noun} ${name} was made at run time: list it in the configuration file of every node`);
  return notes;
}
