/**
 * An area whose tenants go to several shards.
 *
 * (1) A tenant that has a row in the table of tenants goes to its shard. Of the
 *     others, the one with the most bytes is next, and goes to the shard with the
 *     fewest. So a repetition, which finds rows of all tenants, divides them in the
 *     same way.
 * (2) The salts of the new files follow from the files of the area, whose own salts
 *     are random. So a repetition knows its files again. Their rows have the epoch
 *     of the import: a shard whose epoch is another one was claimed since.
 */
import { createHash } from "node:crypto";
import { PostgresLogStore } from "../../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../../cluster/postgres/session.ts";
import type { OnBytes } from "../../../../persistence/byte-progress.ts";
import { areaDirectory } from "../../../../persistence/data-directory.ts";
import { readFully, withFile } from "../../../../persistence/disk/disk.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { type AreaReport, inspectArea } from "../../../../persistence/inspection.ts";
import { FILE_HEADER_BYTES, type FileKind, parseFileHeader } from "../../../../persistence/journal/file-format.ts";
import type { AreaName } from "../../../areas/area.ts";
import { areaPlace } from "../../../areas/area-place.ts";
import { StartRefusal } from "../../../refusal.ts";
import type { Transaction } from "../transaction.ts";
import type { AreaSplit, AreaTenant } from "./area-split.ts";
import { openFrameSplit } from "./frame-split.ts";
import { openMessagingSplit } from "./messaging-split.ts";
import { ShardFiles } from "./shard-files.ts";
import { ShardRows } from "./shard-rows.ts";
import { type ImportSource, readPointer, type ShardContents } from "./source.ts";
import { filesOf } from "./whole-area.ts";

const splits: Readonly<Record<AreaName, () => AreaSplit>> = {
  store: () => openFrameSplit("store"),
  vector: () => openFrameSplit("vector"),
  messaging: openMessagingSplit,
};

const KNOWN: Statement = {
  name: "larder-import-tenants",
  text: "SELECT name, shard FROM larder.tenant WHERE area = $1::text",
};
const ADD_TENANT = `INSERT INTO larder.tenant (area, name, shard) VALUES ($1::text, $2::text, $3::int)
  ON CONFLICT DO NOTHING`;
const TENANTS_ARE_KNOWN = "UPDATE larder.shard SET are_tenants_known = true WHERE area = $1::text";

export interface SplitOptions {
  readonly area: AreaName;
  /** At least two. */
  readonly shards: readonly number[];
  readonly session: SqlSession;
  readonly onBytes: OnBytes;
}

/** Reads the area of a data directory. Throws a `StartRefusal` if a start would refuse it. */
export async function splitArea(dataDirectory: string, options: SplitOptions): Promise<ImportSource> {
  const { area, shards, session, onBytes } = options;
  const split = splits[area]();
  const directory = areaDirectory(dataDirectory, area);
  const report = await inspectArea({ disk: fileDisk, directory, area, onBytes, engine: split });
  if (report.fault !== undefined) throw new StartRefusal(report.fault);
  const known = (await session.run<{ name: string; shard: number }>(KNOWN, [area])).rows;
  const tenants = split.tenants();
  const shardOf = shareTenants(tenants, shards, new Map(known.map(({ name, shard }) => [name, shard])));
  const fingerprint = await fingerprintOf(dataDirectory, area, report);
  const filesOfShard = (shard: number, rows: ShardRows): ShardFiles =>
    new ShardFiles({
      rows,
      nameInFiles: areaPlace(dataDirectory, area, shard).name,
      saltOf: (file) => saltOf(fingerprint, shard, file),
    });
  const filled = new Set(shardOf.values());
  return {
    area,
    report,
    shards,
    filled: shards.filter((shard) => filled.has(shard)),
    lines: linesOf(area, { shards, shardOf }),
    contentsOf: (inSession, shard) =>
      contentsOf(inSession, shard, {
        nameInFiles: areaPlace(dataDirectory, area, shard).name,
        saltOf: (number) => saltOf(fingerprint, shard, { kind: "segment", number }),
      }),
    async write(transaction, { epochOf, onBytes: onWritten }) {
      await addTenants(transaction, area, shardOf);
      const files = new Map<number, ShardFiles>();
      for (const shard of shards)
        files.set(shard, filesOfShard(shard, await ShardRows.begin(transaction, { shard, epoch: epochOf(shard) })));
      const names = new Map(tenants.map(({ number, name }) => [number, name]));
      await split.write({
        directory,
        position: report.position,
        files,
        shardOf: (number) => shardOf.get(names.get(number) ?? ""),
        onBytes: onWritten,
      });
      for (const each of files.values()) await each.finish();
    },
  };
}

/** The shard of each tenant, by name. keeps (1) */
export function shareTenants(
  tenants: readonly Omit<AreaTenant, "number">[],
  shards: readonly number[],
  known: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const shardOf = new Map<string, number>();
  const loads = new Map(shards.map((shard) => [shard, 0]));
  const put = ({ name, bytes }: Omit<AreaTenant, "number">, shard: number): void => {
    shardOf.set(name, shard);
    loads.set(shard, (loads.get(shard) ?? 0) + bytes);
  };
  const others: Omit<AreaTenant, "number">[] = [];
  for (const tenant of tenants) {
    const shard = known.get(tenant.name);
    if (shard === undefined) others.push(tenant);
    else put(tenant, shard);
  }
  for (const tenant of others.toSorted((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1))) {
    const [lightest] = shards.toSorted((a, b) => (loads.get(a) ?? 0) - (loads.get(b) ?? 0) || a - b);
    if (lightest !== undefined) put(tenant, lightest);
  }
  return shardOf;
}

function linesOf(
  area: AreaName,
  { shards, shardOf }: { shards: readonly number[]; shardOf: ReadonlyMap<string, number> },
): readonly string[] {
  const all = [...shardOf.values()];
  const counts = shards.map((shard) => `${all.filter((each) => each === shard).length} on shard ${shard}`);
  const lines = [`${area}: of ${all.length} tenants ${counts.join(", ")}`];
  if (area === "messaging") lines.push("messaging: the log of messages begins again");
  return lines;
}

async function contentsOf(
  session: SqlSession,
  shard: number,
  { nameInFiles: area, saltOf: salt }: { nameInFiles: string; saltOf(number: number): number },
): Promise<ShardContents> {
  const store = new PostgresLogStore(session);
  const last = (await store.segments(shard)).at(-1);
  const pointer = await readPointer(session, shard);
  if (last === undefined) return pointer.number === null ? "empty" : "other";
  if (last.epoch !== pointer.epoch) return "other";
  const { segment: number } = last;
  const [row] = await store.read(shard, number, 0, 1);
  const expected = { kind: "segment", path: `segment ${number} of shard ${shard}`, area, number } as const;
  const header = parseFileHeader(row?.bytes ?? Buffer.alloc(0), expected);
  return header.salt === salt(number) ? "same" : "other"; // keeps (2)
}

async function addTenants(
  transaction: Transaction,
  area: AreaName,
  shardOf: ReadonlyMap<string, number>,
): Promise<void> {
  for (const [name, shard] of shardOf) await transaction.rows(ADD_TENANT, [area, name, shard]);
  const rows = await transaction.rows<{ name: string; shard: number }>(KNOWN.text, [area]);
  // A node may have started since the rows were read.
  if (rows.some(({ name, shard }) => (shardOf.get(name) ?? shard) !== shard))
    throw new StartRefusal("A node has started in the cluster meanwhile: stop it, and run this command again");
  await transaction.rows(TENANTS_ARE_KNOWN, [area]);
}

/** Of the numbers, the lengths and the headers of all files of an area. keeps (2) */
async function fingerprintOf(dataDirectory: string, area: AreaName, report: AreaReport): Promise<string> {
  const { segments, snapshot } = filesOf(dataDirectory, area, report);
  const hash = createHash("sha256");
  for (const { kind, number, path, bytes } of snapshot === undefined ? segments : [...segments, snapshot]) {
    const header = Buffer.alloc(FILE_HEADER_BYTES);
    await withFile(await fileDisk.open(path, "read"), (file) => readFully(file, header, 0));
    hash.update(`${kind} ${number} ${bytes} `).update(header);
  }
  return hash.digest("hex");
}

function saltOf(
  fingerprint: string,
  shard: number,
  { kind, number }: { readonly kind: FileKind; readonly number: number },
): number {
  return createHash("sha256").update(`${fingerprint} ${shard} ${kind} ${number}`).digest().readUInt32LE(0);
}
