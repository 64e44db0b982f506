/**
 * An area whose only shard takes all of it. The files themselves become rows, with
 * another name in their headers: so bodies of messages stay at their places, and a
 * start replays what it would have replayed before.
 */
import { PostgresLogStore } from "../../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession } from "../../../../cluster/postgres/session.ts";
import { segmentPath, snapshotPath } from "../../../../persistence/area-files.ts";
import { ByteProgress, type OnBytes } from "../../../../persistence/byte-progress.ts";
import { type DiskFile, readFully, withFile } from "../../../../persistence/disk/disk.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { DamagedData } from "../../../../persistence/errors.ts";
import type { AreaReport } from "../../../../persistence/inspection.ts";
import { FILE_HEADER_BYTES, type FileKind } from "../../../../persistence/journal/file-format.ts";
import type { AreaName } from "../../../areas/area.ts";
import { areaPlace } from "../../../areas/area-place.ts";
import { renameArea } from "../area-header.ts";
import type { Transaction } from "../transaction.ts";
import { PIECE_BYTES, ShardRows } from "./shard-rows.ts";
import { type ImportSource, readPointer, type ShardContents } from "./source.ts";

/** A file of an area, and the bytes of it that count: without the end that a crash left. */
export interface ImportedFile {
  readonly kind: FileKind;
  readonly number: number;
  readonly path: string;
  readonly bytes: number;
}

interface WholeArea {
  readonly area: AreaName;
  readonly shard: number;
  /** In the headers of its files in the cluster. */
  readonly nameInFiles: string;
  readonly segments: readonly ImportedFile[];
  readonly snapshot: ImportedFile | undefined;
}

/** The segments of an area, in order, and its snapshot. */
export function filesOf(
  dataDirectory: string,
  area: AreaName,
  { covered, segments, snapshot }: AreaReport,
): { readonly segments: readonly ImportedFile[]; readonly snapshot: ImportedFile | undefined } {
  const { directory } = areaPlace(dataDirectory, area);
  return {
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

/** `report` is that of the area in this directory. */
export function wholeArea(dataDirectory: string, shard: number, report: AreaReport): ImportSource {
  const area = report.area as AreaName;
  const nameInFiles = areaPlace(dataDirectory, area, shard).name;
  const whole: WholeArea = { area, shard, nameInFiles, ...filesOf(dataDirectory, area, report) };
  return {
    area,
    report,
    shards: [shard],
    filled: whole.segments.length > 0 ? [shard] : [],
    lines: [],
    contentsOf: (session) => contentsOf(session, whole),
    write: (transaction, { epochOf, onBytes }) => writeWhole(transaction, { whole, epoch: epochOf(shard), onBytes }),
  };
}

async function contentsOf(session: SqlSession, whole: WholeArea): Promise<ShardContents> {
  const store = new PostgresLogStore(session);
  const found = await store.segments(whole.shard);
  const pointer = await readPointer(session, whole.shard);
  if (found.length === 0 && pointer.number === null) return "empty";
  const last = whole.segments.at(-1);
  const isSame =
    found.length === whole.segments.length &&
    found.every(({ segment, bytes }, index) => {
      const own = whole.segments[index];
      return own?.number === segment && own.bytes === bytes;
    }) &&
    (pointer.number ?? undefined) === whole.snapshot?.number &&
    (pointer.bytes ?? undefined) === whole.snapshot?.bytes;
  if (!isSame || last === undefined) return "other";
  // The salt in the header is drawn for each segment.
  const [row] = await store.read(whole.shard, last.number, 0, 1);
  const header = await withFile(await fileDisk.open(last.path, "read"), (file) =>
    readPiece(file, whole, { of: last, start: 0, length: FILE_HEADER_BYTES }),
  );
  return row?.bytes.subarray(0, FILE_HEADER_BYTES).equals(header) === true ? "same" : "other";
}

/** A part of a file, as the cluster has it. */
async function readPiece(
  file: DiskFile,
  { area: from, nameInFiles: to }: WholeArea,
  { of: { kind, number, path }, start, length }: { of: ImportedFile; start: number; length: number },
): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const count = await readFully(file, bytes, start);
  if (count < length) throw new DamagedData(path, start + count, "it became shorter");
  if (start === 0) renameArea(bytes, { kind, number, path, from, to });
  return bytes;
}

async function writeWhole(
  transaction: Transaction,
  { whole, epoch, onBytes }: { whole: WholeArea; epoch: number; onBytes: OnBytes },
): Promise<void> {
  const { area, shard, segments, snapshot } = whole;
  const all = [...segments, ...(snapshot === undefined ? [] : [snapshot])];
  const totalBytes = all.reduce((sum, { bytes }) => sum + bytes, 0);
  const progress = new ByteProgress(area, totalBytes, onBytes);
  const rows = await ShardRows.begin(transaction, { shard, epoch });
  for (const file of all)
    await withFile(await fileDisk.open(file.path, "read"), async (opened) => {
      const pieceBytes = PIECE_BYTES[file.kind];
      for (let start = 0; start < file.bytes; start += pieceBytes) {
        const length = Math.min(pieceBytes, file.bytes - start);
        await rows.put(file, start, await readPiece(opened, whole, { of: file, start, length }));
        progress.add(length);
      }
    });
  await rows.end(snapshot);
}
