/**
 * A snapshot of a shard as an object:
 *
 *     <cluster>/<shard>/<epoch>-<number>-<sha256>.snapshot
 *
 * (1) A name says who wrote which snapshot, and its contents, so no object is ever
 *     replaced by another one: what is there under the name is the same.
 * (2) An object counts as written when the store lists it with all its bytes, and
 *     as read when its bytes have the checksum of its name.
 */
import { createHash } from "node:crypto";
import { type DiskFile, readFully, writeFully } from "../../persistence/disk/disk.ts";
import { DamagedData } from "../../persistence/errors.ts";
import type { SnapshotObject, SnapshotPointer } from "../log-store/log-store.ts";
import { askObjects, type NewObject, type ObjectStores, type Objects, ObjectTrouble } from "./objects.ts";

/** Bytes in memory at a time. */
const WINDOW_BYTES = 1024 * 1024;
/** Bytes of one request. */
const RANGE_BYTES = 8 * 1024 * 1024;
const NAME = /\/(\d+)-(\d+)-([0-9a-f]{64})\.snapshot$/;

/** Which snapshot an object is. */
export interface NamedSnapshot {
  /** Of its writer. */
  readonly epoch: number;
  /** The first segment that it does not cover. */
  readonly number: number;
  readonly sha256: string;
}

/** The beginning of the names of a shard. */
export function objectPrefix(cluster: string, shard: number): string {
  return `${cluster}/${shard}/`;
}

/** Undefined if larder did not make the name. */
export function parseSnapshotName(name: string): NamedSnapshot | undefined {
  const [, epoch, number, sha256] = NAME.exec(name) ?? [];
  return sha256 === undefined ? undefined : { epoch: Number(epoch), number: Number(number), sha256 };
}

export interface SentSnapshot extends Pick<NamedSnapshot, "epoch" | "number"> {
  /** Of the names of the shard. */
  readonly prefix: string;
  readonly path: string;
  readonly file: DiskFile;
}

/** Writes a file as an object, and returns its name and size. Rejects with `ObjectTrouble` or the error of the file. keeps (2) */
export async function putSnapshot(
  stores: ObjectStores,
  address: string,
  { prefix, epoch, number, path, file }: SentSnapshot,
): Promise<{ readonly object: SnapshotObject; readonly bytes: number }> {
  const bytes = await file.size();
  const reads = new Set<Promise<unknown>>();
  let isOver = false;
  let fault: unknown;
  const read: NewObject["read"] = async (start, end, into) => {
    // The caller closes the file.
    if (isOver) throw new ObjectTrouble(`${path} is not sent any more`);
    const reading = readRange(file, { path, start, end, into });
    reads.add(reading);
    try {
      return await reading;
    } catch (error) {
      fault = error;
      throw error;
    } finally {
      reads.delete(reading);
    }
  };
  const sha256 = await sumOf(bytes, read);
  const name = `${prefix}${epoch}-${number}-${sha256}.snapshot`; // keeps (1)
  try {
    await askObjects(async () => {
      const objects = await stores.open(address);
      const outcome = await objects.putNew(name, { bytes, sha256, read });
      const [listed] = await objects.list(name);
      if (listed?.name !== name || listed.bytes !== bytes)
        throw new ObjectTrouble(`The object store has confirmed ${name}, and lists ${listed?.bytes ?? 0} bytes of it`);
      if (
        outcome === "exists" &&
        (await sumOf(bytes, (start, end) => getRange(objects, name, { start, end }))) !== sha256
      )
        throw new ObjectTrouble(`The object store has other bytes under the name ${name}`);
    });
  } catch (error) {
    throw fault ?? error;
  } finally {
    isOver = true;
    await Promise.allSettled(reads);
  }
  return { object: { address, name }, bytes };
}

async function sumOf(bytes: number, read: NewObject["read"]): Promise<string> {
  const hash = createHash("sha256");
  for (let start = 0; start < bytes; start += WINDOW_BYTES)
    hash.update(await read(start, Math.min(bytes, start + WINDOW_BYTES)));
  return hash.digest("hex");
}

async function readRange(
  file: DiskFile,
  { path, start, end, into }: { path: string; start: number; end: number; into: Buffer | undefined },
): Promise<Buffer> {
  const bytes = into?.subarray(0, end - start) ?? Buffer.allocUnsafe(end - start);
  const count = await readFully(file, bytes, start);
  if (count < bytes.length) throw new DamagedData(path, start + count, "it became shorter");
  return bytes;
}

async function getRange(objects: Objects, name: string, range: { start: number; end: number }): Promise<Buffer> {
  const bytes = await objects.get(name, range);
  if (bytes?.length === range.end - range.start) return bytes;
  throw new ObjectTrouble(`The object store returned ${bytes?.length ?? 0} bytes of ${name}`);
}

/** Repeats calls of an object store, or does not. */
export type AskPatiently = <Result>(call: () => Promise<Result>) => Promise<Result>;

export interface ReadSnapshot {
  readonly stores: ObjectStores;
  readonly patiently: AskPatiently;
  readonly file: DiskFile;
}

/**
 * Copies an object into a file. Resolves with what is wrong with the object; undefined: nothing. Rejects with
 * `ObjectTrouble`, or with the error of the file. keeps (2)
 */
export async function getSnapshot(
  { stores, patiently, file }: ReadSnapshot,
  { address, name }: SnapshotObject,
  { bytes }: Pick<SnapshotPointer, "bytes">,
): Promise<string | undefined> {
  const hash = createHash("sha256");
  for (let offset = 0; offset < bytes; ) {
    const range = { start: offset, end: Math.min(bytes, offset + RANGE_BYTES) };
    const part = await patiently(() => askObjects(async () => (await stores.open(address)).get(name, range)));
    if (part === undefined) return "it does not exist";
    if (part.length === 0) return `it ends at byte ${offset} of ${bytes}`;
    hash.update(part);
    await writeFully(file, part, offset);
    offset += part.length;
  }
  return hash.digest("hex") === parseSnapshotName(name)?.sha256
    ? undefined
    : "its bytes are not those that were written";
}
