/**
 * Copies segments and snapshots from the log store into files, a few rows or one
 * part at a time.
 *
 * (1) A file gets its name when it is complete.
 */
import { segmentPath, snapshotPath } from "../../persistence/area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully, withFile, writeFully } from "../../persistence/disk/disk.ts";
import { NewerFormat } from "../../persistence/errors.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  type FileHeader,
  type FileKind,
  findMark,
  MARK_BYTES,
  parseFileHeader,
  UNFINISHED_SUFFIX,
} from "../../persistence/journal/file-format.ts";
import type { LogStore, SegmentView, SnapshotObject, SnapshotPointer } from "../log-store/log-store.ts";
import type { ObjectStores } from "../objects/objects.ts";
import { type AskPatiently, getSnapshot } from "../objects/snapshot-object.ts";
import { DamagedLog, DamagedObject } from "./errors.ts";
import type { Statements } from "./statements.ts";

export interface FetchOptions {
  readonly local: Disk;
  readonly directory: string;
  /** The area's name, as its files state it. */
  readonly area: string;
  readonly store: Pick<LogStore, "read" | "readSnapshotPart">;
  readonly statements: Pick<Statements, "run">;
  readonly shard: number;
  /** For a snapshot that is an object. */
  readonly objects: ObjectReading;
}

export interface ObjectReading {
  readonly stores: ObjectStores;
  readonly patiently: AskPatiently;
}

export interface FetchedSegment {
  readonly header: FileHeader;
  /** The start of its last row. */
  readonly lastStart: number;
  /** Whether it ends with its end mark. */
  readonly isEnded: boolean;
}

/** Rows are read up to this many bytes at a time; the last of them may be longer. */
const READ_BYTES = 1024 * 1024;
/** A connection without TLS may change bytes. */
const OBJECT_TRIES = 2;

/** Fetches a whole segment. Rejects with `DamagedLog`. */
export async function fetchSegment(options: FetchOptions, view: SegmentView): Promise<FetchedSegment> {
  const { store, statements, shard, directory } = options;
  const { segment: number, bytes } = view;
  const path = segmentPath(directory, number);
  let lastStart = 0;
  await writeNamed(options.local, path, async (file) => {
    for (let offset = 0; offset < bytes; ) {
      const from = offset;
      const rows = await statements.run(() => store.read(shard, number, from, READ_BYTES));
      if (rows[0]?.start !== from) throw new DamagedLog(shard, `segment ${number} has no row at byte ${from}`);
      for (const row of rows) {
        if (row.start !== offset) throw new DamagedLog(shard, `segment ${number} has no row at byte ${offset}`);
        await writeFully(file, row.bytes, offset);
        lastStart = row.start;
        offset += row.bytes.length;
      }
    }
  });
  const header = await readLocalHeader(options, "segment", number);
  return { header, lastStart, isEnded: await isEnded(options.local, { path, header, bytes }) };
}

async function isEnded(
  local: Disk,
  { path, header, bytes }: { path: string; header: FileHeader; bytes: number },
): Promise<boolean> {
  const { number, salt } = header;
  const end = Buffer.alloc(MARK_BYTES);
  await withFile(await local.open(path, "read"), (file) => readFully(file, end, Math.max(0, bytes - MARK_BYTES)));
  return findMark(end, 0, { word: BATCH_WORD, number, salt })?.bytes === 0;
}

/** Fetches the latest snapshot. Rejects with `DamagedLog`, and if calls of the object store are not repeated with `ObjectTrouble`. */
export async function fetchSnapshot(options: FetchOptions, pointer: SnapshotPointer): Promise<void> {
  const { object, number } = pointer;
  if (object === undefined) await fetchParts(options, pointer);
  else await fetchObject(options, pointer, object);
  await readLocalHeader(options, "snapshot", number);
}

async function fetchObject(
  { local, directory, shard, objects }: FetchOptions,
  pointer: SnapshotPointer,
  object: SnapshotObject,
): Promise<void> {
  const path = snapshotPath(directory, pointer.number);
  let fault: string | undefined;
  for (let tries = 0; tries < OBJECT_TRIES; tries += 1) {
    await writeNamed(local, path, async (file) => {
      fault = await getSnapshot({ ...objects, file }, object, pointer);
    });
    if (fault === undefined) return;
    await local.unlink(path);
  }
  throw new DamagedObject(shard, object, fault ?? "it cannot be read");
}

async function fetchParts(options: FetchOptions, pointer: SnapshotPointer): Promise<void> {
  const { store, statements, shard, directory, local } = options;
  const { number, parts, bytes } = pointer;
  await writeNamed(local, snapshotPath(directory, number), async (file) => {
    let offset = 0;
    for (let part = 0; part < parts; part += 1) {
      const found = await statements.run(() => store.readSnapshotPart(shard, pointer, part));
      if (found === undefined) throw new DamagedLog(shard, `part ${part} of snapshot ${number} is missing`);
      await writeFully(file, found, offset);
      offset += found.length;
    }
    if (offset !== bytes) throw new DamagedLog(shard, `snapshot ${number} has ${offset} bytes and not ${bytes}`);
  });
}

/** The header of a segment, as the store has it. Rejects with `DamagedLog`. */
export async function readHeader(
  { store, statements, shard, area }: FetchOptions,
  number: number,
): Promise<FileHeader> {
  const [row] = await statements.run(() => store.read(shard, number, 0, 1));
  const path = `segment ${number}`;
  return inLog(shard, () => parseFileHeader(row?.bytes ?? Buffer.alloc(0), { kind: "segment", path, area, number }));
}

async function readLocalHeader(
  { local, directory, area, shard }: FetchOptions,
  kind: FileKind,
  number: number,
): Promise<FileHeader> {
  const path = kind === "segment" ? segmentPath(directory, number) : snapshotPath(directory, number);
  const bytes = Buffer.alloc(FILE_HEADER_BYTES);
  const count = await withFile(await local.open(path, "read"), (file) => readFully(file, bytes, 0));
  return inLog(shard, () => parseFileHeader(bytes.subarray(0, count), { kind, path, area, number }));
}

/** The fault of bytes that came from the store is a fault of the store. */
function inLog<Result>(shard: number, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof NewerFormat || !(error instanceof Error)) throw error;
    throw new DamagedLog(shard, error.message, error);
  }
}

/** keeps (1) */
async function writeNamed(local: Disk, path: string, write: (file: DiskFile) => Promise<void>): Promise<void> {
  const draft = `${path}${UNFINISHED_SUFFIX}`;
  await removeIfThere(local, draft);
  await withFile(await local.open(draft, "create"), async (file) => {
    await write(file);
    // The file that it replaces may be noted as durable.
    await file.fsync();
  });
  await local.rename(draft, path);
}

/** Removes a file, unless it does not exist. */
export async function removeIfThere(local: Disk, path: string): Promise<void> {
  try {
    await local.unlink(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
