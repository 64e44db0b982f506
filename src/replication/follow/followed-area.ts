/**
 * The files of one area in a directory that follows a copy. They have their final
 * names from the beginning; the record (record.ts) says which of their bytes count.
 *
 * (1) A byte is known when it was compared with the checksum of its object. What is
 *     there and not known, after a start or in a new generation, is read again and
 *     compared: it is fetched only if it differs.
 * (2) Segments grow at their end, in order, and are durable before they are known.
 *     Before anything else happens to bytes that may count, `replacing` is called, which
 *     makes the record say that the files are no whole state.
 * (3) Snapshots and the log of messages get their names when they are complete and
 *     durable.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { listAreaFiles, segmentPath, snapshotPath } from "../../persistence/area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully, withFile, writeFully } from "../../persistence/disk/disk.ts";
import { UNFINISHED_SUFFIX } from "../../persistence/journal/file-format.ts";
import { DamagedCopy } from "../errors.ts";
import { fetchObject, inParallel } from "../fetch.ts";
import type { AreaPlan, PlannedSegment } from "../moment.ts";
import { type NameOf, parseObjectName, SUM_DIGITS } from "../names.ts";
import type { ListedObject, ObjectStore } from "../objects/object-store.ts";

export interface FollowedAreaOptions {
  readonly disk: Disk;
  readonly clock: Pick<Clock, "nowMs">;
  /** The directory of the area, which exists. */
  readonly directory: string;
  /** The name of the log of messages in it. */
  readonly historyFile: string;
  /** Called with the count of bytes that were fetched, or found to be there. */
  onBytes(bytes: number): void;
}

/** What an area has taken from the copy since the start. */
export interface AppliedFigures {
  /** Objects of which something was fetched, and the fetched bytes. */
  readonly objects: number;
  readonly bytes: number;
  /** Wall-clock milliseconds of the last one; 0: none. */
  readonly appliedAtMs: number;
  /** Bytes of the last list or plan that the directory does not have, or that are not compared yet. */
  readonly missingBytes: number;
}

interface KnownSegment {
  readonly salt: number;
  /** Bytes before this are those of the copy. */
  readonly end: number;
  readonly isEnded: boolean;
}

type Replacing = () => Promise<void>;

export interface ListedPart {
  readonly object: ListedObject;
  readonly name: NameOf<"part">;
}

/** Bytes in memory at a time. */
const RANGE_BYTES = 1024 * 1024;
/** Objects up to this size are fetched side by side, so many at once. */
const SMALL_BYTES = 1024 * 1024;
const SMALL_COUNT = 8;
const FILE_MODE = 0o600;

export class FollowedArea {
  readonly #options: FollowedAreaOptions;
  readonly #known = new Map<number, KnownSegment>();
  #snapshot: string | undefined;
  #history: string | undefined;
  /** The segment that grows. */
  #last = 0;
  #applied = { objects: 0, bytes: 0, appliedAtMs: 0 };
  #missingBytes = 0;

  constructor(options: FollowedAreaOptions) {
    this.#options = options;
  }

  /** Nothing is known any more. keeps (1) */
  forget(): void {
    this.#known.clear();
    this.#snapshot = undefined;
    this.#history = undefined;
    this.#last = 0;
  }

  /** The place after the last known byte; undefined: nothing is known. */
  get place(): { readonly segment: number; readonly offset: number } | undefined {
    const last = this.#known.get(this.#last);
    if (last === undefined) return undefined;
    return last.isEnded ? { segment: this.#last + 1, offset: 0 } : { segment: this.#last, offset: last.end };
  }

  get figures(): AppliedFigures {
    return { ...this.#applied, missingBytes: this.#missingBytes };
  }

  /** Notes how much of a plan is missing; `fetchSegments` and `fetchWhole` fetch it. */
  expect({ covered, segments, snapshot, history }: AreaPlan): void {
    const pieces = [...covered, ...segments].flatMap((segment) => {
      const known = this.#known.get(segment.number);
      const end = known?.salt === segment.salt ? known.end : 0;
      return segment.pieces.filter(({ object, start }) => start + object.bytes > end).map(({ object }) => object);
    });
    const missing = [
      ...pieces,
      ...(snapshot === undefined || snapshot.object.name === this.#snapshot ? [] : [snapshot.object]),
      ...(history === undefined || history.name === this.#history ? [] : [history]),
    ];
    this.#missingBytes = sumOfBytes(missing);
  }

  /** Makes the segments of a plan complete and durable. Rejects with `DamagedCopy`, as the store, or with the system's error. */
  async fetchSegments(
    store: ObjectStore,
    { covered, segments }: Pick<AreaPlan, "covered" | "segments">,
    replacing: Replacing,
  ): Promise<void> {
    await this.#removeAfter(segments.at(-1)?.number ?? 0, replacing);
    for (const segment of [...covered, ...segments]) await this.#segment(store, segment, replacing);
    this.#last = segments.at(-1)?.number ?? 0;
  }

  /** Gives the snapshot and the log of messages of a plan their names. keeps (3) */
  async fetchWhole(
    store: ObjectStore,
    { snapshot, history }: Pick<AreaPlan, "snapshot" | "history">,
    replacing: Replacing,
  ): Promise<void> {
    const { directory, historyFile } = this.#options;
    if (snapshot !== undefined && snapshot.object.name !== this.#snapshot) {
      await this.#whole(store, snapshot.object, { path: snapshotPath(directory, snapshot.number), replacing });
      this.#snapshot = snapshot.object.name;
    }
    if (history !== undefined && history.name !== this.#history) {
      await this.#whole(store, history, { path: `${directory}/${historyFile}`, replacing });
      this.#history = history.name;
    }
  }

  /** Removes the files that the state of a plan does not have. */
  async removeOthers({ covered, segments, snapshot, history }: AreaPlan): Promise<void> {
    const { disk, directory, historyFile } = this.#options;
    const files = await listAreaFiles(disk, directory);
    const numbers = new Set([...covered, ...segments].map(({ number }) => number));
    const unneeded = [
      ...files.segments.filter((number) => !numbers.has(number)).map((number) => segmentPath(directory, number)),
      ...files.snapshots
        .filter((number) => number !== snapshot?.number)
        .map((number) => snapshotPath(directory, number)),
      ...files.unfinished.map((name) => `${directory}/${name}`),
    ];
    if (history === undefined && (await disk.list(directory)).includes(historyFile))
      unneeded.push(`${directory}/${historyFile}`);
    if (unneeded.length === 0) return;
    for (const path of unneeded) await disk.unlink(path);
    await disk.syncDirectory(directory);
    for (const number of [...this.#known.keys()]) if (!numbers.has(number)) this.#known.delete(number);
  }

  /**
   * Appends parts of this generation, which are in the order of their names. Returns the newest time up to which the area is
   * complete with them (0: none says), or undefined if they do not follow what is known: then a plan is needed.
   */
  async append(store: ObjectStore, parts: readonly ListedPart[]): Promise<number | undefined> {
    let completeToMs = 0;
    this.#missingBytes = sumOfBytes(parts.filter((part) => !this.#has(part)).map(({ object }) => object));
    for (const run of runsOf(parts)) {
      const [{ name }] = run;
      const place = this.place;
      if (place === undefined) return undefined;
      const next = run.filter((part) => !this.#has(part));
      const proof = run.findLast((part) => this.#has(part) && !part.name.isLast);
      if (proof !== undefined) completeToMs = proof.name.timeMs;
      const first = next[0];
      if (first === undefined) continue;
      const salt = this.#known.get(name.number)?.salt ?? name.salt;
      if (name.number !== place.segment || first.name.start !== place.offset || salt !== name.salt) return undefined;
      const pieces: { object: ListedObject; start: number }[] = [];
      let end = place.offset;
      let isEnded = false;
      for (const part of next) {
        if (part.name.start !== end) return undefined;
        pieces.push({ object: part.object, start: end });
        end += part.object.bytes;
        isEnded = part.name.isLast;
        if (!isEnded) completeToMs = part.name.timeMs;
      }
      await this.#segment(store, { number: name.number, salt, end, isEnded, pieces }, () => Promise.resolve());
      this.#last = name.number;
    }
    return completeToMs;
  }

  #has({ name: { number, start }, object }: ListedPart): boolean {
    const { segment, offset } = this.place ?? { segment: 0, offset: 0 };
    return number < segment || (number === segment && start + object.bytes <= offset);
  }

  /** Bytes that were missing are there. */
  #found(bytes: number): void {
    this.#missingBytes = Math.max(0, this.#missingBytes - bytes);
    this.#options.onBytes(bytes);
  }

  /** An object is there, and so many bytes of it were fetched. */
  #noteApplied(fetchedBytes: number): void {
    if (fetchedBytes === 0) return;
    const { objects, bytes } = this.#applied;
    this.#applied = { objects: objects + 1, bytes: bytes + fetchedBytes, appliedAtMs: this.#options.clock.nowMs() };
  }

  /** keeps (2) */
  async #removeAfter(last: number, replacing: Replacing): Promise<void> {
    const { disk, directory } = this.#options;
    const { segments } = await listAreaFiles(disk, directory);
    const after = segments.filter((number) => number > last).reverse();
    if (after.length === 0) return;
    await replacing();
    for (const number of after) {
      await disk.unlink(segmentPath(directory, number));
      this.#known.delete(number);
    }
    await disk.syncDirectory(directory);
  }

  async #segment(
    store: ObjectStore,
    { number, salt, end, isEnded, pieces }: PlannedSegment,
    replacing: Replacing,
  ): Promise<void> {
    const { disk, directory } = this.#options;
    const found = this.#known.get(number);
    const known = found?.salt === salt ? found : undefined;
    if (known !== undefined && known.end >= end && known.isEnded === isEnded) return;
    const path = segmentPath(directory, number);
    const file = await openOrCreate(disk, path);
    await withFile(file, async () => {
      const size = await file.size();
      const missing = pieces.filter(({ object, start }) => start + object.bytes > (known?.end ?? 0));
      for (let index = 0; index < missing.length; ) {
        const batch = batchAt(missing, index, size);
        if (batch.length > 1) await this.#batch(store, file, batch);
        else await this.#piece(store, missing[index] as Piece, { file, size, replacing });
        index += Math.max(1, batch.length);
      }
      if ((await file.size()) > end) {
        await replacing();
        await file.truncate(end);
      }
      await file.fsync();
    });
    // A start that was killed may have left a name that is not durable.
    if (found === undefined) await disk.syncDirectory(directory);
    this.#known.set(number, { salt, end, isEnded });
  }

  /** Small objects after each other: fetched side by side and written in order, so that a crash leaves no hole. keeps (2) */
  async #batch(store: ObjectStore, file: DiskFile, pieces: readonly Piece[]): Promise<void> {
    const fetched = new Map<number, Buffer>();
    await inParallel(pieces, SMALL_COUNT, async ({ object, start }) => {
      const ranges: Buffer[] = [];
      await fetchObject(store, object, (range) => void ranges.push(range));
      fetched.set(start, Buffer.concat(ranges));
    });
    for (const { start, object } of pieces) {
      await writeFully(file, fetched.get(start) as Buffer, start);
      this.#found(object.bytes);
      this.#noteApplied(object.bytes);
    }
  }

  /** Makes the bytes of a file from `start` on those of an object, and continues what is there if that is its beginning. */
  async #piece(
    store: ObjectStore,
    { object, start }: Piece,
    { file, size, replacing }: { file: DiskFile; size: number; replacing: Replacing },
  ): Promise<void> {
    const there = Math.min(Math.max(0, size - start), object.bytes);
    if (there > 0) {
      const hash = createHash("sha256");
      for (let offset = 0; offset < there; offset += RANGE_BYTES) {
        const bytes = Buffer.alloc(Math.min(RANGE_BYTES, there - offset));
        await readFully(file, bytes, start + offset);
        hash.update(bytes);
      }
      await rangesOf(store, object, there, async (range, offset) => {
        hash.update(range);
        await writeFully(file, range, start + offset);
      });
      if (sumIn(object) === hash.digest("hex").slice(0, SUM_DIGITS)) {
        this.#found(object.bytes);
        this.#noteApplied(object.bytes - there);
        return;
      }
      await replacing();
    }
    await fetchObject(store, object, async (range, offset) => {
      await writeFully(file, range, start + offset);
      this.#found(range.length);
    });
    this.#noteApplied(object.bytes);
  }

  async #whole(
    store: ObjectStore,
    object: ListedObject,
    { path, replacing }: { path: string; replacing: Replacing },
  ): Promise<void> {
    const { disk, directory } = this.#options;
    if (await hasBytes(disk, path, object)) {
      await disk.syncDirectory(directory); // As above.
      this.#found(object.bytes);
      return;
    }
    const draft = `${path}${UNFINISHED_SUFFIX}`;
    const file = await openOrCreate(disk, draft);
    await withFile(file, async () => {
      await this.#piece(store, { object, start: 0 }, { file, size: await file.size(), replacing: async () => {} });
      await file.truncate(object.bytes);
      await file.fsync();
    });
    // Another file with this name belongs to another history of the area.
    const names = await disk.list(directory);
    if (path.endsWith(".snapshot") && names.some((name) => path === `${directory}/${name}`)) await replacing();
    await disk.rename(draft, path);
    await disk.syncDirectory(directory);
  }
}

type Piece = PlannedSegment["pieces"][number];

/** The pieces from an index on that can be fetched side by side: small ones of which the file has nothing. */
function batchAt(pieces: readonly Piece[], index: number, size: number): readonly Piece[] {
  const batch: Piece[] = [];
  for (const piece of pieces.slice(index, index + SMALL_COUNT)) {
    if (piece.start < size || piece.object.bytes > SMALL_BYTES) break;
    batch.push(piece);
  }
  return batch;
}

/** Parts of one segment each, in their order. */
function runsOf(parts: readonly ListedPart[]): readonly (readonly [ListedPart, ...ListedPart[]])[] {
  const runs: [ListedPart, ...ListedPart[]][] = [];
  for (const part of parts) {
    const run = runs.at(-1);
    if (run?.[0].name.number === part.name.number) run.push(part);
    else runs.push([part]);
  }
  return runs;
}

async function rangesOf(
  store: ObjectStore,
  { name, bytes }: ListedObject,
  from: number,
  take: (range: Buffer, offset: number) => Promise<void>,
): Promise<void> {
  for (let offset = from; offset < bytes; ) {
    const range = await store.get(name, { start: offset, end: Math.min(bytes, offset + RANGE_BYTES) });
    if (range === undefined) throw new DamagedCopy(name, "it is missing");
    if (range.length === 0) throw new DamagedCopy(name, `it ends at byte ${offset} of ${bytes}`);
    await take(range, offset);
    offset += range.length;
  }
}

async function hasBytes(disk: Disk, path: string, object: ListedObject): Promise<boolean> {
  let file: DiskFile;
  try {
    file = await disk.open(path, "read");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  return withFile(file, async () => {
    if ((await file.size()) !== object.bytes) return false;
    const hash = createHash("sha256");
    for (let offset = 0; offset < object.bytes; offset += RANGE_BYTES) {
      const bytes = Buffer.alloc(Math.min(RANGE_BYTES, object.bytes - offset));
      await readFully(file, bytes, offset);
      hash.update(bytes);
    }
    return sumIn(object) === hash.digest("hex").slice(0, SUM_DIGITS);
  });
}

function sumOfBytes(objects: readonly ListedObject[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}

function sumIn({ name }: ListedObject): string | undefined {
  const parsed = parseObjectName(name)?.name;
  return parsed !== undefined && "sum" in parsed ? parsed.sum : undefined;
}

async function openOrCreate(disk: Disk, path: string): Promise<DiskFile> {
  try {
    return await disk.open(path, "update");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return disk.open(path, "create", FILE_MODE);
  }
}
